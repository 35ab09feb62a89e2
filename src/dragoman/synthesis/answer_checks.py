"""Checks of the answers of a teacher: which translations are usable, and why the others are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from dragoman.corpus.pair import Languages, Pair
from dragoman.doctor.input import OTHER_LANGUAGE, LanguageChecker, describe_text
from dragoman.errors import shortened
from dragoman.languages.codes import same_language
from dragoman.languages.identify import MIN_WORDS, identify, is_known, other_language, words_of
from dragoman.synthesis.answers import REASONS, Read, Rejected, repair
from dragoman.synthesis.pair_checks import PairChecks
from dragoman.text.placeholders import find_spans, text_between
from dragoman.text.quantities import check_quantities
from dragoman.text.translation import Translation

FIRST_SENTENCES = 100
"""After so many sentences, the share of rejected ones decides whether to go on."""

DESCRIBED_PAIRS = 2000
"""How many pairs show what is usual: lengths, and words of both languages."""

LANGUAGE_PAIRS = 1000
"""With fewer pairs, the n-grams of a language are not known well enough to reject text without them."""

IMPROBABLE = 0.03
"""A translation is rejected if the target language has a lower probability.

Of captions in French, Czech and German, all are below; of English ones of at least four words, none.
"""

_REMEMBERED = 4 * DESCRIBED_PAIRS
"""Sentences whose checks are remembered: the first ones are checked again when it is known what is usual."""

_SHOWN_EXAMPLES = 2
_COPIED_SPANS = ("placeholder", "tag", "link")


@dataclass
class AnswerChecks:
    """Checks translations one by one, compared with what is usual in other pairs.

    Attributes:
        languages: Source and target.
        usual: The checks that compare with other pairs; None without such pairs.
    """

    languages: Languages
    usual: PairChecks | None = None
    _target: LanguageChecker | None = field(default=None, repr=False)

    @classmethod
    def compared_with(cls, pairs: Sequence[Pair], languages: Languages, examples: Sequence[Pair] = ()) -> AnswerChecks:
        """The checks that compare with other answers of the same teacher.

        Args:
            pairs: The answers, most of which are right. With too few, nothing is compared.
            languages: Source and target.
            examples: Pairs by people, which show the languages better than the answers if they are many.
        """
        if len(pairs) < FIRST_SENTENCES:
            return cls(languages)
        source, target = languages
        trained = describe_text([pair.source for pair in pairs], [pair.target for pair in pairs], languages)
        shown = [*examples[:DESCRIBED_PAIRS]] if len(examples) >= LANGUAGE_PAIRS else list(pairs)
        if len(shown) < LANGUAGE_PAIRS:
            return cls(languages, PairChecks(trained, None))
        reverse = describe_text([pair.target for pair in shown], [pair.source for pair in shown], (target, source))
        return cls(languages, PairChecks(trained, None), LanguageChecker(reverse, target, source))

    def check(self, sources: Sequence[str], read: Sequence[Read]) -> list[Read]:
        """Repair and check the translations of sentences that were numbered from 1."""
        return [
            self._check(source, each, number)
            for number, (source, each) in enumerate(zip(sources, read, strict=True), start=1)
        ]

    def _check(self, source: str, answer: Read, number: int) -> Read:
        if isinstance(answer, Rejected):
            return answer
        repaired, quantities = _repair(source, answer, number, self.languages)
        if isinstance(repaired, Rejected):
            return repaired
        problem = next(self._problems(source, repaired, quantities), None)
        return Rejected(problem, answer) if problem else repaired

    def _problems(self, source: str, text: str, quantities: Sequence[str]) -> Iterator[str]:
        checks = self.usual or PairChecks(None, None)
        found = checks.problem(source, Translation(text, problems=list(quantities)))
        if found:
            yield found
        if self._is_other_language(text):
            yield OTHER_LANGUAGE

    def _is_other_language(self, text: str) -> bool:
        """Whether a translation is certainly in another language than the target language."""
        if self._target:
            return self._target.find_other(text) is not None
        return _is_improbable(text, self.languages[1])


@lru_cache(maxsize=_REMEMBERED)
def _repair(source: str, answer: str, number: int, languages: Languages) -> tuple[Read, Sequence[str]]:
    """The repaired translation, and what is wrong with its quantities; both depend on no other answer."""
    repaired = repair(source, answer, number, languages)
    if isinstance(repaired, Rejected):
        return repaired, ()
    return repaired, tuple(quantity_problems(source, repaired, languages))


@lru_cache(maxsize=_REMEMBERED)
def _is_improbable(text: str, target: str) -> bool:
    """Whether a text is in another language, as far as py3langid knows."""
    plain = " ".join(text_between(text, find_spans(text)))
    if not is_known(target) or sum(1 for _ in words_of(plain)) < MIN_WORDS:
        return False
    ranked = identify(plain)
    own = sum(share for code, share in ranked if same_language(code, target))
    return bool(ranked) and own < IMPROBABLE


def quantity_problems(source: str, text: str, languages: Languages) -> Iterator[str]:
    """The placeholders, tags, links and numbers that a translation lacks or adds, such as "missing: {0}"."""
    counts = [
        Counter(each[start:end] for start, end, kind in find_spans(each) if kind in _COPIED_SPANS)
        for each in (source, text)
    ]
    for span in counts[0] - counts[1]:
        yield f"missing: {span}"
    for span in counts[1] - counts[0]:
        yield f"invented: {span}"
    yield from check_quantities(source, text, languages)


@dataclass
class Rejections:
    """How many sentences were kept and rejected, with examples."""

    kept: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def add(self, source: str, answer: Read) -> None:
        """Count the answer for a sentence."""
        if not isinstance(answer, Rejected):
            self.kept += 1
            return
        self.counts[answer.reason] += 1
        examples = self.examples.setdefault(answer.reason, [])
        if len(examples) < _SHOWN_EXAMPLES:
            examples.append((source, answer.text))

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return self.kept + self.counts.total()

    @property
    def share(self) -> float:
        """The share of rejected sentences."""
        return self.counts.total() / max(1, self.sentences)

    def table(self) -> str:
        """The reasons, the most frequent first, with examples."""
        lines = []
        for reason, count in self.counts.most_common():
            meaning = f" ({REASONS[reason]})" if reason in REASONS else ""
            lines.append(f"  {count:>6,}  {reason}{meaning}")
            lines += [
                f"          {shortened(source)!r} → {shortened(' '.join(text.split()))!r}"
                for source, text in self.examples[reason]
            ]
        return "\n".join(lines)


def explain_language(translations: Sequence[str], languages: Languages) -> str | None:
    """What is wrong with the language of most translations; None if nothing is."""
    source, target = languages
    found = other_language(translations, target, source)
    return f"most translations look like {found}, not {target}" if found else None
