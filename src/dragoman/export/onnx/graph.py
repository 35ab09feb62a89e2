"""A Transformer as two ONNX graphs: the encoder, and one step of the decoder with its cache."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from dragoman.model.attention import MultiHeadAttention
from dragoman.model.layers import DecoderLayer, EncoderLayer, FeedForward, SublayerConnection
from dragoman.model.positions import LearnedPositions, Positions, sinusoids
from dragoman.model.transformer import Transformer

OPSET, IR = 20, 10  # the first with Gelu; what runtimes of its time read

Shape = Sequence[int | str]


class Graph:
    """Nodes and constants in the making. Every method that computes something returns the name of its result."""

    def __init__(self, model: Transformer) -> None:
        self.model = model
        self.settings = model.settings
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}
        self._names: Iterator[int] = count()

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """One operation with one result."""
        name = f"{kind}_{next(self._names)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def split(self, x: str, parts: int) -> list[str]:
        """Equal parts along the last axis."""
        names = [f"Split_{next(self._names)}" for _ in range(parts)]
        self._nodes.append(helper.make_node("Split", [x], names, axis=-1, num_outputs=parts))
        return names

    def constant(self, value: torch.Tensor | NDArray[np.generic] | float | Sequence[int], name: str = "") -> str:
        """A constant; one of a name is stored once."""
        if isinstance(value, torch.Tensor):
            value = value.detach().float().cpu().numpy()
        array = np.asarray(value, dtype=np.float32 if isinstance(value, float) else None)
        name = name or f"constant_{next(self._names)}"
        self._constants.setdefault(name, numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def give(self, x: str, name: str) -> None:
        """Call a result by the name of an output."""
        self._nodes.append(helper.make_node("Identity", [x], [name]))

    def build(self, name: str, inputs: dict[str, tuple[int, Shape]], outputs: dict[str, tuple[int, Shape]]) -> bytes:
        """The finished graph, checked, as the bytes of a file."""
        read, written = (
            [helper.make_tensor_value_info(each, kind, shape) for each, (kind, shape) in values.items()]
            for values in (inputs, outputs)
        )
        graph = helper.make_graph(self._nodes, name, read, written, initializer=list(self._constants.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="dragoman")
        model.ir_version = IR
        onnx.checker.check_model(model, full_check=True)
        data: bytes = model.SerializeToString()
        return data

    def linear(self, x: str, weight: torch.Tensor, bias: torch.Tensor | None) -> str:
        """x W^T + b, (..., inputs) -> (..., outputs)."""
        product = self.op("MatMul", x, self.constant(weight.T))
        return product if bias is None else self.op("Add", product, self.constant(bias))

    def norm(self, x: str, norm: nn.Module) -> str:
        """A layer norm, or nothing if the module is the identity."""
        if not isinstance(norm, nn.LayerNorm):
            return x
        return self.op(
            "LayerNormalization", x, self.constant(norm.weight), self.constant(norm.bias), axis=-1, epsilon=norm.eps
        )

    def embed(self, ids: str, embedding: nn.Embedding, name: str) -> str:
        """Scaled embeddings without positions, (..., d_model)."""
        found = self.op("Gather", self.constant(embedding.weight, name), ids)
        return self.op("Mul", found, self.constant(math.sqrt(self.settings.d_model)))

    def position_tables(self, positions: Positions) -> list[NDArray[np.float32]]:
        """Tables with a row for each position: sines and cosines of rotary angles, or what is added to embeddings."""
        length, d_model = self.settings.max_length, self.settings.d_model
        if isinstance(positions, LearnedPositions):
            return [positions.table.detach().float().cpu().numpy()]
        if self.settings.positions == "sinusoidal":
            return [sinusoids(length, d_model).numpy()]
        rotation = positions.rotation(torch.arange(length))  # (length, d_head / 2, 2)
        assert rotation is not None
        return [each.numpy() for each in rotation.unbind(-1)]

    def heads(self, x: str) -> str:
        """(batch, length, d_model) -> (batch, heads, length, d_head)."""
        heads, d_model = self.settings.heads, self.settings.d_model
        apart = self.op("Reshape", x, self.constant(np.array([0, 0, heads, d_model // heads])))
        return self.op("Transpose", apart, perm=[0, 2, 1, 3])

    def projections(self, x: str, attention: MultiHeadAttention, parts: Sequence[int]) -> list[str]:
        """Some of queries (0), keys (1) and values (2) of x, each (batch, heads, length, d_head)."""
        weights = attention.qkv.weight.chunk(3)
        biases = (None,) * 3 if attention.qkv.bias is None else attention.qkv.bias.chunk(3)
        rotary = self.settings.positions == "rotary" and 0 in parts and 1 in parts  # self-attention
        order = self._half_order() if rotary else slice(None)
        orders = (order, order, slice(None))
        return [
            self.heads(self.linear(x, weights[part][orders[part]], None if bias is None else bias[orders[part]]))
            for part in parts
            for bias in (biases[part],)
        ]

    def _half_order(self) -> torch.Tensor:
        """Rows of queries and keys with the first of all pairs before the second ones, in each head.

        Scores do not change when both are put into another order, and rotating halves is simpler than pairs.
        """
        heads, d_model = self.settings.heads, self.settings.d_model
        return torch.arange(d_model).view(heads, -1, 2).transpose(1, 2).flatten()

    def rotate(self, x: str, turn: Sequence[str]) -> str:
        """Turn the two halves of queries or keys, (batch, heads, length, d_head), by cosines and sines."""
        (first, second), (cosines, sines) = self.split(x, 2), turn
        return self.op(
            "Concat",
            self.op("Sub", self.op("Mul", first, cosines), self.op("Mul", second, sines)),
            self.op("Add", self.op("Mul", first, sines), self.op("Mul", second, cosines)),
            axis=-1,
        )

    def attend(self, q: str, k: str, v: str, blocked: str | None, attention: MultiHeadAttention) -> str:
        """Attention, (batch, length, d_model); `blocked` is added to the scores."""
        scale = self.constant(1 / math.sqrt(self.settings.d_model // self.settings.heads))
        scores = self.op("MatMul", self.op("Mul", q, scale), self.op("Transpose", k, perm=[0, 1, 3, 2]))
        weights = self.op("Softmax", scores if blocked is None else self.op("Add", scores, blocked), axis=-1)
        mixed = self.op("Transpose", self.op("MatMul", weights, v), perm=[0, 2, 1, 3])
        joined = self.op("Reshape", mixed, self.constant(np.array([0, 0, self.settings.d_model])))
        return self.linear(joined, attention.output.weight, attention.output.bias)

    def feed_forward(self, x: str, layer: FeedForward) -> str:
        """The feed-forward layer."""
        hidden = self.linear(x, layer.inner.weight, layer.inner.bias)
        if layer.activation == "swiglu":
            gate, value = self.split(hidden, 2)
            hidden = self.op("Mul", self.op("Mul", gate, self.op("Sigmoid", gate)), value)
        elif layer.activation == "silu":
            hidden = self.op("Mul", hidden, self.op("Sigmoid", hidden))
        else:
            hidden = self.op({"relu": "Relu", "gelu": "Gelu"}[layer.activation], hidden)
        return self.linear(hidden, layer.outer.weight, layer.outer.bias)

    def enter(self, x: str, residual: SublayerConnection) -> str:
        """What a sublayer reads."""
        return self.norm(x, residual.norm) if residual.pre_norm else x

    def leave(self, x: str, added: str, residual: SublayerConnection) -> str:
        """The stream after a sublayer."""
        total = self.op("Add", x, added)
        return total if residual.pre_norm else self.norm(total, residual.norm)


def encoder_graph(model: Transformer) -> bytes:
    """Source ids to what the decoder needs of them."""
    graph, settings = Graph(model), model.settings
    real = graph.op("Not", graph.op("Equal", "source", graph.constant(np.array(model.source_pad))))
    graph.give(real, "memory_mask")
    blocked = _blocked(graph, real)
    x = graph.embed("source", model.source_embedding, "source_embedding")
    length = graph.op("Shape", "source", start=1, end=2)
    tables = [
        graph.op("Slice", graph.constant(table), graph.constant(np.array([0])), length)
        for table in graph.position_tables(model.source_positions)
    ]
    if settings.positions != "rotary":
        x = graph.op("Add", x, tables.pop())
    for layer in model.encoder:
        assert isinstance(layer, EncoderLayer)
        q, k, v = graph.projections(graph.enter(x, layer.attention_residual), layer.attention, (0, 1, 2))
        if tables:
            q, k = graph.rotate(q, tables), graph.rotate(k, tables)
        x = graph.leave(x, graph.attend(q, k, v, blocked, layer.attention), layer.attention_residual)
        added = graph.feed_forward(graph.enter(x, layer.feed_forward_residual), layer.feed_forward)
        x = graph.leave(x, added, layer.feed_forward_residual)
    memory = graph.norm(x, model.encoder_norm)
    pairs = [graph.projections(memory, layer.memory_attention, (1, 2)) for layer in _decoder_layers(model)]
    for name, column in zip(("memory_keys", "memory_values"), zip(*pairs, strict=True), strict=True):
        graph.give(_stack(graph, column), name)
    cache = _cache_shape(model, "source")
    return graph.build(
        "encoder",
        {"source": (TensorProto.INT64, ("batch", "source"))},
        {
            "memory_keys": (TensorProto.FLOAT, cache),
            "memory_values": (TensorProto.FLOAT, cache),
            "memory_mask": (TensorProto.BOOL, ("batch", "source")),
        },
    )


def decoder_graph(model: Transformer) -> bytes:
    """One more token for each sentence, and the keys and values so far, to the logits of the next and those of it."""
    graph, settings = Graph(model), model.settings
    blocked = _blocked(graph, "memory_mask")
    position = graph.op("Shape", "keys", start=3, end=4)  # (1,)
    rows = [
        graph.op("Gather", graph.constant(table), position) for table in graph.position_tables(model.target_positions)
    ]
    ids = graph.op("Unsqueeze", "tokens", graph.constant(np.array([1])))
    x = graph.embed(ids, model.target_embedding, "target_embedding")  # (batch, 1, d_model)
    if settings.positions != "rotary":
        x = graph.op("Add", x, rows.pop())
    kept: list[tuple[str, str]] = []
    for index, layer in enumerate(_decoder_layers(model)):
        q, k, v = graph.projections(graph.enter(x, layer.attention_residual), layer.attention, (0, 1, 2))
        if rows:
            q, k = graph.rotate(q, rows), graph.rotate(k, rows)
        k = graph.op("Concat", _layer(graph, "keys", index), k, axis=2)
        v = graph.op("Concat", _layer(graph, "values", index), v, axis=2)
        kept.append((k, v))
        x = graph.leave(x, graph.attend(q, k, v, None, layer.attention), layer.attention_residual)
        (q,) = graph.projections(graph.enter(x, layer.memory_attention_residual), layer.memory_attention, (0,))
        memory = (_layer(graph, "memory_keys", index), _layer(graph, "memory_values", index))
        added = graph.attend(q, *memory, blocked, layer.memory_attention)
        x = graph.leave(x, added, layer.memory_attention_residual)
        added = graph.feed_forward(graph.enter(x, layer.feed_forward_residual), layer.feed_forward)
        x = graph.leave(x, added, layer.feed_forward_residual)
    hidden = graph.op("Squeeze", graph.norm(x, model.decoder_norm), graph.constant(np.array([1])))
    name = "output" if settings.tie == "none" else "target_embedding"
    bias = [] if model.output.bias is None else [graph.constant(model.output.bias)]
    graph.give(graph.op("Gemm", hidden, graph.constant(model.output.weight, name), *bias, transB=1), "logits")
    for name, column in zip(("new_keys", "new_values"), zip(*kept, strict=True), strict=True):
        graph.give(_stack(graph, column), name)
    cache, memory_cache = _cache_shape(model, "time"), _cache_shape(model, "source")
    return graph.build(
        "decoder",
        {
            "tokens": (TensorProto.INT64, ("batch",)),
            "keys": (TensorProto.FLOAT, cache),
            "values": (TensorProto.FLOAT, cache),
            "memory_keys": (TensorProto.FLOAT, memory_cache),
            "memory_values": (TensorProto.FLOAT, memory_cache),
            "memory_mask": (TensorProto.BOOL, ("batch", "source")),
        },
        {
            "logits": (TensorProto.FLOAT, ("batch", model.output.out_features)),
            "new_keys": (TensorProto.FLOAT, _cache_shape(model, "time_and_one")),
            "new_values": (TensorProto.FLOAT, _cache_shape(model, "time_and_one")),
        },
    )


def _cache_shape(model: Transformer, length: str) -> Shape:
    settings = model.settings
    return (settings.decoder_layers, "batch", settings.heads, length, settings.d_model // settings.heads)


def _blocked(graph: Graph, mask: str) -> str:
    """0 where a mask, (batch, source), is true, and minus infinity elsewhere, (batch, 1, 1, source)."""
    real = graph.op("Unsqueeze", mask, graph.constant(np.array([1, 2])))
    return graph.op("Where", real, graph.constant(0.0), graph.constant(-math.inf))


def _layer(graph: Graph, stacked: str, index: int) -> str:
    return graph.op("Gather", stacked, graph.constant(np.array(index)), axis=0)


def _stack(graph: Graph, parts: Sequence[str]) -> str:
    axis = graph.constant(np.array([0]))
    return graph.op("Concat", *(graph.op("Unsqueeze", part, axis) for part in parts), axis=0)


def _decoder_layers(model: Transformer) -> list[DecoderLayer]:
    return model.decoder_layers
