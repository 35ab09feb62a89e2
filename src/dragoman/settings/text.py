"""Settings of the text: normalization and tokenization."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dragoman.settings.base import Probability, Rule, Settings, advanced


class Specials(Settings):
    """The spelling of the special tokens."""

    rules = (
        Rule(
            lambda specials: any(len({specials.unk, specials.pad, each}) < 3 for each in (specials.bos, specials.eos)),
            "the special tokens must be spelled differently, except bos and eos",
        ),
    )
    unk: str = Field("<unk>", min_length=1, description="Replaces tokens that are not in the vocabulary.")
    pad: str = Field("<pad>", min_length=1, description="Pads the shorter sentences of a batch.")
    bos: str = Field("<s>", min_length=1, description="Starts every target sentence; may be the same token as eos.")
    eos: str = Field("</s>", min_length=1, description="Ends every source and target sentence.")


class Text(Settings):
    """Normalization and tokenization."""

    rules = (
        Rule(
            lambda text: text.bpe_dropout > 0 and text.tokenizer != "bpe",
            "bpe_dropout needs tokenizer = 'bpe', not '{0.tokenizer}'",
        ),
        Rule(
            lambda text: (
                text.placeholders and not (text.tokenizer in ("bpe", "unigram") and text.pre_tokenizer == "metaspace")
            ),
            "placeholders needs tokenizer = 'bpe' or 'unigram' with pre_tokenizer = 'metaspace', which restore spaces",
        ),
        Rule(lambda text: text.terms and not text.placeholders, "terms needs placeholders = true"),
    )
    tokenizer: Literal["bpe", "unigram", "whitespace", "spacy"] = Field(
        "bpe",
        description="Subwords learned from the training text (bpe, unigram), or words (separated at white space, or "
        "by spaCy's rules).",
    )
    vocabulary_size: int = Field(
        8000,
        ge=16,
        le=1_000_000,
        description="Number of entries in each subword vocabulary, special tokens included (bpe, unigram).",
    )
    joint: bool = Field(True, description="One vocabulary for both languages instead of one each.")
    lowercase: bool = Field(False, description="Convert everything to lower case before tokenizing.")
    bpe_dropout: Probability = Field(
        0.0,
        description="Probability of skipping a BPE merge in training, so that words occur in many segmentations "
        "(Provilkov et al. 2020); 0.1 helps small corpora.",
    )
    placeholders: bool = Field(
        False,
        description="Copy placeholders, tags, URLs, e-mail addresses, file names, emoji and numbers exactly: training "
        "replaces them by reserved tokens that the model learns to copy. Sentences in capital letters are translated "
        "as they are usually written (bpe, unigram).",
    )
    terms: bool = Field(
        False,
        description="Reserve tokens that mark given translations of terms in a source, so that the translator can "
        "follow a glossary; needs placeholders, and training.augmentation.terms.",
    )
    subword_pairs: int = advanced(
        1_000_000,
        ge=1,
        le=1_000_000_000,
        description="Maximum number of pairs from which subwords are learned, evenly spaced in the training text (bpe, "
        "unigram); words are counted in all pairs.",
    )
    temperature: float = advanced(
        5.0,
        ge=1,
        le=100,
        description="Balance of languages in the text from which a vocabulary for several directions is learned: "
        "their shares are proportional to n^(1/temperature) for n sentences, so that words of a small language are not "
        "split into single characters.",
    )
    minimum_frequency: int = advanced(
        1,
        ge=1,
        le=1_000_000,
        description="Words (or BPE merges) that occur fewer times in the training text are not in the vocabulary.",
    )
    normalization: Literal["none", "nfc", "nfkc"] = advanced(
        "nfc", description="Unicode normal form applied before tokenizing."
    )
    pre_tokenizer: Literal["metaspace", "whitespace"] = advanced(
        "metaspace",
        description="How subword tokenizers first split text: at spaces, which are kept as a special character, so "
        "that the text can be restored exactly (metaspace), or at spaces and punctuation, without keeping the spaces "
        "(whitespace).",
    )
    byte_fallback: bool = advanced(
        True,
        description="Encode characters that are not in a subword vocabulary as UTF-8 bytes (256 entries) instead of "
        "unk.",
    )
    specials: Specials = advanced(Specials(), description="Spelling of the special tokens.")
