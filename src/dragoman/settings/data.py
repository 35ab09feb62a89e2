"""Settings of the data: the sentence pairs for training, validation and tests."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from dragoman.settings.base import Settings, advanced

Encoding = Annotated[
    str | None,
    Field(
        min_length=1,
        description="Encoding of the text, such as 'cp1252' or 'utf-16'; unset for UTF-8, and for XML and PO files, "
        "which declare their encoding.",
    ),
]
_LANGUAGE_CODE = r"^[A-Za-z][A-Za-z0-9]*([-_.][A-Za-z0-9]+)*$"
Column = Annotated[int, Field(ge=1, le=1000)] | Annotated[str, Field(min_length=1)]


def _as_tuple(value: Any) -> Any:
    """A list as a tuple: what chooses the kind of a table has read it from JSON already."""
    return tuple(value) if isinstance(value, list) else value


class FilePair(Settings):
    """Two line-aligned text files whose names do not follow one pattern."""

    source: str = Field(description="File with one source sentence per line, plain or .gz.")
    target: str = Field(description="File with the translation of each line.")
    encoding: Encoding = None


class CorpusFile(Settings):
    """A file, or a pattern with {lang}, with facts that the file does not contain."""

    file: str = Field(description="Path of the file, as it would be written alone.")
    encoding: Encoding = None
    delimiter: Literal[",", ";", "|", "\t"] | None = Field(
        None, description="What separates the columns of a CSV or TSV file; unset to detect it in a CSV file."
    )
    columns: Annotated[tuple[Column, Column] | None, BeforeValidator(_as_tuple)] = Field(
        None,
        description="Columns with the source and the target in a CSV, TSV or XLSX file: names in the header row, or "
        "numbers that start at 1.",
    )
    header: bool | None = Field(
        None,
        description="Whether the first row of a CSV, TSV or XLSX file contains the names of the columns. If unset, it "
        "is text, and a row that looks like names is refused.",
    )
    quotes: bool | None = Field(
        None,
        description="Whether quotation marks enclose columns of a CSV or TSV file, as Excel writes them; unset for "
        "true in CSV and false in TSV files.",
    )


CorpusReference = str | FilePair | CorpusFile
"""A corpus: a catalog split such as ``multi30k:train``, ``captions:train`` or ``hf:NAME:SPLIT``; a pattern such as
``my/train.{lang}.gz``; a file in one of the formats of `dragoman.corpus.corpus`; or a table that describes files."""


def _kind_of_reference(value: Any) -> str | None:
    """The type of a reference, which the keys of a table tell; None if it has no such keys."""
    if not isinstance(value, dict):
        return type(value).__name__
    kinds = (("source", FilePair), ("target", FilePair), ("file", CorpusFile))
    return next((kind.__name__ for key, kind in kinds if key in value), None)


_Text = Annotated[str, Tag("str")]
_Files = Annotated[FilePair, Tag("FilePair")]
_File = Annotated[CorpusFile, Tag("CorpusFile")]
_Reference = Annotated[_Text | _Files | _File, Discriminator(_kind_of_reference)]
LEAST_WEIGHT, MOST_WEIGHT = 0.001, 1000.0
IMPORTED = "imported from"
"""How the name of the training text of an imported model begins; the text itself is not known."""


class WeightedCorpus(Settings):
    """A training corpus that is seen more or less often than the others, or whose sources are marked."""

    corpus: _Reference = Field(
        description="The corpus, as it would be written alone. The keys of its table may also be next to these two."
    )
    weight: float = Field(
        1.0,
        ge=LEAST_WEIGHT,
        le=MOST_WEIGHT,
        description="How often each pair is seen in an epoch: 2 is like listing the corpus twice; with 0.25, "
        "each epoch has another quarter of the pairs.",
    )
    tagged: bool = Field(
        False,
        description="Mark each source with a token that no text contains, so that the model can distinguish text of "
        "machines, as `dragoman synthesize` writes it, from other text (Caswell et al. 2019).",
    )

    @model_validator(mode="before")
    @classmethod
    def _separate_files(cls, values: Any) -> Any:
        """Move the keys that describe files to `corpus`."""
        if not isinstance(values, dict) or "corpus" in values:
            return values
        own = {key: value for key, value in values.items() if key in cls.model_fields}
        files = {key: value for key, value in values.items() if key not in own}
        return own | {"corpus": files} if own and _kind_of_reference(files) else values


def _kind_of_corpus(value: Any) -> str | None:
    """The same for a corpus that may have a weight."""
    has_weight = isinstance(value, dict) and not value.keys().isdisjoint(WeightedCorpus.model_fields)
    return "WeightedCorpus" if has_weight else _kind_of_reference(value)


_TrainingCorpus = Annotated[
    _Text | _Files | _File | Annotated[WeightedCorpus, Tag("WeightedCorpus")], Discriminator(_kind_of_corpus)
]


class Data(Settings):
    """The sentence pairs for training, validation and tests."""

    source_language: str = Field(
        pattern=_LANGUAGE_CODE, description="Code of the language to translate from, such as 'de'."
    )
    target_language: str = Field(
        pattern=_LANGUAGE_CODE, description="Code of the language to translate into, such as 'en'."
    )
    train: tuple[_TrainingCorpus, ...] = Field(
        min_length=1,
        description="Corpora to train on: 'multi30k:train' (catalog), 'my/train.{lang}' (line-aligned files; {lang} "
        "is replaced by the language code), a file (.tsv, .csv, .jsonl, .xlsx, .tmx, .xliff, .po, .zip), "
        "'hf:NAME:SPLIT', {source = FILE, target = FILE}, or {file = FILE, …}; {corpus = CORPUS, weight = 2}, or "
        "weight in one of these tables, to see a corpus twice as often.",
    )
    validation: tuple[_Reference, ...] = Field(
        (),
        description="Corpora to validate on; if there are none, validation_pairs are held out of the training corpora.",
    )
    test: tuple[_Reference, ...] = Field((), description="Corpora to score the finished model on.")
    max_tokens: int = Field(
        128, ge=1, le=100_000, description="Leave out training pairs with more tokens than this on either side."
    )
    clean: bool = Field(
        False,
        description="Leave out training pairs in which 'dragoman doctor data' finds problems: duplicates, wrong "
        "languages, misaligned lines, copies of validation and test pairs, and others. Invisible characters are "
        "removed from the other pairs.",
    )
    validation_pairs: int = advanced(
        1000,
        ge=1,
        le=1_000_000,
        description="Number of pairs to hold out of the training corpora if validation is not given; at most a tenth "
        "of all pairs are held out. None are from corpora with a weight below 1, unless all have such a weight.",
    )
    validation_block: int = advanced(
        1,
        ge=1,
        le=100_000,
        description="Number of neighboring pairs that are held out together. Where neighbors are similar, as in "
        "documents, single pairs give scores that are too high. If it is above 1, training pairs that differ from a "
        "held-out pair only in case, spaces and punctuation on one side are left out, too.",
    )
    max_characters: int | None = advanced(
        None,
        ge=1,
        le=1_000_000,
        description="Leave out training pairs with this many characters or more on either side.",
    )

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the source and the target language."""
        return self.source_language, self.target_language

    @property
    def least_held_out_weight(self) -> float:
        """The least weight of corpora that pairs are held out of: 1 if any corpus of text by people has it, else 0."""
        return float(any(each.weight >= 1 for each in self.weighted if not each.tagged))

    @property
    def held_out_ignores_punctuation(self) -> bool:
        """Whether text that differs from held-out text only in case and punctuation is not trained on either."""
        return self.validation_block > 1

    @property
    def weighted(self) -> list[WeightedCorpus]:
        """The training corpora, all with weights."""
        return [each if isinstance(each, WeightedCorpus) else WeightedCorpus(corpus=each) for each in self.train]
