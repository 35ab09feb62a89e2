"""Our subwords as a SentencePiece model, where that splits every text as they do."""

from __future__ import annotations

import io
import json
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer as Backend

from dragoman.text.normalization import METASPACE
from dragoman.text.sentencepiece import SentencePieceTokenizer
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.tokenizer import Tokenizer

_protocol: Any = sentencepiece_model_pb2  # whose classes are made as it is imported, unseen by type checkers

_BYTES = {f"<0x{byte:02X}>" for byte in range(256)}
_HANGUL = range(0xAC00, 0xD7A4)


def refusals(tokenizer: Tokenizer) -> list[str]:
    """Why SentencePiece cannot split text as a tokenizer does."""
    if isinstance(tokenizer, SentencePieceTokenizer):
        return []
    if not isinstance(tokenizer, SubwordTokenizer):
        return ["text.tokenizer: SentencePiece has subwords only (bpe, unigram)"]
    reasons = []
    if tokenizer.pre_tokenizer != "metaspace":
        reasons.append(f"text.pre_tokenizer = {tokenizer.pre_tokenizer!r}: SentencePiece splits at spaces only")
    elif not tokenizer.to_json()["tokenizer"]["model"]["byte_fallback"]:
        reasons.append("text.byte_fallback = false: SentencePiece makes one unk of several unknown characters")
    elif tokenizer.kind == "bpe" and (stray := _made_otherwise(tokenizer)):
        shown = ", ".join(map(repr, stray[:5])) + (", …" if len(stray) > 5 else "")
        reasons.append(f"text.tokenizer = 'bpe': SentencePiece would put {shown} together of other parts too")
    return reasons


def _made_otherwise(tokenizer: SubwordTokenizer) -> list[str]:
    """Subwords of several merges, or that BPE does not find in a text of just them.

    BPE merges listed pairs, first ones first. SentencePiece merges any neighbours that together are a piece, best
    score first. Until a merge crosses its ends, the characters of a piece are merged as if they stood alone. So if
    each piece, alone, becomes itself by its one merge, no other two neighbours ever make it: the two are the same.
    """
    data = tokenizer.to_json()["tokenizer"]
    made = Counter(first + second for first, second in data["model"]["merges"])
    bare = {**data, "normalizer": None, "pre_tokenizer": None, "post_processor": None}
    found = Backend.from_str(json.dumps(bare)).encode_batch_fast(list(made), add_special_tokens=False)
    return [token for token, encoding in zip(made, found, strict=True) if made[token] > 1 or len(encoding.ids) > 1]


def sentencepiece_model(tokenizer: Tokenizer) -> bytes:
    """The file of a SentencePiece model that splits as the tokenizer does; `refusals` must have found nothing."""
    if isinstance(tokenizer, SentencePieceTokenizer):
        return tokenizer.model
    assert isinstance(tokenizer, SubwordTokenizer)
    data, vocabulary = tokenizer.to_json()["tokenizer"], tokenizer.vocabulary
    proto = _protocol.ModelProto()
    for token, score in zip(vocabulary.tokens, _scores(tokenizer, data["model"]), strict=True):
        proto.pieces.add(piece=token, score=score, type=_type(token, tokenizer))
    trainer, kinds = proto.trainer_spec, _protocol.TrainerSpec
    trainer.model_type = kinds.BPE if tokenizer.kind == "bpe" else kinds.UNIGRAM
    trainer.vocab_size = len(vocabulary)
    trainer.byte_fallback = bool(data["model"]["byte_fallback"])
    for name in ("unk", "pad", "bos", "eos"):
        setattr(trainer, f"{name}_id", getattr(vocabulary, name))
        setattr(trainer, f"{name}_piece", getattr(vocabulary.specials, name))
    rules = proto.normalizer_spec
    rules.CopyFrom(_normalizer(tokenizer, data))
    return bytes(proto.SerializeToString())


def _scores(tokenizer: SubwordTokenizer, model: dict[str, Any]) -> list[float]:
    """Unigram's own, or for BPE the order of merges."""
    if tokenizer.kind == "unigram":
        return [float(score) for _, score in model["vocab"]]
    ranks = {first + second: rank for rank, (first, second) in enumerate(model["merges"])}
    return [-float(ranks.get(token, len(ranks))) for token in tokenizer.vocabulary.tokens]


def _type(token: str, tokenizer: SubwordTokenizer) -> int:
    piece, vocabulary = _protocol.ModelProto.SentencePiece, tokenizer.vocabulary
    if token == vocabulary.specials.unk:
        return int(piece.UNKNOWN)
    if vocabulary.ids[token] in vocabulary.special_ids:
        return int(piece.CONTROL)
    return int(piece.BYTE if token in _BYTES else piece.NORMAL)


def _normalizer(tokenizer: SubwordTokenizer, data: dict[str, Any]) -> Any:
    """What SentencePiece compiles of our rules for characters, and its own for spaces, which are ours."""
    backend = Backend.from_str(json.dumps(data))
    hangul = any(ord(character) in _HANGUL for token in tokenizer.vocabulary.tokens for character in token)
    rules = "".join(f"{_spell(before)}\t{_spell(after)}\n" for before, after in _rules(backend.normalizer, hangul))
    with tempfile.TemporaryDirectory() as directory:
        path, written = Path(directory, "rules.tsv"), io.BytesIO()
        path.write_text(rules, encoding="utf-8")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a b"]),
            model_writer=written,
            model_type="char",
            vocab_size=6,
            hard_vocab_limit=False,
            normalization_rule_tsv=str(path),
            minloglevel=2,
        )
    trained = _protocol.ModelProto.FromString(written.getvalue()).normalizer_spec
    trained.add_dummy_prefix = trained.remove_extra_whitespaces = trained.escape_whitespaces = True
    return trained


def _rules(normalizer: Any, hangul: bool) -> Iterator[tuple[str, str]]:
    """Every character, and every spelling of one as several, that our normalizer changes, with what it becomes."""
    for code in range(1, 0x110000):
        character = chr(code)
        if 0xD800 <= code <= 0xDFFF or (code in _HANGUL and not hangul):
            continue
        spaces = character == METASPACE or character.isspace() or unicodedata.category(character) == "Cc"
        if spaces:
            if character != " ":
                yield character, " "
        elif not (unicodedata.is_normalized("NFKC", character) and unicodedata.is_normalized("NFD", character)):
            yield from _changed(normalizer, {character, *_spellings(character)})
        elif character.lower() != character:
            yield from _changed(normalizer, {character})


def _changed(normalizer: Any, spellings: set[str]) -> Iterator[tuple[str, str]]:
    for spelling in sorted(spellings):
        normal = normalizer.normalize_str(spelling)
        if normal and normal != spelling:
            yield spelling, normal


def _spellings(character: str) -> Iterator[str]:
    """A character as one or more that are canonically the same, its marks in any order."""
    base, *marks = list(unicodedata.normalize("NFD", character))
    for order in permutations(marks) if len(marks) < 4 else ():
        for count in range(len(order) + 1):
            spelling = unicodedata.normalize("NFC", base + "".join(order[:count])) + "".join(order[count:])
            if unicodedata.normalize("NFC", spelling) == unicodedata.normalize("NFC", character):
                yield spelling


def _spell(text: str) -> str:
    return " ".join(f"{ord(character):X}" for character in text)
