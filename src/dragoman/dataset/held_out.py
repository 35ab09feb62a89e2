"""Text that is held out to validate and test on, and that nothing may be learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from dragoman.corpus.pair import Pair
from dragoman.text.normalization import collapse_spaces, simplify


@dataclass(frozen=True)
class HeldOutText:
    """The pairs to validate and test on; no pair to learn from may have the same text on a side.

    Attributes:
        pairs: The pairs.
        ignore_punctuation: Whether text that differs only in case and punctuation is the same. Differences in spaces
            never count: tokenizers do not distinguish spaces either.
    """

    pairs: Sequence[Pair]
    ignore_punctuation: bool = False

    def __contains__(self, pair: Pair) -> bool:
        """Whether a pair has a side in common with a held-out pair."""
        sources, targets = self._sides
        return self._key(pair.source) in sources or self._key(pair.target) in targets

    def _key(self, text: str) -> str:
        return simplify(text) if self.ignore_punctuation else collapse_spaces(text)

    @cached_property
    def _sides(self) -> tuple[set[str], set[str]]:
        sources = {self._key(pair.source) for pair in self.pairs}
        targets = {self._key(pair.target) for pair in self.pairs}
        return sources - {""}, targets - {""}
