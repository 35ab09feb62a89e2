"""torch.nn.Transformer as a second implementation, to check ours against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.model.attention import MultiHeadAttention
from dragoman.model.layers import DecoderLayer, EncoderLayer, FeedForward
from dragoman.model.masks import causal_mask, pack_vectors, positions_of
from dragoman.model.transformer import Transformer
from dragoman.settings import Model


class TorchTransformer(Transformer):
    """A Transformer whose encoder and decoder are run by torch.nn.Transformer.

    It has no weights of its own: its modules hold the very parameters of ours, which have the same
    shapes and layout. So bundles of one can be read by the other, a cached `step` is ours, and both
    must give the same logits.
    """

    def __init__(self, settings: Model, source_size: int, target_size: int, source_pad: int) -> None:
        super().__init__(settings, source_size, target_size, source_pad)
        options: Any = {
            "d_model": settings.d_model,
            "nhead": settings.heads,
            "dim_feedforward": settings.d_ff,
            "dropout": settings.dropout,
            "activation": settings.activation,
            "layer_norm_eps": settings.norm_epsilon,
            "batch_first": True,
            "norm_first": settings.norm == "pre",
        }
        with torch.device("meta"):  # its own weights are never made
            encoder = nn.TransformerEncoder(
                nn.TransformerEncoderLayer(**options),
                settings.encoder_layers,
                nn.LayerNorm(settings.d_model),
                enable_nested_tensor=False,  # which keeps no padding, and so no shape
            )
            self.theirs = nn.Transformer(num_decoder_layers=settings.decoder_layers, custom_encoder=encoder, **options)
        for their_encoder, our_encoder in zip(self.theirs.encoder.layers, self.encoder, strict=True):
            assert isinstance(our_encoder, EncoderLayer)
            _share_attention(their_encoder.self_attn, our_encoder.attention)
            _share_feed_forward(their_encoder, our_encoder.feed_forward)
            their_encoder.norm1 = our_encoder.attention_residual.norm
            their_encoder.norm2 = our_encoder.feed_forward_residual.norm
        for their_decoder, our_decoder in zip(self.theirs.decoder.layers, self.decoder, strict=True):
            assert isinstance(our_decoder, DecoderLayer)
            _share_attention(their_decoder.self_attn, our_decoder.attention)
            _share_attention(their_decoder.multihead_attn, our_decoder.memory_attention)
            _share_feed_forward(their_decoder, our_decoder.feed_forward)
            their_decoder.norm1 = our_decoder.attention_residual.norm
            their_decoder.norm2 = our_decoder.memory_attention_residual.norm
            their_decoder.norm3 = our_decoder.feed_forward_residual.norm
        self.theirs.encoder.norm = self.encoder_norm
        self.theirs.decoder.norm = self.decoder_norm

    def hidden(self, source: Tensor, target: Tensor) -> Tensor:
        """What forward projects to logits, (batch, target, d_model)."""
        memory = self.memory(source)
        x = self.embed_target(target, positions_of(target))
        hidden: Tensor = self.theirs.decoder(
            x,
            memory,
            tgt_mask=~causal_mask(target.shape[1], target.device),  # torch's masks say what may not be attended to
            memory_key_padding_mask=source == self.source_pad,
        )
        return hidden

    def packed_hidden(self, sources: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
        """`hidden` of several batches, one by one, laid end to end, (cells of all targets and filler, d_model)."""
        return pack_vectors([self.hidden(source, target) for source, target in zip(sources, targets, strict=True)])

    def memory(self, source: Tensor) -> Tensor:
        """The encoder's output, (batch, source, d_model), for ids (batch, source)."""
        x = self.embed_source(source, positions_of(source))
        memory: Tensor = self.theirs.encoder(x, src_key_padding_mask=source == self.source_pad)
        return memory


def _share_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    weight, bias = ours.qkv.parameters()
    theirs.in_proj_weight, theirs.in_proj_bias = weight, bias
    theirs.out_proj.weight, theirs.out_proj.bias = ours.output.weight, ours.output.bias


def _share_feed_forward(theirs: nn.Module, ours: FeedForward) -> None:
    theirs.linear1 = ours.inner
    theirs.linear2 = ours.outer
