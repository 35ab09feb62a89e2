"""Token ids of many sentences in two flat arrays, far smaller than Python lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class IdStore:
    """Sentences as ids: sentence i is ids[offsets[i] : offsets[i + 1]]."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, sentences: Iterable[Sequence[int]]) -> IdStore:
        """Store sentences given as lists of ids."""
        kept = list(sentences)
        offsets = np.zeros(len(kept) + 1, dtype=np.int64)
        np.cumsum([len(sentence) for sentence in kept], out=offsets[1:])
        ids = np.fromiter(chain.from_iterable(kept), dtype=np.int32, count=int(offsets[-1]))
        return cls(ids, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Ids of each sentence, (sentences,)."""
        return np.diff(self.offsets)


@dataclass(frozen=True)
class PairStore:
    """Sentence pairs as ids, without bos and eos."""

    source: IdStore
    target: IdStore

    def __len__(self) -> int:
        return len(self.source)
