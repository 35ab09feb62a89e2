"""torch.nn.Transformer as a second implementation, to compare with ours."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dragoman.model.attention import MultiHeadAttention
from dragoman.model.layers import FeedForward
from dragoman.model.masks import causal_mask
from dragoman.model.transformer import Transformer
from dragoman.settings import Model


class TorchTransformer(Transformer):
    """A Transformer whose encoder and decoder are computed by torch.nn.Transformer.

    torch's modules share our parameters, which have the same shapes and layout. Therefore each implementation can
    load the bundles of the other, and both return the same logits. Decoding with a cache uses our `step`.
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
        with torch.device("meta"):  # these weights are replaced by ours and need no memory
            encoder = nn.TransformerEncoder(
                nn.TransformerEncoderLayer(**options),
                settings.encoder_layers,
                nn.LayerNorm(settings.d_model),
                enable_nested_tensor=False,  # nested tensors would drop the padding, and with it the shape
            )
            self.theirs = nn.Transformer(num_decoder_layers=settings.decoder_layers, custom_encoder=encoder, **options)
        self._share_parameters()

    def _share_parameters(self) -> None:
        for theirs, ours in zip(self.theirs.encoder.layers, self.encoder_layers, strict=True):
            _share_attention(theirs.self_attn, ours.attention)
            _share_feed_forward(theirs, ours.feed_forward)
            theirs.norm1 = ours.attention_residual.norm
            theirs.norm2 = ours.feed_forward_residual.norm
        for theirs, our_decoder in zip(self.theirs.decoder.layers, self.decoder_layers, strict=True):
            _share_attention(theirs.self_attn, our_decoder.attention)
            _share_attention(theirs.multihead_attn, our_decoder.memory_attention)
            _share_feed_forward(theirs, our_decoder.feed_forward)
            theirs.norm1 = our_decoder.attention_residual.norm
            theirs.norm2 = our_decoder.memory_attention_residual.norm
            theirs.norm3 = our_decoder.feed_forward_residual.norm
        self.theirs.encoder.norm = self.encoder_norm
        self.theirs.decoder.norm = self.decoder_norm

    def encode(self, source: Tensor, mask: Any, positions: Tensor) -> Tensor:
        """The encoder's output, (batch, source, d_model); the padding mask is computed from the ids."""
        return self.theirs.encoder(self.embed_source(source, positions), src_key_padding_mask=source == self.source_pad)

    def decode(self, target: Tensor, memory: Tensor, mask: Any, memory_mask: Any, positions: Tensor) -> Tensor:
        """The decoder's output, (batch, target, d_model)."""
        return self.theirs.decoder(
            self.embed_target(target, positions),
            memory,
            tgt_mask=~causal_mask(target.shape[1], target.device),  # torch: True = may not attend
            memory_key_padding_mask=~memory_mask[:, 0, 0],
        )


def _share_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    weight, bias = ours.qkv.parameters()
    theirs.in_proj_weight, theirs.in_proj_bias = weight, bias
    theirs.out_proj.weight, theirs.out_proj.bias = ours.output.weight, ours.output.bias


def _share_feed_forward(theirs: nn.Module, ours: FeedForward) -> None:
    theirs.linear1 = ours.inner
    theirs.linear2 = ours.outer
