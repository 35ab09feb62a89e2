"""Two translators on the same pairs: is one better, or was it luck, and where do they differ?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from dragoman.evaluation.error_analysis import sentence_scores
from dragoman.evaluation.evaluate import Report, evaluate
from dragoman.translator import Translator

METHODS: dict[Literal["bs", "ar"], str] = {"bs": "paired bootstrap", "ar": "approximate randomisation"}


@dataclass(frozen=True)
class Significance:
    """A test of the difference between two scores.

    `p_value` is how probable a difference at least as large would be if there was none between the
    translators. `signature` is sacreBLEU's, with the number of samples or trials and their seed.
    """

    metric: str
    method: str
    first: float
    second: float
    p_value: float
    signature: str


@dataclass(frozen=True)
class Difference:
    """One pair and both translations of it, with the chrF of each."""

    source: str
    reference: str
    first: str
    second: str
    first_chrf: float
    second_chrf: float


@dataclass(frozen=True)
class Comparison:
    """Two translators side by side; `differences` has those pairs first whose chrF differs most."""

    first: Report
    second: Report
    significance: list[Significance]
    differences: list[Difference]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def compare(first: Translator, second: Translator, sources: Sequence[str], references: Sequence[str]) -> Comparison:
    """Scores of two translators, tests of their difference, and where they differ.

    Args:
        first: One of them, the baseline of the tests.
        second: The other.
        sources: Texts to translate.
        references: The right translation of each.
    """
    (one, ones), (two, twos) = (evaluate(each, sources, references) for each in (first, second))
    before, after = sentence_scores(ones, references), sentence_scores(twos, references)
    differences = [
        Difference(sources[index], references[index], ones[index], twos[index], round(was, 2), round(now, 2))
        for index, (was, now) in enumerate(zip(before, after, strict=True))
        if ones[index] != twos[index]
    ]
    differences.sort(key=lambda each: -abs(each.second_chrf - each.first_chrf))
    return Comparison(one, two, significance(ones, twos, references) if differences else [], differences)


def significance(first: Sequence[str], second: Sequence[str], references: Sequence[str]) -> list[Significance]:
    """Paired bootstrap (Koehn 2004) and approximate randomisation (Riezler and Maxwell 2005) of BLEU and chrF."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.significance import PairedTest

    found = []
    systems: list[tuple[str, Sequence[str]]] = [("first", first), ("second", second)]
    for key, method in METHODS.items():
        metrics = {"BLEU": BLEU(references=[list(references)]), "chrF": CHRF(references=[list(references)])}
        signatures, scores = PairedTest(systems, metrics, references=None, test_type=key)()
        for name, signature in signatures.items():
            results: Any = scores[name]
            was, now = (float(result.score) for result in results)
            # sacreBLEU counts only what is larger than the difference, and so takes none at all for a certain one
            p_value = 1.0 if was == now else float(results[1].p_value)
            found.append(Significance(name, method, was, now, p_value, signature.format()))
    return found
