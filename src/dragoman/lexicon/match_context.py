"""Sources with the translation of a similar sentence: source, separator, target of the match (Bulté and Tezcan 2019).

The separator is bos, which sources do not contain and texts are never encoded as.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from dragoman.text.masking import KINDS
from dragoman.text.placeholders import SpanKind
from dragoman.text.tokenizer import Tokenizer


class MatchContext:
    """Adds matches to sources; source and target have a joint vocabulary.

    Reserved tokens of the match become those of the source: the first number of one stands for the first number of the
    other, and so on. Those that have no counterpart are left out, so that a source never gets more of them.

    Args:
        tokenizer: The tokenizer of the source.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._separator = tokenizer.vocabulary.bos
        self._kinds = {index: KINDS[tokenizer.vocabulary.tokens[index]] for index in tokenizer.reserved_ids}
        self._of_kind: dict[SpanKind, list[int]] = defaultdict(list)
        for index, kind in self._kinds.items():
            self._of_kind[kind].append(index)

    def number_spans(self, ids: Sequence[int]) -> list[int]:
        """A sentence with its reserved tokens numbered in their order, so that similar sentences have the same ones."""
        numbers = self._numbers(ids)
        return [numbers.get(index, index) for index in ids]

    def context(self, source: Sequence[int], match: tuple[Sequence[int], Sequence[int]]) -> list[int]:
        """What follows a source: the separator, and the target of a match, which is a source with its target."""
        ours = {number: index for index, number in self._numbers(source).items()}
        theirs = {index: ours.get(number) for index, number in self._numbers(match[0]).items()}
        target = (theirs.get(index) if index in self._kinds else index for index in match[1])
        return [self._separator, *(index for index in target if index is not None)]

    def _numbers(self, ids: Iterable[int]) -> dict[int, int]:
        """The reserved tokens of a sentence, and those that they are if numbered in their order."""
        remaining = {kind: iter(tokens) for kind, tokens in self._of_kind.items()}
        return {index: next(remaining[self._kinds[index]]) for index in dict.fromkeys(ids) if index in self._kinds}
