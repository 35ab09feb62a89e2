"""Settings of the text: how strings become tokens."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dragoman.settings.base import Probability, Settings, advanced


def _specials_differ(specials: Specials) -> str | None:
    spellings = {specials.unk, specials.pad, specials.bos, specials.eos}
    return "the four special tokens must be spelled differently" if len(spellings) < 4 else None


class Specials(Settings):
    """How the four special tokens are spelled."""

    rules = (_specials_differ,)
    unk: str = Field("<unk>", min_length=1, description="Replaces tokens that the vocabulary lacks.")
    pad: str = Field("<pad>", min_length=1, description="Fills up the short sentences of a batch.")
    bos: str = Field("<s>", min_length=1, description="Begins every target sentence.")
    eos: str = Field("</s>", min_length=1, description="Ends every source and target sentence.")


def _only_bpe_has_merges(text: Text) -> str | None:
    without_merges = text.bpe_dropout > 0 and text.tokenizer != "bpe"
    return f"bpe_dropout needs tokenizer = 'bpe', not {text.tokenizer!r}" if without_merges else None


class Text(Settings):
    """How strings become tokens."""

    rules = (_only_bpe_has_merges,)
    tokenizer: Literal["bpe", "unigram", "whitespace", "spacy"] = Field(
        "bpe",
        description="Subwords learned from the training text (bpe, unigram), or words (separated by white space, or "
        "by spaCy's rules).",
    )
    vocabulary_size: int = Field(
        8000,
        ge=16,
        le=1_000_000,
        description="Entries of each subword vocabulary, special tokens included (bpe, unigram).",
    )
    joint: bool = Field(True, description="One vocabulary for both languages instead of one each.")
    lowercase: bool = Field(False, description="Convert everything to lower case before tokenizing.")
    bpe_dropout: Probability = Field(
        0.0,
        description="Probability of leaving out a BPE merge in training, so that words occur in many segmentations "
        "(Provilkov et al. 2020); 0.1 helps small corpora.",
    )
    subword_pairs: int = advanced(
        1_000_000,
        ge=1,
        le=1_000_000_000,
        description="Most pairs that subwords are learned from, evenly spread over the training text (bpe, unigram); "
        "words are counted in all pairs.",
    )
    minimum_frequency: int = advanced(
        1,
        ge=1,
        le=1_000_000,
        description="Leave words (or BPE merges) that are rarer than this in the training text out of the vocabulary.",
    )
    normalization: Literal["none", "nfc", "nfkc"] = advanced(
        "nfc", description="Unicode normal form applied before tokenizing."
    )
    pre_tokenizer: Literal["metaspace", "whitespace"] = advanced(
        "metaspace",
        description="How subword tokenizers first split text: at spaces, which are kept as a mark, so that the text "
        "can be restored exactly (metaspace), or at spaces and punctuation, without keeping spaces (whitespace).",
    )
    byte_fallback: bool = advanced(
        True,
        description="Spell characters that a subword vocabulary lacks as UTF-8 bytes (256 entries) instead of unk.",
    )
    specials: Specials = advanced(Specials(), description="How the special tokens are spelled.")
