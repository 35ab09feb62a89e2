"""A subword tokenizer as a SentencePiece model, for tokenizers that SentencePiece can reproduce exactly."""

from __future__ import annotations

import io
import json
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer as Backend

from dragoman.text.multilingual import without_language
from dragoman.text.normalization import METASPACE
from dragoman.text.sentencepiece import SentencePieceTokenizer
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.tokenizer import Tokenizer

_protobuf: Any = sentencepiece_model_pb2  # its classes are created at import, so type checkers do not know them

_BYTE_TOKENS = {f"<0x{byte:02X}>" for byte in range(256)}


def unsupported_tokenizer(tokenizer: Tokenizer) -> list[str]:
    """Why SentencePiece cannot split text as a tokenizer does; empty if it can."""
    if isinstance(tokenizer, SentencePieceTokenizer):
        return []
    if not isinstance(tokenizer, SubwordTokenizer):
        return ["text.tokenizer: SentencePiece has only subwords (bpe, unigram)"]
    if tokenizer.pre_tokenizer != "metaspace":
        return [f"text.pre_tokenizer = {tokenizer.pre_tokenizer!r}: SentencePiece splits only at spaces"]
    if not tokenizer.to_json()["tokenizer"]["model"]["byte_fallback"]:
        return ["text.byte_fallback = false: SentencePiece merges adjacent unknown characters into one unk"]
    if tokenizer.kind == "bpe" and (tokens := _ambiguous_tokens(tokenizer)):
        shown = ", ".join(map(repr, tokens[:5])) + (", …" if len(tokens) > 5 else "")
        return [f"text.tokenizer = 'bpe': SentencePiece would also build {shown} from other tokens"]
    return []


def _ambiguous_tokens(tokenizer: SubwordTokenizer) -> list[str]:
    """Tokens that several merges produce, or that BPE does not find in a text that consists of just them.

    BPE merges listed pairs, the first in the list first. SentencePiece merges any two adjacent tokens that together
    are a token, the one with the best score first. As long as no merge crosses its boundaries, the characters of a
    token are merged as if they were the whole text. So if each token, as the whole text, results from its only merge,
    no other two adjacent tokens ever form it, and both algorithms split every text in the same way.
    """
    data = tokenizer.to_json()["tokenizer"]
    merged = Counter(first + second for first, second in data["model"]["merges"])
    bare = {**data, "normalizer": None, "pre_tokenizer": None, "post_processor": None}
    encodings = Backend.from_str(json.dumps(bare)).encode_batch_fast(list(merged), add_special_tokens=False)
    return [
        token for token, encoding in zip(merged, encodings, strict=True) if merged[token] > 1 or len(encoding.ids) > 1
    ]


def sentencepiece_model(tokenizer: Tokenizer) -> bytes:
    """The file of a SentencePiece model that splits text as the tokenizer does.

    Args:
        tokenizer: One for which `unsupported_tokenizer` returns no reason, perhaps with tokens of languages, which the
            model does not find in texts.
    """
    languages, tokenizer = set(tokenizer.all_language_ids), without_language(tokenizer)
    if isinstance(tokenizer, SentencePieceTokenizer):
        return tokenizer.model
    assert isinstance(tokenizer, SubwordTokenizer)
    data, vocabulary = tokenizer.to_json()["tokenizer"], tokenizer.vocabulary
    model = _protobuf.ModelProto()
    for token, score in zip(vocabulary.tokens, _scores(tokenizer, data["model"]), strict=True):
        model.pieces.add(piece=token, score=score, type=_piece_type(token, tokenizer, languages))
    _set_trainer_spec(model.trainer_spec, tokenizer)
    normalizer = Backend.from_str(json.dumps(data)).normalizer
    model.normalizer_spec.CopyFrom(_normalizer_spec(compile_rules(normalizer, vocabulary.tokens)))
    return bytes(model.SerializeToString())


def _scores(tokenizer: SubwordTokenizer, model: dict[str, Any]) -> list[float]:
    """One score per token: its log-probability (unigram), or the rank of its merge, negated (BPE)."""
    if tokenizer.kind == "unigram":
        return [float(score) for _, score in model["vocab"]]
    ranks = {first + second: rank for rank, (first, second) in enumerate(model["merges"])}
    return [-float(ranks.get(token, len(ranks))) for token in tokenizer.vocabulary.tokens]


def _piece_type(token: str, tokenizer: SubwordTokenizer, languages: Collection[int]) -> int:
    types, vocabulary = _protobuf.ModelProto.SentencePiece, tokenizer.vocabulary
    if token == vocabulary.specials.unk:
        return int(types.UNKNOWN)
    if vocabulary.ids[token] in (*vocabulary.special_ids, *languages):
        return int(types.CONTROL)
    return int(types.BYTE if token in _BYTE_TOKENS else types.NORMAL)


def _set_trainer_spec(spec: Any, tokenizer: SubwordTokenizer) -> None:
    types, vocabulary = _protobuf.TrainerSpec, tokenizer.vocabulary
    spec.model_type = types.BPE if tokenizer.kind == "bpe" else types.UNIGRAM
    spec.vocab_size = len(vocabulary)
    spec.byte_fallback = True
    for name in ("unk", "pad", "bos", "eos"):
        setattr(spec, f"{name}_id", getattr(vocabulary, name))
        setattr(spec, f"{name}_piece", getattr(vocabulary.specials, name))


def _normalizer_spec(trained_model: bytes) -> Any:
    """The normalizer of a SentencePiece model, with SentencePiece's handling of spaces, which is also dragoman's."""
    spec = _protobuf.ModelProto.FromString(trained_model).normalizer_spec
    spec.add_dummy_prefix = spec.remove_extra_whitespaces = spec.escape_whitespaces = True
    return spec


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
