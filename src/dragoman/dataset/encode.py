"""Sentence pairs to token ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from dragoman.corpus.pair import Pair
from dragoman.dataset.copy_examples import mask_pairs
from dragoman.dataset.token_store import PairStore
from dragoman.text.id_store import IdStore
from dragoman.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class PairEncoder:
    """Encodes pairs, and drops those with no token or more than `max_tokens` on either side."""

    source: Tokenizer
    target: Tokenizer
    max_tokens: int

    def encode(self, pairs: Sequence[Pair]) -> PairStore:
        """Ids of the pairs that are kept, in order; their spans are masked if the tokenizers have reserved tokens.

        The mark of a source is the token bos, with which no other source starts.
        """
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
        if masking := self.source.masking:
            sources, targets = mask_pairs(masking, sources, targets)
        encoded = list(zip(self.source.encode_masked(sources), self.target.encode_masked(targets), strict=True))
        for source_ids in filter(None, compress((ids for ids, _ in encoded), (pair.tagged for pair in pairs))):
            source_ids.insert(0, self.source.vocabulary.bos)
        kept = [index for index, pair in enumerate(encoded) if all(0 < len(side) <= self.max_tokens for side in pair)]
        source, target = (IdStore.of(encoded[index][side] for index in kept) for side in (0, 1))
        weights = np.array([pair.weight for pair in pairs], np.float32)
        return PairStore(source, target, weights=None if (weights == 1.0).all() else weights[kept])
