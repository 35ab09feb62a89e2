"""Recording the attention and the hidden states of a model while it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from functools import partial
from typing import Any, Literal
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.model.attention import MultiHeadAttention, Record
from dragoman.model.torch_transformer import TorchTransformer
from dragoman.model.transformer import Transformer

AttentionKind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[AttentionKind, ...] = ("encoder", "decoder", "cross")
"""Self-attention of the encoder, masked self-attention of the decoder, attention of the decoder to the encoder."""


class _Copies(threading.local):
    """The copies that this thread has made, each as long as its model exists."""

    def __init__(self) -> None:
        self.models: WeakKeyDictionary[Transformer, Transformer] = WeakKeyDictionary()


_COPIES = _Copies()


class Recording:
    """Attention weights by kind and layer: one tensor per call, (batch, heads, query, key), after dropout."""

    def __init__(self, model: Transformer) -> None:
        sizes = {"encoder": len(model.encoder), "decoder": len(model.decoder), "cross": len(model.decoder)}
        self.calls: dict[AttentionKind, list[list[Tensor]]] = {kind: [[] for _ in range(sizes[kind])] for kind in KINDS}

    def add(self, kind: AttentionKind, layer: int, weights: Tensor) -> None:
        """Append the weights of one call."""
        self.calls[kind][layer].append(weights.detach())

    def weights(self, kind: AttentionKind) -> Tensor:
        """All weights of a kind, (layers, batch, heads, query, key), with the queries of all calls in order.

        So one forward pass and one hypothesis decoded step by step give the same result. Keys that did not exist
        at an earlier step have weight zero.
        """
        return torch.stack([_join(calls) for calls in self.calls[kind]])


def _join(calls: list[Tensor]) -> Tensor:
    keys = max(call.shape[3] for call in calls)
    return torch.cat([F.pad(call, (0, keys - call.shape[3])) for call in calls], dim=2)


@contextmanager
def capture(model: Transformer) -> Iterator[Recording]:
    """Record the attention of this model, and of no other, until the block ends.

    >>> with capture(model) as maps:
    ...     logits = model(source, target)
    >>> maps.weights("cross")  # (layers, batch, heads, target, source)

    Meanwhile attention is computed step by step, because fused kernels do not return the weights; apart from
    rounding, the model's output is the same. Engines with their own copy of the weights are not recorded.
    """
    recording = Recording(model)
    with ExitStack() as stack:
        for kind, layer, module in _attention_modules(model):
            stack.callback(_start(module, partial(recording.add, kind, layer)))
        yield recording


@contextmanager
def capture_hidden(model: Transformer) -> Iterator[list[Tensor]]:
    """Record the output of each decoder layer, (batch, target, d_model), until the block ends.

    >>> with capture_hidden(model) as layers:
    ...     logits = model(source, target)
    >>> layers[0]  # of the first layer
    """
    layers = model.theirs.decoder.layers if isinstance(model, TorchTransformer) else model.decoder_layers
    found: list[Tensor] = []
    with ExitStack() as stack:
        for layer in layers:
            stack.callback(layer.register_forward_hook(lambda _, inputs, output: found.append(output)).remove)
        yield found


def private_copy(model: Transformer) -> Transformer:
    """This thread's own model with the same weights in memory; recording its attention disturbs no other thread.

    It is kept as long as the model, because copying takes longer than aligning a few sentences.
    """
    if model not in _COPIES.models:
        shared = {id(weight): weight for weight in (*model.parameters(), *model.buffers())}
        _COPIES.models[model] = deepcopy(model, shared)
    return _COPIES.models[model]


def _attention_modules(model: Transformer) -> Iterator[tuple[AttentionKind, int, nn.Module]]:
    """Every attention module that may run, with its kind and layer."""
    for index, encoder_layer in enumerate(model.encoder_layers):
        yield "encoder", index, encoder_layer.attention
    for index, decoder_layer in enumerate(model.decoder_layers):
        yield "decoder", index, decoder_layer.attention
        yield "cross", index, decoder_layer.memory_attention
    if isinstance(model, TorchTransformer):  # its forward pass runs these instead; its cached steps run the above
        for index, layer in enumerate(model.theirs.encoder.layers):
            yield "encoder", index, layer.self_attn
        for index, layer in enumerate(model.theirs.decoder.layers):
            yield "decoder", index, layer.self_attn
            yield "cross", index, layer.multihead_attn


def _start(module: nn.Module, record: Record) -> Callable[[], None]:
    """Record what this module does; returns a function that ends the recording."""
    if isinstance(module, MultiHeadAttention):
        assert module.core.record is None, "a model can be recorded once at a time"
        module.core.record = record
        return partial(setattr, module.core, "record", None)

    def request_weights(_: nn.Module, inputs: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return inputs, options | {"need_weights": True, "average_attn_weights": False}

    def keep(_: nn.Module, inputs: Any, outputs: tuple[Tensor, Tensor]) -> None:
        record(outputs[1])

    handles = [
        module.register_forward_pre_hook(request_weights, with_kwargs=True),
        module.register_forward_hook(keep),
    ]

    def end() -> None:
        for handle in handles:
            handle.remove()

    return end
