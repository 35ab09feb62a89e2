"""Forms of a line of text that a translator can only handle if its training text has them."""

from __future__ import annotations

import regex

from dragoman.languages.sentence_marks import CLOSING, OPENING, SENTENCE_ENDS, UNSPACED_ENDS

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
