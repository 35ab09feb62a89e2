"""Training subword tokenizers; the same text always produces the same tokenizer."""

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
from dragoman.text.masking import ALL_RESERVED, Masking
from dragoman.text.normalization import SPACES, replace_surrogates
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.term_marks import TERM_MARKS
from dragoman.text.vocabulary import special_tokens

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
_SCORE_DIGITS = 4
_MAX_WORD_LENGTH = 1000


def train_subwords(
    sides: Sequence[tuple[str, Iterable[str]]], settings: Text, languages: Sequence[str] = ()
) -> list[SubwordTokenizer]:
    """One tokenizer trained on all sides, returned once for each of them.

    Args:
        sides: For each, its language and its sentences.
        settings: What to train.
        languages: Spellings of the tokens of languages, which the vocabulary gets.

    Raises:
        UserError: The settings leave no vocabulary entries for subwords, or a special token is unsuitable.
    """
    assert settings.tokenizer in ("bpe", "unigram")
    reserved = _reserved_tokens(settings, languages)
    normalizer = _normalizer(settings)
    texts = [normalizer.normalize_str(_without_long_words(text)) for _, side in sides for text in side]
    texts = _without_rare_characters(texts, settings.vocabulary_size - len(reserved))
    backend = _train(texts, reserved, settings, languages)
    backend.normalizer = normalizer
    masking = Masking() if settings.placeholders else None
    tokenizer = SubwordTokenizer(settings.tokenizer, settings.pre_tokenizer, settings.specials, backend, masking)
    return [tokenizer] * len(sides)


def _reserved_tokens(settings: Text, languages: Sequence[str]) -> list[str]:
    """Tokens that are not learned: special tokens, bytes, reserved characters, tokens of languages."""
    specials = special_tokens(settings.specials)
    for name, spelling in settings.specials.model_dump().items():
        if len(spelling) < 2 or spelling.startswith("<0x"):
            raise UserError(
                f"text.specials.{name} = {spelling!r}: with subwords, special tokens need at least two characters and "
                "must not start with '<0x', so that they differ from text and from byte tokens"
            )
    groups = {
        "the special tokens": specials,
        "text.byte_fallback": BYTES if settings.byte_fallback else [],
        "text.placeholders": list(ALL_RESERVED) if settings.placeholders else [],
        "text.terms": list(TERM_MARKS) if settings.terms else [],
        "the languages": list(languages),
    }
    reserved = [token for tokens in groups.values() for token in tokens]
    if settings.vocabulary_size <= len(reserved) + 1:
        names = " and ".join(name for name, tokens in groups.items() if tokens)
        raise UserError(
            f"text.vocabulary_size = {settings.vocabulary_size} leaves no entries for subwords: {names} take "
            f"{len(reserved)}"
        )
    return reserved


def _without_long_words(text: str) -> str:
    """The text without very long words, which take quadratic time in BPE and 2 kB per character in unigram."""
    text = replace_surrogates(text)
    if len(text) <= _MAX_WORD_LENGTH:
        return text
    return " ".join(word for word in text.split() if len(word) <= _MAX_WORD_LENGTH)


def _train(texts: list[str], reserved: list[str], settings: Text, languages: Sequence[str]) -> Backend:
    backend = Backend(models.BPE() if settings.tokenizer == "bpe" else models.Unigram())
    backend.pre_tokenizer = _pre_tokenizer(settings, languages)
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    backend.train_from_iterator(texts, _trainer(reserved, settings), length=len(texts))
    data = json.loads(backend.to_str())
    data["added_tokens"] = []  # the library would recognize them in users' text too
    model = data["model"]
    model["byte_fallback"] = settings.byte_fallback
    if settings.tokenizer == "bpe":
        model["unk_token"] = settings.specials.unk
    else:
        model["vocab"] = _deterministic(model["vocab"], reserved)
    return Backend.from_str(json.dumps(data))


def _normalizer(settings: Text) -> normalizers.Normalizer:
    steps: list[Any] = [normalizers.Replace(Regex(SPACES), " "), normalizers.Strip()]
    if settings.lowercase:
        steps.insert(0, normalizers.Lowercase())
    if settings.normalization != "none":
        steps.insert(0, {"nfc": normalizers.NFC, "nfkc": normalizers.NFKC}[settings.normalization]())
    return normalizers.Sequence(steps)


def _pre_tokenizer(settings: Text, languages: Sequence[str] = ()) -> pre_tokenizers.PreTokenizer:
    """Splits text into words that start with U+2581, and splits the spellings of special, language and byte tokens.

    Therefore no learned subword can equal such a token, and no text can be encoded as one.
    """
    breaks = break_in([*special_tokens(settings.specials), *languages, "<0x"])
    steps: list[Any] = [pre_tokenizers.Metaspace(), pre_tokenizers.Split(Regex(breaks), "merged_with_previous")]
    if settings.placeholders:
        steps.append(pre_tokenizers.Split(Regex(f"[{ALL_RESERVED}{TERM_MARKS}]"), "isolated"))
    if settings.pre_tokenizer == "whitespace":
        steps.insert(0, pre_tokenizers.Whitespace())
    return pre_tokenizers.Sequence(steps)


def break_in(spellings: Iterable[str]) -> str:
    """A regular expression of the first characters of spellings, after which these are split."""
    return "|".join(re.escape(each[0]) + f"(?={re.escape(each[1:])})" for each in spellings)


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


def _deterministic(vocabulary: list[list[Any]], reserved: list[str]) -> list[list[Any]]:
    """Unigram tokens and scores without what differs between two trainings on the same text.

    The library sums counts in the order of a randomly seeded hash table, so that scores differ in their last bits.
    Characters that occur in no sentence's best segmentation get the lowest score plus 0.0001 times a random rank.
    Reserved characters of masked sentences are learned too, so they are removed: they are among the reserved tokens.
    """
    learned = [(token, score) for token, score in vocabulary[len(reserved) :] if token not in reserved]
    characters = sum(len(token) == 1 for token, _ in learned)
    lowest = min((score for _, score in learned), default=0.0)
    highest_ranked = lowest + 0.0001 * characters
    rounded = [
        [token, round(lowest if len(token) == 1 and score <= highest_ranked else score, _SCORE_DIGITS)]
        for token, score in learned
    ]
    return vocabulary[: len(reserved)] + sorted(rounded, key=lambda entry: (-entry[1], entry[0]))


def _without_rare_characters(texts: list[str], capacity: int) -> list[str]:
    """The texts with spaces in place of the rarest characters if the vocabulary cannot hold all of them and U+2581."""
    if len(set(chain.from_iterable(texts))) < capacity:
        return texts
    counts = Counter(chain.from_iterable(texts))
    del counts[" "]
    ranked = sorted(counts, key=lambda character: (-counts[character], character))
    rare = dict.fromkeys(map(ord, ranked[capacity - 1 :]), " ")
    return [text.translate(rare) for text in texts]
