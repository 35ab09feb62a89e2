"""Distilled pairs: each target is replaced by one of several translations of the source (Kim and Rush 2016).

With a reference, the most similar candidate is chosen, which they call sequence-level interpolation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any

import torch

from dragoman.corpus.pair import Languages, Pair
from dragoman.evaluation.metrics import sentence_chrf
from dragoman.settings import Distillation
from dragoman.settings.decoding import PLAIN_SEARCH
from dragoman.synthesis.block import PairBlock
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.synthesis.identity import identify_bundle, identify_translator
from dragoman.synthesis.pair_checks import TOO_LONG, PairFilter
from dragoman.text.normalization import collapse_spaces
from dragoman.text.translation import Translation
from dragoman.translator import Translator


@dataclass(frozen=True)
class Distiller:
    """Makes distilled pairs, and leaves out those whose candidates all have problems.

    Attributes:
        teachers: The bundles of the translator.
        translator: Returns the candidates of each source.
        back: Translates candidates without a reference back.
    """

    teachers: BundleEnsemble
    translator: Translator
    back: Translator | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the pairs that are made: the teachers, and the translator that translates back."""
        return {
            **identify_translator(self.translator),
            "bundles": [identify_bundle(bundle) for bundle in self.teachers.bundles],
            "back": self.back and identify_translator(self.back),
        }

    def make(self, pairs: Sequence[Pair]) -> PairBlock:
        """The distilled pairs, in order, and the number of those left out for each reason."""
        written = [pair for pair in pairs if pair.source.strip()]
        left_out = Counter({"blank": len(pairs) - len(written)})
        pair_filter = PairFilter(self._languages, in_any_language=True)
        found: list[tuple[Pair, list[Translation]]] = []
        for pair, first in zip(written, self.translator.stream([pair.source for pair in written]), strict=True):
            candidates = [first, *first.alternatives]
            problems = [
                TOO_LONG if each.truncated else pair_filter.problem(pair.source, collapse_spaces(each.text))
                for each in candidates
            ]
            if good := [each for each, problem in zip(candidates, problems, strict=True) if problem is None]:
                found.append((pair, good))
            else:
                left_out[str(problems[0])] += 1
        scores = iter(self._score([(pair, each) for pair, good in found for each in good]))
        kept = []
        for pair, good in found:
            best = max(zip(islice(scores, len(good)), good, strict=True), key=itemgetter(0))[1]
            kept.append(pair._replace(target=collapse_spaces(best.text)))
        return PairBlock(kept, +left_out)

    def compared_with(self, made: Sequence[Pair]) -> Callable[[Pair], Pair | str]:
        """What returns a pair, or says why it is left out, compared with others that were made."""
        pair_filter = PairFilter.compared_with(made, self._languages)
        return lambda pair: pair_filter.problem(pair.source, pair.target) or pair

    @property
    def _languages(self) -> Languages:
        return self.translator.bundle.recipe.data.languages

    def _score(self, candidates: Sequence[tuple[Pair, Translation]]) -> Sequence[float]:
        """How good each candidate is, compared with others for the same source; all pairs have a target, or none."""
        texts = [each.text for _, each in candidates]
        if all(pair.target for pair, _ in candidates):
            return sentence_chrf(texts, [pair.target for pair, _ in candidates])
        if self.back:
            returned = [each.text for each in self.back.stream(texts)]
            return sentence_chrf(returned, [pair.source for pair, _ in candidates])
        return [each.score for _, each in candidates]


def open_distiller(settings: Distillation, languages: Languages, device: torch.device) -> Distiller:
    """What makes the pairs of a recipe.

    Raises:
        UserError: A bundle is missing or damaged, or does not translate the languages.
    """
    teachers, number = BundleEnsemble.load(settings.teachers, languages), settings.candidates
    beam_size = max(number, teachers.bundles[0].recipe.decoding.beam_size)
    translator = teachers.open_in_int8_if_possible(device, n_best=number, beam_size=beam_size, **PLAIN_SEARCH)
    if settings.round_trip is None:
        return Distiller(teachers, translator)
    back = BundleEnsemble.load([settings.round_trip], languages[::-1])
    return Distiller(teachers, translator, back.open_in_int8_if_possible(device, n_best=1, neighbors=None))
