"""Labels of tokens in pages."""

from __future__ import annotations

from dataclasses import replace

from dragoman.bundle import Bundle
from dragoman.explanation.token_sequence import TokenSequence
from dragoman.text.masked_text import LabelledTokenizer, masking_of
from dragoman.text.masking import Mask
from dragoman.text.normalization import METASPACE
from dragoman.text.tokenizer import Tokenizer

CONTINUATION = "·"  # precedes a token that continues the previous word


def label_spans(bundle: Bundle, mask: Mask) -> Bundle:
    """The bundle with tokenizers that spell reserved tokens like the spans of a sentence."""
    if masking_of(bundle.source) is None:
        return bundle
    source, target = LabelledTokenizer(bundle.source, mask), LabelledTokenizer(bundle.target, mask)
    return replace(bundle, source=source, target=target)


def sequence_labels(sequence: TokenSequence) -> list[str]:
    """The labels of all tokens of a sequence."""
    starts = set(sequence.starts)
    return [_label(token, index in starts) for index, token in enumerate(sequence.tokens)]


def token_label(tokenizer: Tokenizer, token: str) -> str:
    """The label of a single token, such as an alternative that is not in the translation."""
    return _label(token, token == tokenizer.vocabulary.specials.eos or tokenizer.starts_word(token))


def _label(token: str, starts_word: bool) -> str:
    return (token.removeprefix(METASPACE) or token) if starts_word else CONTINUATION + token
