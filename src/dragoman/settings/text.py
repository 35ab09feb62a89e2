"""Settings: how strings become tokens."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dragoman.settings.base import Probability, Settings


def _specials_differ(specials: Specials) -> str | None:
    spellings = {specials.unk, specials.pad, specials.bos, specials.eos}
    return "the four specials must be spelled differently" if len(spellings) < 4 else None


class Specials(Settings):
    """Spellings of the four special tokens."""

    rules = (_specials_differ,)
    unk: str = Field("<unk>", min_length=1, description="Stands for what the vocabulary lacks.")
    pad: str = Field("<pad>", min_length=1, description="Fills short sentences of a batch.")
    bos: str = Field("<s>", min_length=1, description="Starts every target sentence.")
    eos: str = Field("</s>", min_length=1, description="Ends every source and target sentence.")


def _only_bpe_has_merges(text: Text) -> str | None:
    lacks = text.bpe_dropout > 0 and text.tokenizer != "bpe"
    return f"bpe_dropout needs tokenizer = 'bpe', not {text.tokenizer!r}" if lacks else None


class Text(Settings):
    """How strings become tokens."""

    rules = (_only_bpe_has_merges,)
    tokenizer: Literal["bpe", "unigram", "whitespace", "spacy"] = Field(
        "bpe", description="Subwords learnt from the data (bpe, unigram) or words (whitespace, spacy's rules)."
    )
    vocabulary_size: int = Field(
        8000, ge=16, description="Entries of each subword vocabulary, specials included (bpe, unigram)."
    )
    subword_pairs: int = Field(
        1_000_000,
        ge=1,
        description="Most pairs that subwords are learnt from, spread evenly over the training text (bpe, unigram); "
        "words are counted in all pairs.",
    )
    joint: bool = Field(True, description="One vocabulary for both languages instead of one each.")
    minimum_frequency: int = Field(
        1, ge=1, description="Words (or BPE merges) seen less often in training are left out of the vocabulary."
    )
    lowercase: bool = Field(False, description="Lowercase everything before tokenizing.")
    normalization: Literal["none", "nfc", "nfkc"] = Field(
        "nfc", description="Unicode normal form applied before tokenizing."
    )
    pre_tokenizer: Literal["metaspace", "whitespace"] = Field(
        "metaspace",
        description="How subword tokenizers first split text: at spaces, kept as a mark, so that the text can be "
        "restored exactly (metaspace), or at spaces and punctuation, spaces dropped (whitespace).",
    )
    byte_fallback: bool = Field(
        True, description="Spell characters outside a subword vocabulary as UTF-8 bytes (256 entries) instead of unk."
    )
    specials: Specials = Field(default=Specials(), description="Spellings of the special tokens.")
    bpe_dropout: Probability = Field(
        0.0,
        description="Leave merges of BPE out with this probability in training, so that words are seen in many "
        "segmentations (Provilkov et al. 2020); 0.1 helps small corpora.",
    )
