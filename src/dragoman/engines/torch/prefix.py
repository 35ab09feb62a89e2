"""Decoding without a cache: every step processes the whole prefix again. Slow, and obviously right."""

from __future__ import annotations

import torch
from torch import Tensor

from dragoman.model.transformer import Transformer


class PrefixCache:
    """The sources, (sentences, source), and all tokens fed so far, (rows, time), of a batch of hypotheses."""

    def __init__(self, source: Tensor) -> None:
        self.source = source
        self.prefix = torch.empty(len(source), 0, dtype=torch.int64, device=source.device)

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, in this order (a row may be repeated), and these sentences (None: all)."""
        self.prefix = self.prefix.index_select(0, rows)
        if sentences is not None:
            self.source = self.source.index_select(0, sentences)


class PrefixDecoder:
    """A decoder that stores the tokens instead of keys and values."""

    def __init__(self, model: Transformer) -> None:
        self.model = model

    def start(self, source: Tensor) -> PrefixCache:
        """Prepare to decode one hypothesis of each sentence, (sentences, source)."""
        return PrefixCache(source)

    def step(self, tokens: Tensor, cache: PrefixCache) -> Tensor:
        """Feed one token to every row, (rows,); returns the logits of the next token, (rows, target vocabulary)."""
        cache.prefix = torch.cat((cache.prefix, tokens[:, None]), dim=1)  # (rows, time)
        sources = cache.source.repeat_interleave(len(tokens) // max(1, len(cache.source)), dim=0)
        logits: Tensor = self.model.output(self.model.hidden(sources, cache.prefix)[:, -1])
        return logits
