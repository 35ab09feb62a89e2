"""Export to ONNX: an encoder, and one step of the decoder with its cache, for onnxruntime in any language."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.dataset.batch import pad
from dragoman.engines.choose import EngineRequest
from dragoman.engines.torch_engine import StepEngine
from dragoman.export.onnx.convert import convert_to_onnx
from dragoman.export.protocol import (
    ExportedModel,
    OutputKind,
    Outputs,
    describe_masking,
    list_other_settings,
    write_readme,
)
from dragoman.settings import Decoding
from dragoman.text.multilingual import language_tokens
from dragoman.text.registry import save_tokenizers
from dragoman.translator import TextSearch

COMPUTE_TYPES = ("float32", "int8")

GRAPHS = ("encoder", "decoder")

README = Path(__file__).with_name("README.md.j2")

POSITIONS = ("sinusoidal", "fairseq", "learned", "rotary")
"""Position encodings that are known to work with a length that is only known at run time."""

MAX_BYTES = 2_000_000_000
"""Largest size of the weights: an ONNX file cannot exceed 2 GiB."""


def unsupported(bundle: Bundle) -> list[str]:
    """What ONNX cannot express, see `Exporter.unsupported`."""
    positions = bundle.recipe.model.positions
    size = 4 * sum(parameter.numel() for parameter in bundle.model.parameters())
    reasons = {
        f"model.positions = {positions!r}: must be one of {', '.join(POSITIONS)}": positions not in POSITIONS,
        "several languages, of which translations begin with one: the files do not contain it": bool(
            bundle.target.language_ids
        ),
        "text.specials: bos and eos must be different tokens": bundle.target.vocabulary.bos
        == bundle.target.vocabulary.eos,
        f"the model: it has {size:,} bytes of weights; a file can contain {MAX_BYTES:,}": size >= MAX_BYTES,
    }
    return [reason for reason, applies in reasons.items() if applies]


def write(bundle: Bundle, directory: Path, compute_type: str) -> None:
    """Write encoder, decoder, tokenizers, config and README into an existing directory."""
    for name, graph in make_graphs(bundle, compute_type).items():
        (directory / f"{name}.onnx").write_bytes(graph)
    save_tokenizers(directory, bundle.source, bundle.target)
    (directory / "config.json").write_text(json.dumps(_config(bundle), indent=2), encoding="utf-8")
    settings = list_other_settings(bundle.recipe.decoding, ())
    values: dict[str, Any] = {"name": bundle.recipe.name, "settings": settings}
    values["placeholders"] = describe_masking(bundle)
    values["languages"] = language_tokens(bundle.source)
    write_readme(directory, README, values)


def make_graphs(bundle: Bundle, compute_type: str) -> dict[str, bytes]:
    """The content of the files of `GRAPHS`."""
    change = quantize_matrices if compute_type == "int8" else lambda graph: graph
    graphs = convert_to_onnx(bundle.model)
    return {name: change(graphs[name]).SerializeToString() for name in GRAPHS}


def load(bundle: Bundle, directory: Path, compute_type: str) -> ExportedModel:
    """Load what `write` wrote with onnxruntime."""
    graphs = {name: (directory / f"{name}.onnx").read_bytes() for name in GRAPHS}
    return OnnxModel(bundle, graphs, Decoding(beam_size=1))


def _config(bundle: Bundle) -> dict[str, Any]:
    settings, source, target = bundle.model.settings, bundle.source.vocabulary, bundle.target.vocabulary
    return {
        "source": {"eos": source.eos, "pad": source.pad, "unk": source.unk},
        "target": {"bos": target.bos, "eos": target.eos, "pad": target.pad, "unk": target.unk},
        "cache": [settings.decoder_layers, settings.heads, settings.d_model // settings.heads],
        "max_length": settings.max_length,
        **({"languages": tokens} if (tokens := language_tokens(bundle.source)) else {}),
    }


class OnnxModel:
    """The encoder and the decoder step of a bundle with our search, see `ExportedModel`.

    Args:
        bundle: The original.
        graphs: The content of the files of the encoder and the decoder, by name.
        decoding: Settings of the search.
    """

    output_kind: OutputKind = "logits"

    def __init__(self, bundle: Bundle, graphs: Mapping[str, bytes], decoding: Decoding) -> None:
        self.decoding = decoding
        self._bundle, self._decoder = bundle, OnnxDecoder(graphs)
        engine = StepEngine("onnx", self._decoder, EngineRequest(bundle, decoding))
        self._search = TextSearch(bundle, engine, decoding)

    def outputs(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[Outputs]:
        """Logits after every target token; all pairs are one batch, which is fed one target token per step."""
        source, target = self._bundle.source.vocabulary, self._bundle.target.vocabulary
        cache = self._decoder.start(pad(sources, first=None, last=source.eos, pad=source.pad))
        inputs = pad(targets, first=target.bos, last=None, pad=target.pad)  # (batch, target)
        steps = [self._decoder.step(tokens, cache) for tokens in inputs.T]
        logits = torch.stack(steps, dim=1).numpy()  # (batch, target, vocabulary)
        return [row[: len(tokens) + 1] for row, tokens in zip(logits, targets, strict=True)]

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Translations of texts."""
        sources = self._search.encode(texts)
        return [
            self._search.translation(*pair).text for pair in zip(sources, self._search.search(sources), strict=True)
        ]


