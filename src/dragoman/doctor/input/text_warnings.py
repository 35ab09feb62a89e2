"""Warnings about texts that do not resemble the training text of a translator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dragoman.bundle import Bundle
from dragoman.doctor.input.text_forms import has_several_sentences, is_in_capitals, is_single_word
from dragoman.doctor.input.training_text import TrainingText, script_shares
from dragoman.text.language_profile import words_of

RARE = 0.002  # forms that fewer training lines have are reported
FOREIGN_LETTERS = 0.5  # share of the letters of a line that are in a script of which the training text has few
MUCH_LONGER = 1.5  # times the longest training lines
MIN_EVIDENCE = 6.5  # nats; at least three words, as each contributes at most `MAX_EVIDENCE`


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

    Imported bundles and those of older versions do not describe their training text, so there are no warnings.

    Raises:
        UserError: The bundle is damaged.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._trained = bundle.table("training_text", TrainingText)
        self._lowercase = bundle.recipe.text.lowercase
        self._target_language = bundle.recipe.data.target_language

    def check(self, number: int, text: str) -> list[TextWarning]:
        """What is unusual about a text."""
        if self._trained is None:
            return []
        return check_with(self._trained, number, text.lower() if self._lowercase else text, self._target_language)


def check_with(trained: TrainingText, number: int, text: str, target_language: str) -> list[TextWarning]:
    """What is unusual about a text, compared with the description of a training text."""
    found = _compare(text, trained, target_language)
    return [TextWarning(number, kind, message) for kind, message in found]


def check_texts(bundle: Bundle, texts: Iterable[str]) -> list[TextWarning]:
    """What is unusual about texts, compared with the training text of a translator; see `TextChecker`.

    >>> dragoman.doctor.check_texts(translator.bundle, ["EIN HUND LÄUFT."])
    """
    checker = TextChecker(bundle)
    return [warning for number, text in enumerate(texts, start=1) for warning in checker.check(number, text)]


def _compare(text: str, trained: TrainingText, target_language: str) -> Iterator[tuple[str, str]]:
    """The kinds and messages of the warnings about a text. A text in another language has no other warning."""
    if sum(trained.evidence.get(word, 0.0) for word in set(words_of(text))) < -MIN_EVIDENCE:
        yield "target-language", f"looks like {target_language}, the language to translate into"
        return
    if script := _foreign_script(text, trained):
        yield "script", f"is in {script} script, which the training text never or hardly ever contains"
        return
    if trained.capitals < RARE and is_in_capitals(text):
        yield "capitals", "is in capital letters; few or no lines of the training text are"
    if trained.single_words < RARE and is_single_word(text):
        yield "single-word", "is a single word; the model was trained on sentences"
    if trained.several_sentences < RARE and has_several_sentences(text):
        yield "several-sentences", "contains several sentences; the model was trained on one per line"
    if len(text) > MUCH_LONGER * trained.longest:
        usual = f"nearly all lines of the training text have at most {trained.longest:,}"
        yield "long", f"has {len(text):,} characters; {usual}"


def _foreign_script(text: str, trained: TrainingText) -> str | None:
    """The script of most letters, if the training text has few letters of it."""
    if text.isascii() and "Latin" in trained.scripts:
        return None  # fast
    for script, share in script_shares([text]).items():
        if share >= FOREIGN_LETTERS and trained.scripts.get(script, 0.0) < RARE:
            return script
    return None
