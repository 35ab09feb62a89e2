"""Decoding without a cache: every step reads the whole prefix anew. Slow, and obviously right."""

from __future__ import annotations

import torch
from torch import Tensor

from dragoman.model.transformer import Transformer


class PrefixCache:
    """The sources, (sentences, source), and all tokens fed so far, (rows, time), of a batch of hypotheses."""

    def __init__(self, source: Tensor) -> None:
        self.source = source
        self.prefix: Tensor | None = None

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, in this order (a row may be taken twice), and these sentences (None: all)."""
        if self.prefix is not None:
            self.prefix = self.prefix.index_select(0, rows)
        if sentences is not None:
            self.source = self.source.index_select(0, sentences)


class PrefixStep:
    """The step of a model that remembers nothing but tokens."""

    def __init__(self, model: Transformer) -> None:
        self.model = model

    def __call__(self, tokens: Tensor, cache: PrefixCache) -> Tensor:
        """Feed one more token to every row, (rows,); the logits of the next, (rows, target vocabulary)."""
        new = tokens[:, None]
        cache.prefix = new if cache.prefix is None else torch.cat((cache.prefix, new), dim=1)  # (rows, time)
        sources = cache.source.repeat_interleave(len(tokens) // len(cache.source), dim=0)
        logits: Tensor = self.model.output(self.model.hidden(sources, cache.prefix)[:, -1])
        return logits