Arrays = dict[str, NDArray[Any]]


@dataclass
class OnnxCache:
    """The inputs of the decoder, except tokens: `memory` has one row per sentence, `state` one per hypothesis."""

    memory: Arrays
    state: Arrays

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """See `Cache.select`."""
        self.state = _take(self.state, rows.numpy())
        if sentences is not None:
            self.memory = _take(self.memory, sentences.numpy())


class OnnxDecoder:
    """A `Decoder` that runs the graphs of the encoder and the decoder.

    Args:
        graphs: The content of the two files, by name.
    """

    def __init__(self, graphs: Mapping[str, bytes]) -> None:
        self._encoder, self._decoder = (
            onnxruntime.InferenceSession(graphs[name], _options(), providers=["CPUExecutionProvider"])
            for name in ("encoder", "decoder")
        )
        shapes = {each.name: each.shape for each in self._decoder.get_inputs()}
        self._cache_shape = shapes["keys"]  # layers, batch, heads, time, d_head

    def start(self, source: Tensor) -> OnnxCache:
        """The cache to decode one hypothesis of each sentence, (sentences, source)."""
        names = [output.name for output in self._encoder.get_outputs()]
        memory = dict(zip(names, self._encoder.run(names, {"source": source.numpy()}), strict=True))
        layers, _, heads, _, d_head = self._cache_shape
        empty = np.zeros((layers, len(source), heads, 0, d_head), np.float32)
        return OnnxCache(memory, {"keys": empty, "values": empty})

    def step(self, tokens: Tensor, cache: OnnxCache) -> Tensor:
        """Feed one token to every row, (rows,); returns the logits of the next token, (rows, vocabulary)."""
        hypotheses = len(tokens) // len(cache.memory["memory_mask"])
        rows = np.arange(len(tokens)) // hypotheses
        inputs = {**_take(cache.memory, rows), **cache.state, "tokens": tokens.numpy()}
        logits, keys, values = self._decoder.run(["logits", "new_keys", "new_values"], inputs)
        cache.state = {"keys": keys, "values": values}
        return torch.from_numpy(logits)


def _take(arrays: Arrays, rows: NDArray[np.int64]) -> Arrays:
    """These rows of all arrays: the second dimension of keys and values, the first of the mask."""
    return {name: array.take(rows, axis=0 if array.ndim == 2 else 1) for name, array in arrays.items()}


def _options() -> onnxruntime.SessionOptions:
    """A thread per core as torch has it, so that the caller decides."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    return options


_LARGEST = 127


def quantize_matrices(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of a model whose float32 matrices are integers times the scales of their rows or columns."""
    quantized = onnx.ModelProto()
    quantized.CopyFrom(model)
    graph = quantized.graph
    nodes, constants = [], []
    for constant in graph.initializer:
        matrix = numpy_helper.to_array(constant)
        if matrix.ndim == 2 and matrix.dtype == np.float32:
            integers, scales = _quantize(matrix, _output_axis(graph, constant.name))
            names = f"{constant.name}_int8", f"{constant.name}_scales", f"{constant.name}_float"
            constants += [numpy_helper.from_array(integers, names[0]), numpy_helper.from_array(scales, names[1])]
            nodes.append(helper.make_node("Cast", [names[0]], [names[2]], names[2], to=TensorProto.FLOAT))
            nodes.append(helper.make_node("Mul", [names[2], names[1]], [constant.name], constant.name))
        else:
            constants.append(constant)
    nodes.extend(graph.node)
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(constants)
    return quantized


def _output_axis(graph: onnx.GraphProto, name: str) -> int:
    """The axis with one scale per index: columns of a matrix that is multiplied from the right, otherwise rows."""
    return 1 if any(node.op_type == "MatMul" and node.input[1] == name for node in graph.node) else 0


def _quantize(matrix: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """A matrix in integers, and their scales, which have the shape (rows, 1) or (1, columns)."""
    largest = np.abs(matrix).max(axis=1 - axis, keepdims=True)
    scales = np.where(largest > 0, largest, 1) / np.float32(_LARGEST)
    return np.rint(matrix / scales).astype(np.int8), scales.astype(np.float32)
