"""Recognizing texts that are not in the language that a translator translates from."""

from __future__ import annotations

from dragoman.doctor.input.training_text import TrainingText
from dragoman.languages.identify import LanguageProfile, identify, words_of
from dragoman.languages.scripts import script_shares
from dragoman.text.placeholders import find_spans, text_between

OTHER_LANGUAGE = "other language"
"""The problem of a text that is not in the language that a translator translates from."""

RARE_SCRIPT = 0.002  # share of the letters of the training text
FOREIGN_LETTERS = 0.5  # share of the letters of a text that are in a script of which the training text has few
MIN_EVIDENCE = 6.5  # nats; at least three words, as each contributes at most `MAX_EVIDENCE`
ENOUGH_EVIDENCE = 1.5  # nats; one frequent word of the source language among names, such as "Apple und Google"
MUCH_EVIDENCE = 4.0  # nats; two words, as many languages share one, such as "des"
MIN_WORDS = 5  # names and titles are often in another language …
FEW_WORDS = 3  # … unless so many words have evidence for the target language
MAX_PROBABILITY = 0.05  # of the source language; of texts in it, in six corpora of other kinds, 0.01 % are below
MIN_PROBABILITY = 0.99  # of the target language, for texts of few words


class SourceLanguage:
    """The source language of a training text.

    Args:
        trained: The description of the training text. If an older version made it, without n-grams, fewer texts are
            recognized.
        source: Code of the source language.
        target: Code of the target language.
    """

    def __init__(self, trained: TrainingText, source: str, target: str) -> None:
        self._trained, self._source, self._target = trained, source, target
        ngrams = trained.ngrams()
        self._profile = LanguageProfile(ngrams) if source in ngrams else None

    def find_other(self, text: str) -> tuple[str, str] | None:
        """The kind and the words of a warning about a text that is probably in another language."""
        evidence = sum(self._trained.evidence.get(word, 0.0) for word in set(words_of(text)))
        if evidence < -MIN_EVIDENCE:
            return self._is_target()
        if script := self._foreign_script(text):
            return "script", f"is in {script} script, of which the training text has too little to translate it"
        if evidence < MUCH_EVIDENCE and self._profile:
            return self._compare(text, evidence, self._profile)
        return None

    def _compare(self, text: str, evidence: float, profile: LanguageProfile) -> tuple[str, str] | None:
        """The kind and the words of a warning about a text whose frequent words have little evidence."""
        text = " ".join(text_between(text, find_spans(text)))
        words = sum(1 for _ in words_of(text))
        if words < FEW_WORDS or (words < MIN_WORDS and evidence > -ENOUGH_EVIDENCE):
            return None
        found = dict(identify(text, profile))
        if words < MIN_WORDS:
            return self._is_target() if found.get(self._target, 0.0) >= MIN_PROBABILITY else None
        if not found:
            return "language", f"does not look like {self._source}, the language to translate from"
        is_other = evidence < ENOUGH_EVIDENCE and found.get(self._source, 0.0) <= MAX_PROBABILITY
        return self._is_target() if is_other else None

    def _is_target(self) -> tuple[str, str]:
        return "target-language", f"looks like {self._target}, the language to translate into"

    def _foreign_script(self, text: str) -> str | None:
        """The script of most letters, if the training text has few letters of it."""
        scripts = self._trained.scripts
        if text.isascii() and scripts.get("Latin", 0.0) >= RARE_SCRIPT:
            return None  # fast
        for script, share in script_shares([text]).items():
            if share >= FOREIGN_LETTERS and scripts.get(script, 0.0) < RARE_SCRIPT:
                return script
        return None
