"""Which source words a translation depends on: how its probability changes without each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.engines.scoring import score_targets
from dragoman.errors import UserError
from dragoman.explanation.tokens import TokenSequence, Word

Values = NDArray[np.float32]


@dataclass(frozen=True)
class Influence:
    """The probabilities of a translation with the whole source, and without each of its words.

    Attributes:
        words: The source words, with their ranges of tokens in `AttentionMap.source`.
        target: The tokens of the translation, eos included, as in `AttentionMap.target_output`.
        log_probabilities: Of each target token, given the whole source and the tokens before it, (target,), in nats.
        without: The same without each source word, (source words, target).
    """

    words: list[Word]
    target: TokenSequence
    log_probabilities: Values
    without: Values

    @property
    def decrease(self) -> Values:
        """By how many nats the log-probability of each target token is lower without each source word.

        (target, source words). Negative values: the token is more probable without the word.
        """
        return np.asarray((self.log_probabilities - self.without).T)

    def by_word(self) -> Values:
        """The same for the words of the translation, (target words, source words): the sum over their tokens."""
        return np.asarray(np.add.reduceat(self.decrease, self.target.starts, axis=0))

    @property
    def total(self) -> Values:
        """By how many nats the log-probability of the whole translation is lower without each word, (source words,)."""
        return np.asarray(self.decrease.sum(axis=0))


def removable_words(bundle: Bundle, source: Sequence[int]) -> list[Word]:
    """The words of a source that can be left out: all but the token of the language.

    Args:
        bundle: The translator.
        source: Ids of the text, without eos.
    """
    words = TokenSequence.from_ids(bundle.source, source).words if source else []
    return [word for word in words if source[word.start] not in bundle.source.language_ids]


def remove_words(ids: Sequence[int], words: Iterable[Word]) -> list[int]:
    """The ids of a source without the tokens of some of its words."""
    removed = {index for word in words for index in range(word.start, word.end)}
    return [each for index, each in enumerate(ids) if index not in removed]


def leave_out(bundle: Bundle, source: Sequence[int], indices: Collection[int]) -> list[int]:
    """The ids of a source without the words of these indices among its `removable_words`.

    Raises:
        UserError: There is no such word, or no other word.
    """
    words = removable_words(bundle, source)
    if wrong := [index for index in indices if not 0 <= index < len(words)]:
        raise UserError(f"there is no source word with the index {wrong[0]}: there are {len(words)}, counted from 0")
    if len(set(indices)) == len(words):
        raise UserError("without all of its words, the text contains no word to translate")
    return remove_words(source, [words[index] for index in indices])


def score_each_source(bundle: Bundle, sources: Sequence[Sequence[int]], target: Sequence[int]) -> Values:
    """The log-probabilities of the tokens of one translation and of eos for each source, (sources, target).

    Args:
        bundle: The translator.
        sources: Ids of each source, without eos.
        target: Ids of the translation, without bos and eos.
    """
    scores = score_targets([bundle.model], bundle, sources, [target] * len(sources))
    return np.array([each.log_probabilities for each in scores], dtype=np.float32).reshape(len(sources), -1)


def measure_influence(bundle: Bundle, source: Sequence[int], target: Sequence[int]) -> Influence:
    """Score the same translation without each source word, whose tokens are left out.

    This costs one pass of the model over as many sentence pairs as the source has words.

    Args:
        bundle: The translator.
        source: Ids of the text, without eos.
        target: Ids of its translation, without bos and eos.
    """
    words = removable_words(bundle, source)
    variants = [list(source), *(remove_words(source, [word]) for word in words)]
    values = score_each_source(bundle, variants, target)
    output = TokenSequence.from_ids(bundle.target, [*target, bundle.target.vocabulary.eos])
    return Influence(words, output, values[0], values[1:])
