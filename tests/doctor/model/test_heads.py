"""Heads that are reshaped without a transpose mix positions, and the causes of the leaks mention it."""

from __future__ import annotations

import pytest
import torch
from correct_models import IDS, PAD, TorchModel
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from dragoman.doctor import Finding, examine

HEADS = 4
LEAKS = {"future-leak", "source-padding-leak", "target-padding-leak"}


class Attention(nn.Module):
    """Multi-head attention whose heads are split or merged with or without a transpose."""

    def __init__(self, splits: bool, merges: bool) -> None:
        super().__init__()
        self.splits, self.merges = splits, merges
        self.q, self.k, self.v, self.output = (nn.Linear(32, 32) for _ in range(4))

    def split(self, x: Tensor) -> Tensor:
        """(batch, length, 32) -> (batch, heads, length, 8)"""
        batch, length, _ = x.shape
        return x.view(batch, length, HEADS, -1).transpose(1, 2) if self.splits else x.view(batch, HEADS, length, -1)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        q, k, v = self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory))
        mixed = scaled_dot_product_attention(q, k, v, mask)
        merged: Tensor = self.output((mixed.transpose(1, 2) if self.merges else mixed).reshape(x.shape))
        return merged


class OwnAttention(TorchModel):
    """One layer on each side; True for each of encoder, decoder and cross-attention: the heads are transposed."""

    def __init__(self, encoder: bool = True, decoder: bool = True, cross: bool = True, merges: bool = True) -> None:
        super().__init__()
        del self.transformer
        self.encoder, self.decoder, self.cross = (Attention(splits, merges) for splits in (encoder, decoder, cross))
        self.norms = nn.ModuleList([nn.LayerNorm(32) for _ in range(3)])

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        words, causal = (source != PAD)[:, None, None], torch.ones(target.shape[1], target.shape[1]).tril().bool()
        memory, x = self.embed(source, self.source), self.embed(target, self.target)
        memory = self.norms[0](memory + self.encoder(memory, memory, words))
        x = self.norms[1](x + self.decoder(x, x, causal))
        logits: Tensor = self.output(self.norms[2](x + self.cross(x, memory, words)))
        return logits


def leaks(**options: bool) -> list[Finding]:
    torch.manual_seed(1)
    return [finding for finding in examine(OwnAttention(**options).eval(), **IDS) if finding.code in LEAKS]


def test_transposed_heads_do_not_leak() -> None:
    assert not leaks()


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({"encoder": False}, {"source-padding-leak"}),
        ({"decoder": False}, {"future-leak"}),
        ({"cross": False}, {"source-padding-leak", "future-leak"}),
        ({"merges": False}, {"source-padding-leak", "future-leak"}),
        (
            {"encoder": False, "decoder": False, "cross": False, "merges": False},
            {"source-padding-leak", "target-padding-leak"},
        ),
    ],
)
def test_the_causes_of_leaks_mention_heads_that_are_not_transposed(options: dict[str, bool], codes: set[str]) -> None:
    found = leaks(**options)
    assert {finding.code for finding in found} == codes
    for finding in found:
        assert "reshaped without a transpose" in finding.cause
        assert "transpose(1, 2)" in finding.fix
