"""Texts compared with the training text of a translator, before they are translated.

`TrainingText` describes what a model was trained on, in a few numbers that its bundle stores. `LanguageChecker` finds
texts that are in another language, and `TextChecker` warns of texts with forms that the training text lacks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import regex
from pydantic import BaseModel, ConfigDict, FiniteFloat

from dragoman.bundle import Bundle, require_direction
from dragoman.corpus.pair import Languages
from dragoman.languages.identify import (
    LanguageProfile,
    count_ngrams,
    count_words,
    identify,
    stored_profile,
    words_of,
    write_ngrams,
)
from dragoman.languages.scripts import script_shares
from dragoman.languages.sentence_marks import CLOSING, OPENING, SENTENCE_ENDS, UNSPACED_ENDS
from dragoman.text.placeholders import find_spans, text_between
from dragoman.text.usual_case import UsualCase

FREQUENT_WORDS = 100  # of each language
MIN_WORD_COUNT = 5  # rarer words are no evidence of a language
MAX_WORDS = 20_000  # of the targets that are stored
MAX_EVIDENCE = 3.0  # nats that one word contributes
ADDED_LENGTH = 10  # characters
NEARLY_ALL = 0.999  # of the lines
PARAGRAPHS = 0.1  # share of the lines


class TrainingText(BaseModel):
    """What the training text looks like. Shares are between 0 and 1, and describe the sources."""

    model_config = ConfigDict(frozen=True)

    lines: int
    """Number of pairs that were counted."""
    longest: int
    """Number of characters that `NEARLY_ALL` lines do not exceed."""
    scripts: dict[str, FiniteFloat]
    """The share of each script in all letters."""
    capitals: FiniteFloat
    """The share of lines in capital letters."""
    single_words: FiniteFloat
    """The share of lines with one word."""
    several_sentences: FiniteFloat
    """The share of lines with several sentences."""
    terms: FiniteFloat = 0.0
    """The share of lines that say how terms are translated; if there are any, the translator follows glossaries."""
    evidence: dict[str, FiniteFloat]
    """Of frequent words: log-probability in the sources minus log-probability in the targets, in nats."""
    profiles: dict[str, str] = {}
    """Of each language: its frequent n-grams, see `dragoman.languages.identify`; older bundles have none."""
    target_words: str = ""
    """The words of the targets in lower case, the most frequent first; bundles of older versions lack them."""
    length_ratio: FiniteFloat | None = None
    """The usual `log_length_ratio` of a pair; bundles of older versions lack it."""
    length_deviation: FiniteFloat | None = None
    """Standard deviation of `log_length_ratio`."""

    @property
    def has_paragraphs(self) -> bool:
        """Whether so many lines have several sentences that the translator is not given single ones."""
        return self.several_sentences >= PARAGRAPHS

    def knows(self, text: str) -> bool:
        """Whether all words of a text, of which there must be some, occur in the targets."""
        return (words := set(words_of(text))) <= self._known and bool(words)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.target_words.split())


def describe_text(sources: Sequence[str], targets: Sequence[str], languages: Languages) -> TrainingText:
    """Describe sources and their translations in two languages; there must be at least one."""
    from dragoman.doctor.data.length_model import robust_fit

    lengths = sorted(map(len, sources))
    ratio, deviation = robust_fit(np.array(list(map(log_length_ratio, sources, targets))))

    def share(form: Callable[[str], bool]) -> float:
        return round(sum(map(form, sources)) / len(sources), 6)

    return TrainingText(
        lines=len(sources),
        longest=lengths[math.ceil(NEARLY_ALL * len(lengths)) - 1],
        scripts=script_shares(sources),
        capitals=share(is_in_capitals),
        single_words=share(is_single_word),
        several_sentences=share(has_several_sentences),
        evidence=_word_evidence(sources, targets),
        profiles={
            language: write_ngrams(count_ngrams(texts))
            for language, texts in zip(languages, (sources, targets), strict=True)
        },
        target_words=" ".join(word for word, _ in count_words(targets).most_common(MAX_WORDS)),
        length_ratio=round(ratio, 6),
        length_deviation=round(deviation, 6),
    )


def log_length_ratio(source: str, target: str) -> float:
    """The logarithm of the ratio of lengths in characters, which are increased so that short texts vary less."""
    return math.log((len(target) + ADDED_LENGTH) / (len(source) + ADDED_LENGTH))


def _word_evidence(sources: Sequence[str], targets: Sequence[str]) -> dict[str, float]:
    counts = list(map(count_words, (sources, targets)))
    totals = [count.total() for count in counts]
    frequent = {
        word for count in counts for word, times in count.most_common(FREQUENT_WORDS) if times >= MIN_WORD_COUNT
    }

    def log_probability(side: int, word: str) -> float:
        return math.log((counts[side][word] + 0.5) / (totals[side] + 1))

    evidence = {word: log_probability(0, word) - log_probability(1, word) for word in sorted(frequent)}
    return {word: round(min(max(value, -MAX_EVIDENCE), MAX_EVIDENCE), 2) for word, value in evidence.items()}


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


_BEYOND_LATIN = regex.compile(r"[^\u0000-\u024F\u1E00-\u1EFF\u2000-\u206F]")
"""Characters after the first blocks of Latin letters and punctuation."""


class LanguageChecker:
    """Recognizes texts that are in another language than the source of a training text.

    Args:
        trained: The description of the training text. If an older version made it, without n-grams, fewer texts are
            recognized.
        source: Code of the source language.
        target: Code of the target language.
    """

    def __init__(self, trained: TrainingText, source: str, target: str) -> None:
        self._trained, self._source, self._target = trained, source, target
        profile = stored_profile(tuple(trained.profiles.items()))
        self._profile = profile if source in profile.languages else None

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
        if scripts.get("Latin", 0.0) >= RARE_SCRIPT and not _BEYOND_LATIN.search(text):
            return None  # fast
        for script, share in script_shares([text]).items():
            if share >= FOREIGN_LETTERS and scripts.get(script, 0.0) < RARE_SCRIPT:
                return script
        return None


MIN_CAPITALS = 10  # letters; shorter lines in capitals are often abbreviations
_SENTENCE_END = regex.compile(
    rf"""
    (?<!\p{{L}})(?P<word>\p{{L}}*\p{{Ll}}{{3}})  # abbreviations such as "Dr." and "z. B." are shorter
    {CLOSING}*[{SENTENCE_ENDS}]+{CLOSING}*
    \s+{OPENING}*
    (?=\p{{Lu}})             # the first letter of a sentence, not the rest of a number or an abbreviation
    | (?P<word>[\p{{L}}\p{{M}}]){UNSPACED_ENDS}{CLOSING}*\s*(?=\p{{L}})
    """,
    regex.VERBOSE | regex.VERSION1,
)
_ABBREVIATIONS = {"approx", "bzw", "capt", "dept", "etc", "evtl", "ggf", "incl", "inkl", "prof", "resp", "univ", "usw"}
_MIN_SENTENCE_WORDS = 3  # on both sides of the end of a sentence in a script with spaces


def is_in_capitals(text: str) -> bool:
    """Whether a line is written in capital letters, and is longer than an abbreviation."""
    return text.isupper() and len(text.split()) > 1 and sum(map(str.isupper, text)) >= MIN_CAPITALS


def is_single_word(text: str) -> bool:
    """Whether a line is one word, and not a number or a sign."""
    return len(text.split()) == 1 and any(map(str.isalpha, text))


def has_several_sentences(text: str) -> bool:
    """Whether a line certainly contains more than one sentence; lists and abbreviations do not count."""
    return any(_is_between_sentences(text, match) for match in _SENTENCE_END.finditer(text))


def _is_between_sentences(text: str, match: regex.Match[str]) -> bool:
    if " " not in text:
        return True
    if match["word"].lower() in _ABBREVIATIONS:
        return False
    sides = text[: match.end("word")].split(), text[match.end() :].split()
    return min(map(len, sides)) >= _MIN_SENTENCE_WORDS


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
        self._language = trained and LanguageChecker(trained, *languages)

    @classmethod
    def of(cls, bundle: Bundle) -> TextChecker:
        """The checker for a bundle; imported ones and those of older versions do not describe their training text.

        Raises:
            UserError: The bundle is damaged.
        """
        data = bundle.recipe.data
        languages = data.source_language, data.target_language
        masking, trained = bundle.source.masking, bundle.table("training_text", TrainingText)
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

    Raises:
        UserError: The translator has several directions, and none is stated.

    >>> dragoman.doctor.check_texts(translator.bundle, ["EIN HUND LÄUFT."])
    """
    require_direction(bundle)
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
