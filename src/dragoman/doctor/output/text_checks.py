"""Checks that need only texts: sources, references, translations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import regex

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.input import TrainingText, log_length_ratio
from dragoman.errors import shortened
from dragoman.languages.identify import words_of
from dragoman.languages.scripts import WITHOUT_SPACES
from dragoman.settings import Decoding

MIN_CASES = 3  # fewer cases are not reported
COLLAPSED_SHARE = 0.3  # of the different sources with the same translation
EMPTY_SHARE = 0.01  # of the translations
REPETITION_SHARE = 0.02  # of the translations, in addition to that of the references
MIN_REPEATS = 4  # consecutive occurrences of the same words that count as a repetition
MAX_REPEATED_WORDS = 5  # longer repeated phrases are not looked for
COPY_SHARE = 0.05  # of the translations, in addition to that of the references
MAX_LENGTH_DEVIATION = 0.2  # of the characters of all references
MAX_EXAMPLES = 3


def check_collapsed(
    sources: Sequence[str], references: Sequence[str], translations: Sequence[str]
) -> Iterator[Finding]:
    """Find one translation of many different sources, unless the references have that, too."""
    if found := _find_repeated(sources, translations, references):
        text, count, distinct = found
        yield make_finding(
            "collapsed",
            f"{_share(count, distinct, 'different sources')} have the same translation: {shortened(text)!r}",
            {"count": count, "of": distinct, "translation": text},
        )


def check_repeated_references(
    sources: Sequence[str], references: Sequence[str], translations: Sequence[str]
) -> Iterator[Finding]:
    """Find one reference of many different sources, unless the translations have that, too."""
    if found := _find_repeated(sources, references, translations):
        text, count, distinct = found
        yield make_finding(
            "unusual-references",
            f"{_share(count, distinct, 'different sources')} have the same reference: {shortened(text)!r}",
            {"count": count, "of": distinct, "kinds": {"repeated": count}, "reference": text},
            severity="error",
        )


def _find_repeated(sources: Sequence[str], texts: Sequence[str], others: Sequence[str]) -> tuple[str, int, int] | None:
    """The text that many different sources have, their number, and that of all; None if the other texts repeat, too."""
    distinct = len(set(sources))
    text, count = _most_common(sources, texts)
    _, other_count = _most_common(sources, others)
    common = count >= MIN_CASES and count / distinct >= COLLAPSED_SHARE
    return (text, count, distinct) if text.strip() and common and count > 2 * other_count else None


def _most_common(sources: Sequence[str], texts: Sequence[str]) -> tuple[str, int]:
    """The text that belongs to the most different sources, and their number."""
    counts = Counter(text for _, text in dict.fromkeys(zip(sources, texts, strict=True)))
    return max(counts.items(), key=lambda item: item[1], default=("", 0))


def check_empty_output(
    sources: Sequence[str], translations: Sequence[str], decoding: Decoding | None = None
) -> Iterator[Finding]:
    """Find empty translations of sources that are not empty."""
    relevant = [text for source, text in zip(sources, translations, strict=True) if source.strip()]
    count = sum(not text.strip() for text in relevant)
    if count >= MIN_CASES and count / len(relevant) > EMPTY_SHARE:
        yield make_finding(
            "empty-output",
            f"{_share(count, len(relevant), 'translations')} are empty: the model ends the sentence immediately",
            {"count": count, "of": len(relevant)},
            fix="find empty targets with dragoman doctor data, start each target with bos, and "
            + _length_advice(decoding, longer=True),
        )


def check_repetition(
    sources: Sequence[str], references: Sequence[str], translations: Sequence[str]
) -> Iterator[Finding]:
    """Find translations that repeat the same words, unless the references do that, too."""
    repeating = [index for index, text in enumerate(translations) if count_repeats(text) >= MIN_REPEATS]
    reference_count = sum(count_repeats(text) >= MIN_REPEATS for text in references)
    count, size = len(repeating), len(translations)
    if count >= MIN_CASES and (count - reference_count) / size > REPETITION_SHARE:
        examples = [
            {"source": sources[index], "translation": translations[index]} for index in repeating[:MAX_EXAMPLES]
        ]
        yield make_finding(
            "repetition",
            f"{_share(count, size, 'translations')} repeat the same words over and over: "
            f"{shortened(translations[repeating[0]])!r}",
            {"count": count, "of": size, "examples": examples},
        )


def count_repeats(text: str) -> int:
    """The largest number of consecutive occurrences of the same word or phrase in a text, at least 1."""
    words, most = text.split(), 1
    for size in range(1, MAX_REPEATED_WORDS + 1):
        equal = 0  # consecutive words that are equal to the word `size` positions earlier
        for index in range(size, len(words)):
            equal = equal + 1 if words[index] == words[index - size] else 0
            most = max(most, equal // size + 1)
    return most


def check_copying(sources: Sequence[str], references: Sequence[str], translations: Sequence[str]) -> Iterator[Finding]:
    """Find translations that are copies of the source, unless the references are, too."""
    pairs = enumerate(zip(sources, translations, strict=True))
    copies = [index for index, (source, text) in pairs if source.strip() and equal_words(source, text)]
    reference_count = sum(equal_words(source, text) for source, text in zip(sources, references, strict=True))
    count, size = len(copies), len(translations)
    if count >= MIN_CASES and (count - reference_count) / size > COPY_SHARE:
        yield make_finding(
            "copying",
            f"{_share(count, size, 'translations')} are copies of the source: {shortened(translations[copies[0]])!r}",
            {"count": count, "of": size},
        )


def check_output_length(
    references: Sequence[str],
    translations: Sequence[str],
    decoding: Decoding | None = None,
    explains_score: bool = False,
) -> Iterator[Finding]:
    """Compare the length of all translations with that of all references; an error if it explains a low score."""
    ratio = sum(map(len, translations)) / max(1, sum(map(len, references)))
    if len(references) < MIN_CASES or abs(ratio - 1) <= MAX_LENGTH_DEVIATION:
        return
    advice = _length_advice(decoding, longer=ratio < 1)
    cause = None
    fix = f"{advice}; check decoding.max_length and decoding.max_length_ratio"
    if ratio > 1 and any(count_repeats(text) >= MIN_REPEATS for text in translations):
        cause = "translations repeat words, because the model has not learned to end sentences"
        fix = f"train longer; if that does not help, {advice}"
    elif ratio > 1:
        cause = "the references are cut off, or the model has not learned to end sentences"
        fix = f"compare references with their sources; if they are complete, {advice}"
    yield make_finding(
        "output-length",
        f"the translations have {ratio:.2f} times as many characters as the references",
        {"ratio": ratio},
        severity="error" if explains_score else None,
        cause=cause,
        fix=fix,
    )


def _length_advice(decoding: Decoding | None, longer: bool) -> str:
    """How to get longer or shorter hypotheses: the higher the length penalty, the longer they are."""
    if decoding and (decoding.beam_size == 1 or decoding.sampling or decoding.mbr_samples):
        return "use beam search (decoding.beam_size = 5), because decoding.length_penalty has no effect without it"
    value = f" (now {decoding.length_penalty:g})" if decoding else ""
    if longer:
        return f"raise decoding.length_penalty{value}"
    if decoding and decoding.length_penalty == 0:
        return "check the lengths of the training targets (decoding.length_penalty is 0 already)"
    return f"lower decoding.length_penalty{value}"


def _share(count: int, total: int, what: str) -> str:
    return f"{count:,} of {total:,} {what} ({count / total:.0%})"


def equal_words(text: str, other: str) -> bool:
    """Whether texts are equal except for case and spacing."""
    return text.lower().split() == other.lower().split()


EMPTY = "empty"
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Stands for bytes that are no character, which a model with tokens for bytes can write."""

