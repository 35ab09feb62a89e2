"""Every tokenizer by the name that recipes and files give it: learnt from text, or loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from dragoman.errors import UserError, nearest
from dragoman.settings import Text
from dragoman.text.sentencepiece import load_pieces
from dragoman.text.subword import load_subwords
from dragoman.text.subword_training import train_subwords
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.words import load_words, train_words

Side = tuple[str, Iterable[str]]
"""A language and its sentences."""

TRAIN: dict[str, Callable[[Sequence[Side], Text], Sequence[Tokenizer]]] = {
    "bpe": train_subwords,
    "unigram": train_subwords,
    "whitespace": train_words,
    "spacy": train_words,
}
LOAD: dict[str, Callable[[dict[str, Any]], Tokenizer]] = {
    "bpe": load_subwords,
    "unigram": load_subwords,
    "whitespace": load_words,
    "spacy": load_words,
    "sentencepiece": load_pieces,
}


def train_tokenizers(
    source_texts: Iterable[str],
    target_texts: Iterable[str],
    settings: Text,
    *,
    source_language: str,
    target_language: str,
) -> tuple[Tokenizer, Tokenizer]:
    """Tokenizers of source and target; joint ones are the same object.

    Only joint spaCy tokenizers of two languages are two objects: one vocabulary, each language's own rules.
    """
    train = TRAIN[settings.tokenizer]
    source, target = (source_language, source_texts), (target_language, target_texts)
    if settings.joint:
        first, second = train([source, target], settings)
    else:
        (first,), (second,) = train([source], settings), train([target], settings)
    return first, second


def load_tokenizer(data: dict[str, Any]) -> Tokenizer:
    """The tokenizer whose `to_json` gave this; UserError if it is broken or something else."""
    kind = data.get("type") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in LOAD:
        raise UserError(f"not a tokenizer: type is {kind!r}, not one of {', '.join(LOAD)}{nearest(str(kind), LOAD)}")
    try:
        return LOAD[kind](data)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:5])
        raise UserError(f"the {kind} tokenizer is broken: {problems}") from None
