"""Checks of synthetic pairs: why a pair is left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

from dragoman.bundle import Bundle
from dragoman.doctor.input import OTHER_LANGUAGE, LanguageChecker, TrainingText
from dragoman.doctor.output.text_checks import check_sentence
from dragoman.errors import UserError
from dragoman.text.translation import Translation

FIRST_LINES = 200
"""How many lines are read before the first one is translated, to check their language."""

MAX_OTHER = 0.3
"""Share of these lines that may be in another language; many are too short to be recognized."""

MIN_LINES = 10
"""With fewer lines, more of them must be in another language."""


@dataclass(frozen=True)
class PairChecks:
    """Compares texts and their translations with what is usual in the training text of a bundle.

    Attributes:
        trained: The description of the training text; bundles that were imported or made by older versions have none.
        language: Recognizes texts in other languages than the source language of the bundle.
    """

    trained: TrainingText | None
    language: LanguageChecker | None

    @classmethod
    def of_bundle(cls, bundle: Bundle) -> PairChecks:
        """The checks for translations by a bundle; raises UserError if it is damaged."""
        trained, data = bundle.table("training_text", TrainingText), bundle.recipe.data
        languages = data.source_language, data.target_language
        return cls(trained, LanguageChecker(trained, *languages) if trained else None)

    def problem(self, text: str, translation: Translation) -> str | None:
        """Why a text with its translation is left out, with the words of the summary; None if it is not."""
        return next(self._problems(text, translation), None)

    def is_other_language(self, text: str) -> bool:
        """Whether a text is probably not in the source language of the bundle."""
        return self.language is not None and self.language.find_other(text) is not None

    def _problems(self, text: str, translation: Translation) -> Iterator[str]:
        if translation.truncated:
            yield "longer than the model reads"
        if translation.problems:
            yield "placeholders, URLs or numbers"
        yield from check_sentence(text, translation.text, self.trained)
        if self.is_other_language(text):
            yield OTHER_LANGUAGE


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
    return require_language(lines, PairChecks.of_bundle(bundle).language, name, source, advice)


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
