"""Which synthetic pairs are kept: one filter for the translations of bundles, services and language models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, islice

from dragoman.bundle import Bundle
from dragoman.corpus.pair import Languages, Pair
from dragoman.doctor.input import OTHER_LANGUAGE, LanguageChecker, TrainingText, describe_text
from dragoman.doctor.output.text_checks import check_sentence
from dragoman.errors import UserError
from dragoman.languages.codes import same_language
from dragoman.languages.identify import MIN_WORDS, identify, is_known, words_of
from dragoman.synthesis.sentence_groups import LONGEST_SENTENCE
from dragoman.text.placeholders import find_spans, text_between
from dragoman.text.quantities import check_quantities

DESCRIBED_PAIRS = 2000
"""How many pairs show what is usual: lengths, and words of both languages."""

MIN_DESCRIBED = 100
"""With fewer pairs, nothing is compared."""

LANGUAGE_PAIRS = 1000
"""With fewer pairs, the n-grams of a language are not known well enough to reject text without them."""

MAX_LENGTH_DEVIATION = 0.2
"""The most that `log_length_ratio` deviates where people have translated: 0.10 to 0.17 in 12 corpora in 5 languages.

The answers of a bad teacher vary more (0.3 to 0.5), and would hide those that are cut off.
"""

IMPROBABLE = 0.03
"""A side of a pair with at least `MIN_WORDS` is in another language if its own has a lower probability.

