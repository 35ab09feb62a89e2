"""Conversion of a model to two ONNX graphs by `torch.onnx`."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from weakref import WeakKeyDictionary

import onnx
import onnxscript.optimizer
import torch
from torch import Tensor, nn
from torch.export import Dim

from dragoman.export.onnx.modules import DecoderStep, Encoder
from dragoman.model.transformer import Transformer
from dragoman.system.version import __version__

OPSET = 20
"""onnxruntime 1.20 supports it, and it is the first version with Gelu."""

BATCH, SOURCE, TIME = Dim("batch"), Dim("source"), Dim("time")

MEMORY_NAMES = ["memory_keys", "memory_values", "memory_mask"]

_NO_LIMIT = 2**62  # bytes

Inputs = Mapping[str, tuple[Tensor, dict[int, Dim]]]
"""By name: an example, and which of its dimensions vary."""


Graphs = dict[str, onnx.ModelProto]

_CONVERTED: WeakKeyDictionary[Transformer, tuple[str, Graphs]] = WeakKeyDictionary()
"""The graphs of models with a digest of their weights: an export in int8 is checked in float32 first."""


def convert_to_onnx(model: Transformer) -> Graphs:
    """The graphs of the encoder and of one decoder step, by name; see `Encoder` and `DecoderStep`.

    Converting takes seconds, so the graphs of a model are kept as long as the model. They must not be changed.
    """
    assert not model.training, "dropout would become part of the graphs"
    weights = sha256()
    for tensor in model.state_dict().values():
        weights.update(tensor.cpu().contiguous().numpy())
    digest = weights.hexdigest()
    if _CONVERTED.get(model, ("", {}))[0] != digest:
        _CONVERTED[model] = digest, _convert_both(model)
    return _CONVERTED[model][1]


def _convert_both(model: Transformer) -> Graphs:
    batch, source, time = 2, 5, 3  # of the examples
    settings = model.settings
    layers, heads, d_head = settings.decoder_layers, settings.heads, settings.d_model // settings.heads
    ids = torch.full((batch, source), 4)
    cache = torch.zeros(layers, batch, heads, time, d_head), {1: BATCH, 3: TIME}
    memory = torch.zeros(layers, batch, heads, source, d_head), {1: BATCH, 3: SOURCE}
    decoder_inputs: Inputs = {
        "tokens": (ids[:, 0], {0: BATCH}),
        "keys": cache,
        "values": cache,
        "memory_keys": memory,
        "memory_values": memory,
        "memory_mask": (torch.ones(batch, source, dtype=torch.bool), {0: BATCH, 1: SOURCE}),
    }
    encoder = _convert(Encoder(model), {"source": (ids, {0: BATCH, 1: SOURCE})}, MEMORY_NAMES)
    decoder = _convert(DecoderStep(model), decoder_inputs, ["logits", "new_keys", "new_values"])
    return {"encoder": encoder, "decoder": decoder}


def _convert(module: nn.Module, inputs: Inputs, outputs: Sequence[str]) -> onnx.ModelProto:
    examples, dimensions = zip(*inputs.values(), strict=True)
    with _without_warnings():
        program = torch.onnx.export(
            module.eval(),
            tuple(example.clone() for example in examples),  # equal inputs must not be the same tensor
            dynamo=True,
            opset_version=OPSET,
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_shapes=dimensions,
            verbose=False,
        )
    assert program is not None
    # a matrix of which only some rows are used is stored without the others
    onnxscript.optimizer.optimize(program.model, input_size_limit=_NO_LIMIT, output_size_limit=_NO_LIMIT)
    return _without_metadata(program.model_proto)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Hide warnings about deprecated functions that torch itself calls, and about packages that it does not need."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _without_metadata(model: onnx.ModelProto) -> onnx.ModelProto:
    """Remove the stack traces of torch, which contain paths, and the shapes of intermediate results."""
    graph = model.graph
    for part in (model, graph, *graph.node, *graph.input, *graph.output, *graph.initializer):
        part.ClearField("doc_string")
        part.ClearField("metadata_props")
    graph.ClearField("value_info")
    model.producer_name, model.producer_version = "dragoman", __version__
    return model
