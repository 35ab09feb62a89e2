"""Learning subwords from text, the same ones each time."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend

from dragoman.errors import UserError
from dragoman.settings import Text
from dragoman.text.normalization import MARK, replace_surrogates
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.vocabulary import special_tokens

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
_SCORE_DIGITS = 4
_SPACES = rf"[\s\p{{Cc}}{MARK}]+"  # cleaning.SPACES as the library's regular expressions write it
_LONGEST_WORD = 1000


def train_subwords(sides: Sequence[tuple[str, Iterable[str]]], settings: Text) -> list[SubwordTokenizer]:
    """One tokenizer learnt from all sides, given once for each of them; UserError if its vocabulary cannot hold it."""
    assert settings.tokenizer in ("bpe", "unigram")
    reserved = _reserved(settings)
    normalizer = _normalizer(settings)
    texts = [normalizer.normalize_str(_trainable(text)) for _, side in sides for text in side]
    texts = _without_rare_characters(texts, settings.vocabulary_size - len(reserved))
    backend = _train(texts, reserved, settings)
    backend.normalizer = normalizer
    tokenizer = SubwordTokenizer(settings.tokenizer, settings.pre_tokenizer, settings.specials, backend)
    return [tokenizer] * len(sides)


def _reserved(settings: Text) -> list[str]:
    """Tokens that are not learnt: specials, then bytes."""
    specials = special_tokens(settings.specials)
    for name, spelling in zip(("unk", "pad", "bos", "eos"), specials, strict=True):
        if len(spelling) < 2 or spelling.startswith("<0x"):
            raise UserError(
                f"text.specials.{name} = {spelling!r}: subwords need specials of two characters or more that do not "
                "start with '<0x', to tell them from text and bytes"
            )
    reserved = [*specials, *(BYTES if settings.byte_fallback else [])]
    if settings.vocabulary_size <= len(reserved) + 1:
        raise UserError(
            f"text.vocabulary_size = {settings.vocabulary_size} leaves nothing to learn: specials"
            f"{' and text.byte_fallback' if settings.byte_fallback else ''} take {len(reserved)} entries"
        )
    return reserved


def _trainable(text: str) -> str:
    """The text without its longest words, which cost BPE quadratic time and unigram 2 kB a character."""
    text = replace_surrogates(text)
    if len(text) <= _LONGEST_WORD:
        return text
    return " ".join(word for word in text.split() if len(word) <= _LONGEST_WORD)


def _train(texts: list[str], reserved: list[str], settings: Text) -> Backend:
    backend = Backend(models.BPE() if settings.tokenizer == "bpe" else models.Unigram())
    backend.pre_tokenizer = _pre_tokenizer(settings)
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    backend.train_from_iterator(texts, _trainer(reserved, settings), length=len(texts))
    data = json.loads(backend.to_str())
    data["added_tokens"] = []  # they would be found in users' text too
    model = data["model"]
    model["byte_fallback"] = settings.byte_fallback
    if settings.tokenizer == "bpe":
        model["unk_token"] = settings.specials.unk
    else:
        model["vocab"] = _canonical(model["vocab"], len(reserved))
    return Backend.from_str(json.dumps(data))


def _normalizer(settings: Text) -> normalizers.Normalizer:
    steps: list[Any] = [normalizers.Replace(Regex(_SPACES), " "), normalizers.Strip()]
    if settings.lowercase:
        steps.insert(0, normalizers.Lowercase())
    if settings.normalization != "none":
        steps.insert(0, {"nfc": normalizers.NFC, "nfkc": normalizers.NFKC}[settings.normalization]())
    return normalizers.Sequence(steps)


def _pre_tokenizer(settings: Text) -> pre_tokenizers.PreTokenizer:
    """Splits into words, each with U+2581 before it, and breaks what is spelled like a special or a byte token.

    No learnt subword can then equal one, and no text can be read as one.
    """
    spellings = [re.escape(token[0]) + f"(?={re.escape(token[1:])})" for token in special_tokens(settings.specials)]
    breaks = "|".join([*spellings, "<(?=0x)"])
    steps: list[Any] = [pre_tokenizers.Metaspace(), pre_tokenizers.Split(Regex(breaks), "merged_with_previous")]
    if settings.pre_tokenizer == "whitespace":
        steps.insert(0, pre_tokenizers.Whitespace())
    return pre_tokenizers.Sequence(steps)


def _trainer(reserved: list[str], settings: Text) -> trainers.Trainer:
    if settings.tokenizer == "bpe":
        return trainers.BpeTrainer(
            vocab_size=settings.vocabulary_size,
            min_frequency=settings.minimum_frequency,
            special_tokens=list(reserved),
            show_progress=False,
        )
    return trainers.UnigramTrainer(
        vocab_size=settings.vocabulary_size,
        special_tokens=list(reserved),
        unk_token=settings.specials.unk,
        show_progress=False,
    )


def _canonical(vocabulary: list[list[Any]], reserved: int) -> list[list[Any]]:
    """Unigram pieces without what varies from one training to the next.

    The library adds counts up in the order of a randomly seeded hash table: scores differ in their last bits, and
    characters that no sentence's best segmentation keeps get the lowest score plus 0.0001 times a random rank.
    """
    pieces = [(piece, score) for piece, score in vocabulary[reserved:]]
    characters = sum(len(piece) == 1 for piece, _ in pieces)
    lowest = min((score for _, score in pieces), default=0.0)
    ranked = lowest + 0.0001 * characters
    rounded = [
        [piece, round(lowest if len(piece) == 1 and score <= ranked else score, _SCORE_DIGITS)]
        for piece, score in pieces
    ]
    return vocabulary[:reserved] + sorted(rounded, key=lambda entry: (-entry[1], entry[0]))


def _without_rare_characters(texts: list[str], capacity: int) -> list[str]:
    """Texts with spaces for all but the most frequent characters that the vocabulary can hold beside U+2581."""
    if len(set(chain.from_iterable(texts))) < capacity:
        return texts
    counts = Counter(chain.from_iterable(texts))
    del counts[" "]
    ranked = sorted(counts, key=lambda character: (-counts[character], character))
    rare = dict.fromkeys(map(ord, ranked[capacity - 1 :]), " ")
    return [text.translate(rare) for text in texts]