Of captions in other languages, 99.8 % are below; of 10,500 sentences of seven corpora, 0.09 %, such as SQL.
"""

LOST_SPANS = "placeholders, URLs or numbers"
"""The reason for a translation that lacks or adds one."""

TOO_LONG = "longer than the model reads"
"""The reason for a text of which a bundle has translated only the beginning."""

_REMEMBERED = 4 * DESCRIBED_PAIRS
"""Pairs whose checks are remembered: the first ones are checked again when it is known what is usual."""

_COPIED_SPANS = ("placeholder", "tag", "link")

FIRST_LINES = 200
"""How many lines are read before the first one is translated, to check their language."""

MAX_OTHER = 0.3
"""Share of these lines that may be in another language; many are too short to be recognized."""

MIN_LINES = 10
"""With fewer lines, more of them must be in another language."""


@dataclass(frozen=True)
class PairFilter:
    """Finds bad pairs. It knows only texts, so that it decides the same for every kind of teacher.

    Attributes:
        languages: Those of the text and of its translation.
        usual: Describes other pairs, with which lengths are compared; None to compare nothing.
        in_any_language: Whether languages are not checked, because the pairs will be compared with others later.
    """

    languages: Languages
    usual: TrainingText | None = None
    in_any_language: bool = False
    _target: LanguageChecker | None = field(default=None, repr=False)

    @classmethod
    def compared_with(cls, pairs: Sequence[Pair], languages: Languages, examples: Sequence[Pair] = ()) -> PairFilter:
        """The filter that compares with other pairs.

        Args:
            pairs: Texts with their translations by the same teacher, most of which are right.
            languages: Those of texts and translations.
            examples: Pairs by people, which show better what is usual if there are enough of them.
        """
        pairs, examples = pairs[:DESCRIBED_PAIRS], examples[:DESCRIBED_PAIRS]
        lengths = examples if len(examples) >= MIN_DESCRIBED else pairs
        if len(lengths) < MIN_DESCRIBED:
            return cls(languages)
        usual = _describe(lengths, languages)
        assert usual.length_deviation is not None
        usual = usual.model_copy(update={"length_deviation": min(usual.length_deviation, MAX_LENGTH_DEVIATION)})
        shown = examples if len(examples) >= LANGUAGE_PAIRS else pairs
        if len(shown) < LANGUAGE_PAIRS:
            return cls(languages, usual)
        backwards = _describe([pair.reversed for pair in shown], languages[::-1])
        return cls(languages, usual, _target=LanguageChecker(backwards, *languages[::-1]))

    def problem(self, text: str, translation: str) -> str | None:
        """Why a text with its translation is left out, with the words of the summary; None if it is not."""
        return next(self._problems(text, translation), None)

    def _problems(self, text: str, translation: str) -> Iterator[str]:
        if len(translation) > LONGEST_SENTENCE:
            yield "too long"
        yield from check_sentence(text, translation, self.usual)
        if quantity_problems(text, translation, self.languages):
            yield LOST_SPANS
        if not self.in_any_language and (self._is_other_source(text) or self._is_other_language(translation)):
            yield OTHER_LANGUAGE

    @cached_property
    def _source(self) -> LanguageChecker | None:
        return LanguageChecker(self.usual, *self.languages) if self.usual else None

    def _is_other_source(self, text: str) -> bool:
        """Whether a text is certainly in another language than the source language, as far as py3langid knows."""
        is_usual = self._source is not None and self._source.find_other(text) is None  # fast
        return not is_usual and is_improbable(text, self.languages[0])

    def _is_other_language(self, translation: str) -> bool:
        """Whether a translation is certainly in another language than the target language."""
        if self._target:
            return self._target.find_other(translation) is not None
        return is_improbable(translation, self.languages[1])


def _describe(pairs: Sequence[Pair], languages: Languages) -> TrainingText:
    return describe_text([pair.source for pair in pairs], [pair.target for pair in pairs], languages)


@lru_cache(maxsize=_REMEMBERED)
def is_improbable(text: str, language: str) -> bool:
    """Whether a text is in another language, as far as py3langid knows."""
    plain = " ".join(text_between(text, find_spans(text)))
    if not is_known(language) or sum(1 for _ in words_of(plain)) < MIN_WORDS:
        return False
    ranked = identify(plain)
    own = sum(share for code, share in ranked if same_language(code, language))
    return bool(ranked) and own < IMPROBABLE


@lru_cache(maxsize=_REMEMBERED)
def quantity_problems(source: str, text: str, languages: Languages) -> Sequence[str]:
    """The placeholders, tags, links and numbers that a translation lacks or adds, such as "missing: {0}"."""
    counts = [
        Counter(each[start:end] for start, end, kind in find_spans(each) if kind in _COPIED_SPANS)
        for each in (source, text)
    ]
    missing = (f"missing: {span}" for span in counts[0] - counts[1])
    invented = (f"invented: {span}" for span in counts[1] - counts[0])
    return [*missing, *invented, *check_quantities(source, text, languages)]


def check_language(lines: Iterator[str], bundle: Bundle, name: str) -> Iterator[str]:
    """The lines of a text, if the first ones are in the language that a bundle translates from.

    Args:
        lines: The lines; no more than the first ones are read at once.
        bundle: The bundle that will translate them.
        name: The name of the text, for the error.

    Raises:
        UserError: Too many of the first lines look like another language.
    """
    source, target = bundle.recipe.data.source_language, bundle.recipe.data.target_language
    advice = (
        f"{bundle.origin} translates from {source} into {target}; remove these lines, or use a bundle of another "
        "direction"
    )
    trained = bundle.table("training_text", TrainingText)
    language = LanguageChecker(trained, source, target) if trained else None
    return require_language(lines, language, name, source, advice)


def require_language(
    lines: Iterator[str], language: LanguageChecker | None, name: str, expected: str, advice: str
) -> Iterator[str]:
    """Check that the first lines of a text look like a language, and return all lines.

    Args:
        lines: The lines; no more than the first ones are read at once.
        language: Recognizes the language; None if nothing does, and every text is accepted.
        name: The name of the text, for the error.
        expected: The language, for the error.
        advice: What the user can do, for the error.

    Raises:
        UserError: Too many of the first lines look like another language.
    """
    first = list(islice(lines, FIRST_LINES))
    texts = list(filter(str.strip, first))
    other = sum(language.find_other(text) is not None for text in texts) if language else 0
    if other > MAX_OTHER * max(len(texts), MIN_LINES):
        raise UserError(f"{name}: {other:,} of the first {len(texts):,} lines do not look like {expected}; {advice}")
    return chain(first, lines)
