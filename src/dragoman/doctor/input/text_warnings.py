"""Warnings about texts that do not resemble the training text of a translator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dragoman.bundle import Bundle
from dragoman.corpus.pair import Languages
from dragoman.doctor.input.source_language import SourceLanguage
from dragoman.doctor.input.text_forms import has_several_sentences, is_in_capitals, is_single_word
from dragoman.doctor.input.training_text import TrainingText
from dragoman.text.masked_text import masking_of
from dragoman.text.usual_case import UsualCase

RARE = 0.002  # forms that fewer training lines have are reported
MUCH_LONGER = 1.5  # times the longest training lines


@dataclass(frozen=True)
class TextWarning:
    """Why a text may be translated badly.

    Attributes:
        number: Number of the text, from 1.
        kind: What is unusual; the names never change.
        message: What is unusual, in words that follow the name of the text.
    """

    number: int
    kind: str
    message: str


class TextChecker:
    """Compares texts with the training text of a translator.

    Args:
        trained: The description of the training text; without it, there are no warnings.
        languages: Its languages.
        lowercase: Whether the translator converts texts to lower case.
        case: In which the translator writes sentences in capital letters, if it does.
    """

    def __init__(
        self,
        trained: TrainingText | None,
        languages: Languages,
        lowercase: bool = False,
        case: UsualCase | None = None,
    ) -> None:
        self._trained, self._lowercase, self._case = trained, lowercase, case
        self._language = trained and SourceLanguage(trained, *languages)

    @classmethod
    def of(cls, bundle: Bundle) -> TextChecker:
        """The checker for a bundle; imported ones and those of older versions do not describe their training text.

        Raises:
            UserError: The bundle is damaged.
        """
        data = bundle.recipe.data
        languages = data.source_language, data.target_language
        masking, trained = masking_of(bundle.source), bundle.table("training_text", TrainingText)
        return cls(trained, languages, bundle.recipe.text.lowercase, masking.case if masking else None)

    def check(self, number: int, text: str) -> list[TextWarning]:
        """What is unusual about a text. A text in another language has no other warning."""
        if not self._trained or not self._language:
            return []
        text = text.lower() if self._lowercase else self._case.apply(text)[0] if self._case else text
        other = self._language.find_other(text)
        found = [other] if other else _compare(text, self._trained)
        return [TextWarning(number, kind, message) for kind, message in found]


def check_texts(bundle: Bundle, texts: Iterable[str]) -> list[TextWarning]:
    """What is unusual about texts, compared with the training text of a translator; see `TextChecker`.

    >>> dragoman.doctor.check_texts(translator.bundle, ["EIN HUND LÄUFT."])
    """
    checker = TextChecker.of(bundle)
    return [warning for number, text in enumerate(texts, start=1) for warning in checker.check(number, text)]


def _compare(text: str, trained: TrainingText) -> Iterator[tuple[str, str]]:
    """The kinds and messages of the warnings about a text in the source language."""
    if trained.capitals < RARE and is_in_capitals(text):
        yield "capitals", "is in capital letters, unlike nearly all lines of the training text"
    if trained.single_words < RARE and is_single_word(text):
        yield "single-word", "is a single word; the model was trained on sentences"
    if trained.several_sentences < RARE and has_several_sentences(text):
        yield "several-sentences", "contains several sentences; the model was trained on one per line"
    if len(text) > MUCH_LONGER * trained.longest:
        usual = f"nearly all lines of the training text have at most {trained.longest:,}"
        yield "long", f"has {len(text):,} characters; {usual}"
