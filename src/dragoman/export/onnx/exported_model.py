"""An exported model in onnxruntime."""

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
from dragoman.export.protocol import OutputKind, Outputs
from dragoman.search.constraints import max_target_length
from dragoman.settings import Decoding


class OnnxModel:
    """The encoder and the decoder step of a bundle, see `ExportedModel`; the search is greedy."""

    output_kind: OutputKind = "logits"

    def __init__(self, bundle: Bundle, directory: Path) -> None:
        self.decoding = Decoding(beam_size=1)
        self._bundle = bundle
        self._encoder, self._decoder = (
            onnxruntime.InferenceSession(directory / f"{name}.onnx", providers=["CPUExecutionProvider"])
            for name in ("encoder", "decoder")
        )
        layers, heads, d_head = json.loads((directory / "config.json").read_text())["cache"]
        self._empty_cache = np.zeros((layers, 1, heads, 0, d_head), np.float32)

    def outputs(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[Outputs]:
        """Logits after every target token; all pairs are one batch, which is fed one target token per step."""
        source, target = self._bundle.source.vocabulary, self._bundle.target.vocabulary
        state = self._start(pad(sources, first=None, last=source.eos, pad=source.pad).numpy())
        inputs = pad(targets, first=target.bos, last=None, pad=target.pad).numpy()  # (batch, target)
        logits = np.stack([self._step(tokens, state) for tokens in inputs.T], axis=1)  # (batch, target, vocabulary)
        return [row[: len(tokens) + 1] for row, tokens in zip(logits, targets, strict=True)]

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Greedy translations, one text at a time."""
        return [self._bundle.target.decode(self._search(ids)) for ids in self._bundle.source.encode(texts)]

    def _search(self, ids: list[int]) -> list[int]:
        """The greedy translation of source ids, bos included."""
        source, target = self._bundle.source.vocabulary, self._bundle.target.vocabulary
        model_limit = self._bundle.model.settings.max_length
        sentence = np.array([[*ids[: model_limit - 1], source.eos]])  # (1, source)
        limit = max_target_length(sentence.shape[1], self.decoding, model_limit)
        state, tokens = self._start(sentence), [target.bos]
        while len(tokens) < limit and tokens[-1] != target.eos:  # the last token within the limit is always eos
            logits = self._step(np.array(tokens[-1:]), state)[0]
            logits[target.forbidden_ids] = -np.inf
            tokens.append(int(logits.argmax()))
        return tokens

    def _start(self, source: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """The inputs of the first decoder step, except tokens, for ids (batch, source)."""
        names = [output.name for output in self._encoder.get_outputs()]
        memory = dict(zip(names, self._encoder.run(names, {"source": source}), strict=True))
        empty = self._empty_cache.repeat(len(source), axis=1)
        return {**memory, "keys": empty, "values": empty}

    def _step(self, tokens: NDArray[np.int64], state: dict[str, NDArray[Any]]) -> Outputs:
        """Feed tokens, (batch,); returns logits, (batch, vocabulary), and updates the keys and values."""
        names = ["logits", "new_keys", "new_values"]
        logits, state["keys"], state["values"] = self._decoder.run(names, {**state, "tokens": tokens})
        outputs: Outputs = logits
        return outputs
