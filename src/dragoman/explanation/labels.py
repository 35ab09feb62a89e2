"""How tokens are spelled in pictures and pages."""

from __future__ import annotations

from dragoman.explanation.attention_map import Side
from dragoman.text.normalization import METASPACE
from dragoman.text.tokenizer import Tokenizer

POINT = "·"


def labels(side: Side) -> list[str]:
    """Tokens of a sequence; those that go on with a word have a point before them."""
    starts = set(side.starts)
    return [_spell(token, place in starts) for place, token in enumerate(side.tokens)]


def label(tokenizer: Tokenizer, token: str) -> str:
    """A token that a translation might go on with."""
    return _spell(token, token == tokenizer.vocabulary.specials.eos or tokenizer.starts_word(token))


def _spell(token: str, starts_word: bool) -> str:
    return (token.removeprefix(METASPACE) or token) if starts_word else POINT + token
