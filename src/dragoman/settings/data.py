"""Settings of the data: the sentence pairs for training, validation and tests."""

from __future__ import annotations

from pydantic import Field

from dragoman.settings.base import Settings, advanced


class FilePair(Settings):
    """Two line-aligned text files whose names do not follow one pattern."""

    source: str = Field(description="File with one source sentence per line, plain or .gz.")
    target: str = Field(description="File with the translation of each line.")


CorpusReference = str | FilePair
"""A corpus: a catalog split such as ``multi30k:train``, ``captions:train`` or ``hf:NAME:SPLIT``; a pattern such as
``my/train.{lang}.gz``; a ``.tsv`` or ``.jsonl`` file; or two files."""


class Data(Settings):
    """The sentence pairs for training, validation and tests."""

    source_language: str = Field(description="Code of the language to translate from, such as 'de'.")
    target_language: str = Field(description="Code of the language to translate into, such as 'en'.")
    train: tuple[CorpusReference, ...] = Field(
        min_length=1,
        description="Corpora to train on: 'multi30k:train' (catalog), 'my/train.{lang}' (line-aligned files; {lang} "
        "is replaced by the language code), 'pairs.tsv', 'pairs.jsonl', 'hf:NAME:SPLIT', or {source = FILE, target = "
        "FILE}.",
    )
    validation: tuple[CorpusReference, ...] = Field(
        (),
        description="Corpora to validate on; if there are none, validation_pairs are held out of the training corpora.",
    )
    test: tuple[CorpusReference, ...] = Field((), description="Corpora to score the finished model on.")
    max_tokens: int = Field(
        128, ge=1, le=100_000, description="Leave out training pairs with more tokens than this on either side."
    )
    validation_pairs: int = advanced(
        1000,
        ge=1,
        le=1_000_000,
        description="Number of pairs to hold out of the training corpora if validation is not given; at most a tenth "
        "of all pairs are held out.",
    )
    max_characters: int | None = advanced(
        None,
        ge=1,
        le=1_000_000,
        description="Leave out training pairs with this many characters or more on either side.",
    )
