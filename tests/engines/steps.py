"""A check that decoding step by step gives the logits of the full forward pass."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from tiny_models import SIZE, random_ids
from torch import Tensor

from dragoman.model.transformer import Transformer

MakeDecoder = Callable[[Transformer], Any]


class Steps:
    """Rows decoded with a cache, together with their sources and all tokens fed so far.

    Args:
        model: In float64.
        source: Ids, (sentences, source).
        make_decoder: Makes a decoder from a copy of the model in float32; by default the model itself decodes.
    """

    def __init__(self, model: Transformer, source: Tensor, make_decoder: MakeDecoder | None = None) -> None:
        self.model = model
        self.decoder = make_decoder(deepcopy(model).float()) if make_decoder else model
        self.tolerance: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-4} if make_decoder else {}
        self.cache: Any = self.decoder.start(source)
        self.source = source  # (rows, source)
        self.prefix = torch.empty(len(source), 0, dtype=torch.int64)  # (rows, length)

    def feed(self, tokens: Tensor) -> None:
        """Feed one token per row, and compare the logits with those of the full forward pass."""
        self.prefix = torch.cat((self.prefix, tokens[:, None]), dim=1)
        logits = self.decoder.step(tokens, self.cache)
        assert logits.shape == (len(tokens), SIZE)
        expected = self.model(self.source, self.prefix)[:, -1]
        torch.testing.assert_close(logits.double(), expected, **self.tolerance)

    def select(self, rows: list[int], sentences: list[int] | None) -> None:
        """Keep these rows and sentences."""
        chosen = torch.tensor(rows)
        self.cache.select(chosen, None if sentences is None else torch.tensor(sentences))
        self.source, self.prefix = self.source[chosen], self.prefix[chosen]


@torch.inference_mode()
def check_steps(model: Transformer, source: Tensor, make_decoder: MakeDecoder | None = None) -> None:
    """Branch, reorder and drop the hypotheses of three sentences."""
    steps = Steps(model, source, make_decoder)
    for select in (
        None,
        ([0, 0, 1, 1, 2, 2], None),  # two hypotheses per sentence
        None,
        ([1, 0, 3, 3, 4, 5], None),  # swap, repeat, keep
        ([4, 4, 5, 1, 1, 0], [2, 0]),  # three per sentence; drop and reorder sentences
        ([2, 0], [0]),
        ([1], None),
    ):
        if select is not None:
            steps.select(*select)
        steps.feed(random_ids(len(steps.source), seed=steps.prefix.numel()))
