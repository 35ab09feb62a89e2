"""The character rules of a `tokenizers` normalizer, compiled for SentencePiece."""

from __future__ import annotations

import io
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import sentencepiece

from dragoman.text.normalization import METASPACE

_HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)
_SURROGATES = range(0xD800, 0xE000)
_MAX_MARKS = 3


def compile_rules(normalizer: Any, tokens: Iterable[str]) -> bytes:
    """A SentencePiece model whose normalizer changes characters as this normalizer does.

    Args:
        normalizer: Of the library `tokenizers`.
        tokens: The vocabulary. Without a Hangul syllable in it, the 11,172 rules for Hangul are left out.
    """
    hangul = any(ord(character) in _HANGUL_SYLLABLES for token in tokens for character in token)
    rules = "".join(f"{_code_points(old)}\t{_code_points(new)}\n" for old, new in _rules(normalizer, hangul))
    with tempfile.TemporaryDirectory() as directory:
        path, model = Path(directory, "rules.tsv"), io.BytesIO()
        path.write_text(rules, encoding="utf-8")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a b"]),
            model_writer=model,
            model_type="char",
            vocab_size=6,
            hard_vocab_limit=False,
            normalization_rule_tsv=str(path),
            minloglevel=2,
        )
    return model.getvalue()


def _rules(normalizer: Any, hangul: bool) -> Iterator[tuple[str, str]]:
    """Every character, in each canonically equivalent spelling, that the normalizer changes, and what it becomes."""
    for code in range(1, 0x110000):
        character = chr(code)
        if code in _SURROGATES or (code in _HANGUL_SYLLABLES and not hangul):
            continue
        if character == METASPACE or character.isspace() or unicodedata.category(character) == "Cc":
            if character != " ":
                yield character, " "
        elif not (unicodedata.is_normalized("NFKC", character) and unicodedata.is_normalized("NFD", character)):
            yield from _changes(normalizer, {character, *_spellings(character)})
        elif character.lower() != character:
            yield from _changes(normalizer, {character})


def _changes(normalizer: Any, spellings: set[str]) -> Iterator[tuple[str, str]]:
    for spelling in sorted(spellings):
        normalized = normalizer.normalize_str(spelling)
        if normalized and normalized != spelling:
            yield spelling, normalized


def _spellings(character: str) -> Iterator[str]:
    """Canonically equivalent spellings of a character: marks in any order, the first of them combined with the base."""
    base, *marks = list(unicodedata.normalize("NFD", character))
    for order in permutations(marks) if len(marks) <= _MAX_MARKS else ():
        for count in range(len(order) + 1):
            spelling = unicodedata.normalize("NFC", base + "".join(order[:count])) + "".join(order[count:])
            if unicodedata.normalize("NFC", spelling) == unicodedata.normalize("NFC", character):
                yield spelling


def _code_points(text: str) -> str:
    """The code points of a text in hexadecimal, as SentencePiece's rule files have them."""
    return " ".join(f"{ord(character):X}" for character in text)
