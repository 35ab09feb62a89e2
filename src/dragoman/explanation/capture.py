"""Recording the attention of a model while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.model.attention import MultiHeadAttention, Record
from dragoman.model.layers import DecoderLayer, EncoderLayer
from dragoman.model.torch_transformer import TorchTransformer
from dragoman.model.transformer import Transformer

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")
"""Self-attention of the encoder, masked self-attention of the decoder, attention of the decoder to the encoder."""


class Recording:
    """Attention weights by kind and layer: one tensor a call, (batch, heads, query, key), as they were used."""

    def __init__(self, model: Transformer) -> None:
        sizes = {"encoder": len(model.encoder), "decoder": len(model.decoder), "cross": len(model.decoder)}
        self.calls: dict[Kind, list[list[Tensor]]] = {kind: [[] for _ in range(sizes[kind])] for kind in KINDS}

    def add(self, kind: Kind, layer: int, weights: Tensor) -> None:
        """Keep the weights of one call."""
        self.calls[kind][layer].append(weights.detach())

    def weights(self, kind: Kind) -> Tensor:
        """All of a kind, (layers, batch, heads, query, key): the queries of later calls follow those of earlier ones.

        So one forward pass and one hypothesis decoded step by step give the same. Keys that an earlier
        step did not have yet weigh zero.
        """
        return torch.stack([_lay(calls) for calls in self.calls[kind]])


def _lay(calls: list[Tensor]) -> Tensor:
    keys = max(call.shape[3] for call in calls)
    return torch.cat([F.pad(call, (0, keys - call.shape[3])) for call in calls], dim=2)


@contextmanager
def capture(model: Transformer) -> Iterator[Recording]:
    """Record the attention of this model, and of no other, until the block ends.

    >>> with capture(model) as maps:
    ...     logits = model(source, target)
    >>> maps.weights("cross")  # (layers, batch, heads, target, source)

    Meanwhile attention is computed step by step, as fused kernels never make the weights; what the
    model returns is the same but for rounding. Packed batches are not recorded.
    """
    recording = Recording(model)
    with ExitStack() as stack:
        for kind, layer, module in _attention(model):
            stack.callback(_start(module, partial(recording.add, kind, layer)))
        yield recording


def is_recorded(model: Transformer) -> bool:
    """Whether a `capture` of this model lasts."""
    _, _, first = next(_attention(model))
    return getattr(first, "record", None) is not None


def _attention(model: Transformer) -> Iterator[tuple[Kind, int, nn.Module]]:
    """Every attention module that may run, with its kind and layer."""
    for index, encoder_layer in enumerate(model.encoder):
        assert isinstance(encoder_layer, EncoderLayer)
        yield "encoder", index, encoder_layer.attention
    for index, decoder_layer in enumerate(model.decoder):
        assert isinstance(decoder_layer, DecoderLayer)
        yield "decoder", index, decoder_layer.attention
        yield "cross", index, decoder_layer.memory_attention
    if isinstance(model, TorchTransformer):  # its forward pass runs these instead; its cached steps run the above
        for index, layer in enumerate(model.theirs.encoder.layers):
            yield "encoder", index, layer.self_attn
        for index, layer in enumerate(model.theirs.decoder.layers):
            yield "decoder", index, layer.self_attn
            yield "cross", index, layer.multihead_attn


def _start(module: nn.Module, record: Record) -> Callable[[], None]:
    """Record what this module does; returns what ends that."""
    if isinstance(module, MultiHeadAttention):
        assert module.record is None, "a model is recorded once at a time"
        module.record = record
        return partial(setattr, module, "record", None)

    def ask(_: nn.Module, inputs: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return inputs, options | {"need_weights": True, "average_attn_weights": False}

    def keep(_: nn.Module, inputs: Any, outputs: tuple[Tensor, Tensor]) -> None:
        record(outputs[1])

    handles = [module.register_forward_pre_hook(ask, with_kwargs=True), module.register_forward_hook(keep)]

    def end() -> None:
        for handle in handles:
            handle.remove()

    return end
