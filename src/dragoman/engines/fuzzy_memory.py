"""Translation memories as context of models that were trained with fuzzy matches."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.bundle import Bundle
from dragoman.corpus.memory import TranslationMemory
from dragoman.lexicon.match_context import MatchContext
from dragoman.lexicon.match_index import MatchIndex
from dragoman.text.id_store import IdStore
from dragoman.text.match import NO_MATCH, Match


def reads_matches(bundle: Bundle) -> bool:
    """Whether the model was trained with fuzzy matches."""
    return bundle.recipe.training.augmentation.fuzzy_matches > 0


class FuzzyMemory:
    """Finds segments of a translation memory that are similar to a text.

    Args:
        memory: The segments with their translations.
        bundle: The translator, which `reads_matches`.
        limit: Maximum number of tokens that the engine reads, eos included; a member of an ensemble may read fewer.
    """

    def __init__(self, memory: TranslationMemory, bundle: Bundle, limit: int) -> None:
        self._bundle, self._context = bundle, MatchContext(bundle.source)
        self._longest = min(bundle.recipe.data.max_tokens, limit - 1)
        segments = memory.segments
        masked = [mask.text for mask in bundle.source.mask(list(segments))]
        encoded = map(self._context.number_spans, bundle.source.encode_masked(masked))
        groups = {tuple(ids): pair for ids, pair in zip(encoded, segments.items(), strict=True)}
        self._pairs = list(groups.values())  # of segments that differ only in masked spans, the last one
        self._index = MatchIndex(IdStore.of(groups))

    def find(self, ids: Sequence[int]) -> tuple[list[int], Match]:
        """What follows the ids of a text as its context, and the similarity of the match.

        There is no context if no segment is similar enough, or if the source would be longer than in training.
        """
        found = self._index.find(self._context.number_spans(ids))
        if found is None:
            return [], NO_MATCH
        context = self._context.context(ids, self._encode(*self._pairs[found.index]))
        if len(ids) + len(context) > self._longest:
            return [], NO_MATCH
        return context, Match("fuzzy", found.score)

    def _encode(self, source: str, target: str) -> tuple[list[int], list[int]]:
        """The ids of a segment and of its translation, with the same reserved token for the same span."""
        (mask,) = self._bundle.source.mask([source])
        masked = mask.apply(target) if self._bundle.source.masking else target
        return self._bundle.source.encode_masked([mask.text])[0], self._bundle.target.encode_masked([masked])[0]
