"""Back-translated pairs: the source of each pair is replaced by a translation of the target (Sennrich et al. 2016)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.corpus.pair import Languages, Pair
from dragoman.evaluation.metrics import sentence_chrf
from dragoman.settings.decoding import PLAIN_SEARCH
from dragoman.synthesis.block import PairBlock
from dragoman.synthesis.identity import identify_translator
from dragoman.synthesis.pair_checks import TOO_LONG, PairFilter
from dragoman.text.noise import noise_translation
from dragoman.text.normalization import collapse_spaces
from dragoman.text.translation import Translation
from dragoman.translator import Translator

NOISED = "noised-beam"
METHODS: dict[str, Mapping[str, Any]] = {
    "beam": {**PLAIN_SEARCH, "n_best": 1},
    "greedy": {**PLAIN_SEARCH, "beam_size": 1, "n_best": 1},
    "sampling": {"sampling": True, "n_best": 1, "mbr_samples": 0, "neighbors": None},
    NOISED: {**PLAIN_SEARCH, "n_best": 1},
}
"""Settings of the search by the name of the method."""


@dataclass(frozen=True)
class RoundTrip:
    """Translates synthetic sides back, and rejects those that are too different from the text that they come from.

    Attributes:
        translator: Translates in the other direction.
        minimum: The lowest chrF of a translation that is not rejected, 0 to 100.
    """

    translator: Translator
    minimum: float

    def is_rejected(self, translations: Sequence[str], texts: Sequence[str]) -> list[bool]:
        """Whether each translation is rejected."""
        back = [each.text for each in self.translator.stream(translations)]
        return [score < self.minimum for score in sentence_chrf(back, texts)]


@dataclass(frozen=True)
class BackTranslator:
    """Makes back-translated pairs, and leaves out those with problems.

    Attributes:
        translator: Translates targets into the source language.
        noised: Whether noise is added to the translations.
        round_trip: Translates back.
    """

    translator: Translator
    noised: bool = False
    round_trip: RoundTrip | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the pairs that `make` returns: the translators, but not the noise, which is added later."""
        back = self.round_trip
        return {
            **identify_translator(self.translator),
            "round_trip": back and [identify_translator(back.translator), back.minimum],
        }

    def make(self, pairs: Sequence[Pair]) -> PairBlock:
        """The pairs, in order, and the number of those left out for each reason."""
        left_out: Counter[str] = Counter()
        written = [pair for pair in pairs if any(map(str.isalpha, pair.target))]
        if blank := sum(not pair.target.strip() for pair in pairs):
            left_out["blank"] = blank
        if without := len(pairs) - len(written) - blank:
            left_out["without words"] = without
        texts = [pair.target for pair in written]
        translations = list(self.translator.stream(texts))
        kept: list[Pair] = []
        pair_filter = PairFilter(self._languages, in_any_language=True)
        for pair, translation, rejected in zip(written, translations, self._reject(texts, translations), strict=True):
            made = pair._replace(source=collapse_spaces(translation.text))
            problem = TOO_LONG if translation.truncated else pair_filter.problem(pair.target, made.source)
            problem = problem or ("already in the text" if made == pair else "round trip" if rejected else None)
            if problem:
                left_out[problem] += 1
            else:
                kept.append(made)
        return PairBlock(kept, left_out)

    def compared_with(self, made: Sequence[Pair]) -> Callable[[Pair], Pair | str]:
        """What adds noise to a pair, or says why it is left out, compared with others that were made."""
        pair_filter = PairFilter.compared_with([pair.reversed for pair in made], self._languages)
        return lambda pair: pair_filter.problem(pair.target, pair.source) or self._add_noise(pair)

    @property
    def _languages(self) -> Languages:
        return self.translator.bundle.recipe.data.languages

    def _reject(self, texts: Sequence[str], translations: Sequence[Translation]) -> list[bool]:
        if self.round_trip is None:
            return [False] * len(texts)
        return self.round_trip.is_rejected([each.text for each in translations], texts)

    def _add_noise(self, pair: Pair) -> Pair:
        if not self.noised:
            return pair
        return pair._replace(source=noise_translation(pair.target, pair.source, self.translator.decoding.seed))
