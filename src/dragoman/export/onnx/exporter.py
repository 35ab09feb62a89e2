"""ONNX: an encoder and one cached step of the decoder, for onnxruntime in any language."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.dataset.batch import pad
from dragoman.export.onnx.graph import decoder_graph, encoder_graph
from dragoman.export.parity import Compared, Exported, Values
from dragoman.settings import Decoding
from dragoman.text.registry import save_tokenizers

COMPUTE_TYPES = ("float32",)
LARGEST = 2_000_000_000
"""Bytes that one file of this format can have, a little less than 2 GiB."""


def refusals(bundle: Bundle) -> list[str]:
    """What ONNX cannot express of this bundle: it has all operations, but files have a largest size."""
    size = 4 * sum(parameter.numel() for parameter in bundle.model.parameters())
    return [] if size < LARGEST else [f"model: {size:,} bytes of weights; a file holds {LARGEST:,}"]


def write(bundle: Bundle, directory: Path, compute_type: str) -> None:
    """Write both graphs, tokenizers, and what a program must know into a directory that is there."""
    (directory / "encoder.onnx").write_bytes(encoder_graph(bundle.model))
    (directory / "decoder.onnx").write_bytes(decoder_graph(bundle.model))
    save_tokenizers(directory, bundle.source, bundle.target)
    (directory / "config.json").write_text(json.dumps(_config(bundle), indent=2), encoding="utf-8")
    (directory / "README.md").write_text(_PAGE.format(name=bundle.recipe.name), encoding="utf-8")


def reopen(bundle: Bundle, directory: Path, compute_type: str) -> Exported:
    """What was written, opened by onnxruntime."""
    return _Reopened(bundle, directory)


def _config(bundle: Bundle) -> dict[str, Any]:
    settings, source, target = bundle.model.settings, bundle.source.vocabulary, bundle.target.vocabulary
    return {
        "source": {"eos": source.eos, "pad": source.pad, "unk": source.unk},
        "target": {"bos": target.bos, "eos": target.eos, "pad": target.pad, "unk": target.unk},
        "cache": [settings.decoder_layers, settings.heads, settings.d_model // settings.heads],
        "max_length": settings.max_length,
    }


class _Reopened:
    """A bundle that onnxruntime has opened."""

    compares: Compared = "logits"

    def __init__(self, bundle: Bundle, directory: Path) -> None:
        self.decoding = Decoding(beam_size=1)
        self._bundle = bundle
        self._encoder, self._decoder = (
            onnxruntime.InferenceSession(directory / f"{name}.onnx", providers=["CPUExecutionProvider"])
            for name in ("encoder", "decoder")
        )
        layers, heads, d_head = json.loads((directory / "config.json").read_text())["cache"]
        self._empty = np.zeros((layers, 1, heads, 0, d_head), np.float32)

    def values(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[Values]:
        """Logits after every target token, of a whole batch, fed one token after another."""
        source, target = self._bundle.source.vocabulary, self._bundle.target.vocabulary
        state = self._start(pad(sources, first=None, last=source.eos, pad=source.pad).numpy())
        inputs = pad(targets, first=target.bos, last=None, pad=target.pad).numpy()  # (sentences, target)
        logits = np.stack([self._step(tokens, state) for tokens in inputs.T], axis=1)
        return [row[: len(answer) + 1] for row, answer in zip(logits, targets, strict=True)]

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Greedy translations, one by one."""
        return [self._bundle.target.decode(self._follow(ids)) for ids in self._bundle.source.encode(texts)]

    def _follow(self, ids: list[int]) -> list[int]:
        source, target = self._bundle.source.vocabulary, self._bundle.target.vocabulary
        longest = self._bundle.model.settings.max_length
        sentence = np.array([[*ids[: longest - 1], source.eos]])
        limit = int(sentence.shape[1] * self.decoding.max_length_ratio) + self.decoding.max_length_offset
        state, tokens = self._start(sentence), [target.bos]
        while len(tokens) < min(limit, self.decoding.max_length, longest) and tokens[-1] != target.eos:
            logits = self._step(np.array(tokens[-1:]), state)[0]
            logits[[target.unk, target.pad, target.bos]] = -np.inf
            tokens.append(int(logits.argmax()))
        return tokens

    def _start(self, source: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        names = [output.name for output in self._encoder.get_outputs()]
        memory = dict(zip(names, self._encoder.run(names, {"source": source}), strict=True))
        empty = self._empty.repeat(len(source), axis=1)
        return {**memory, "keys": empty, "values": empty}

    def _step(self, tokens: NDArray[np.int64], state: dict[str, NDArray[Any]]) -> Values:
        outputs = ["logits", "new_keys", "new_values"]
        logits, state["keys"], state["values"] = self._decoder.run(outputs, {**state, "tokens": tokens})
        found: Values = logits
        return found


_PAGE = """# {name} for ONNX

`encoder.onnx` reads `source`, (batch, source), ids ended by eos and padded. `decoder.onnx` reads one more token of each
sentence, `tokens`, (batch,), bos first, beside the encoder's outputs and the `keys` and `values` so far,
(layers, batch, heads, time, d_head), of no time at first. It gives logits, (batch, vocabulary), and the keys and values
for its next call. `config.json` has the special ids; unk, pad and bos are not to be chosen. For beams, repeat the
encoder's outputs, and take rows of keys and values along their second axis.
"""