MAX_DEVIATIONS = 4.0  # of the length ratio; 0.1 to 0.8 % of the pairs of seven corpora are beyond
MIN_COPIED_WORDS = 5  # shorter copies may be names …
MIN_COPIED_EVIDENCE = 3.0  # … unless their words show the source language, in nats
_WIDE_LETTER = regex.compile(rf"([{WITHOUT_SPACES}])")
_LOOP_IN_WORD = regex.compile(r"(?=\w{8})(\w{1,10}?)\1{7,}")  # the lookahead only saves time


def check_sentence(source: str, translation: str, trained: TrainingText | None = None) -> Iterator[str]:
    """What is probably wrong: "empty", "no words", "broken characters", "loop", "copied", "too short", "too long".

    Args:
        source: The source, with at least one word.
        translation: Its translation.
        trained: The description of the training text, without which lengths are not compared.
    """
    if not translation.strip():
        yield EMPTY
        return
    if _has_words(source) and not _has_words(translation):
        yield "no words"
    if REPLACEMENT in translation and REPLACEMENT not in source:
        yield "broken characters"
    repeats = _repeats(translation)
    if repeats > 1 and repeats > _repeats(source):
        yield "loop"
    if equal_words(source, translation) and _is_translatable(source, trained):
        yield "copied"
    if trained and trained.length_ratio is not None and trained.length_deviation:
        deviations = (log_length_ratio(source, translation) - trained.length_ratio) / trained.length_deviation
        if abs(deviations) > MAX_DEVIATIONS:
            yield "too long" if deviations > 0 else "too short"


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))


def _repeats(text: str) -> int:
    """How often the same words or parts of a word follow each other; 1 if that is not often enough for a loop."""
    words = count_repeats(_WIDE_LETTER.sub(r" \1 ", text))
    inside = max((len(match[0]) // len(match[1]) for match in _LOOP_IN_WORD.finditer(text)), default=1)
    return max(words if words >= MIN_REPEATS else 1, inside)


def _is_translatable(source: str, trained: TrainingText | None) -> bool:
    """Whether a text is probably not a name, which a translation repeats."""
    words = list(words_of(source))
    evidence = math.fsum(trained.evidence.get(word, 0.0) for word in set(words)) if trained else 0.0
    return len(words) >= MIN_COPIED_WORDS or evidence >= MIN_COPIED_EVIDENCE
