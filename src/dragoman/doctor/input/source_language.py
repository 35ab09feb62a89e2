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
MIN_WORDS = 5  # names and titles are often in another language
MAX_PROBABILITY = (
    0.05  # measured on seven corpora of another kind: of texts in the source language, 0 to 0.8 % are below
)


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
            return "target-language", f"looks like {self._target}, the language to translate into"
        if script := self._foreign_script(text):
            return "script", f"is in {script} script, of which the training text has too little to translate it"
        if evidence < MUCH_EVIDENCE and self._is_other_language(text, evidence):
            return "language", f"does not look like {self._source}, the language to translate from"
        return None

    def _foreign_script(self, text: str) -> str | None:
        """The script of most letters, if the training text has few letters of it."""
        scripts = self._trained.scripts
        if text.isascii() and scripts.get("Latin", 0.0) >= RARE_SCRIPT:
            return None  # fast
        for script, share in script_shares([text]).items():
            if share >= FOREIGN_LETTERS and scripts.get(script, 0.0) < RARE_SCRIPT:
                return script
        return None

    def _is_other_language(self, text: str, evidence: float) -> bool:
        if self._profile is None:
            return False
        text = " ".join(text_between(text, find_spans(text)))
        if sum(1 for _ in words_of(text)) < MIN_WORDS:
            return False
        probabilities = dict(identify(text, self._profile))
        if evidence >= ENOUGH_EVIDENCE:
            return not probabilities
        return probabilities.get(self._source, 0.0) <= MAX_PROBABILITY
