"""Settings of the data: the sentence pairs for training, validation and tests."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import chain, permutations
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


def _as_direction(value: Any) -> Any:
    """``de-en``, or ``pt-BR:en``, as a pair of codes."""
    return tuple(value.split(":" if ":" in value else "-")) if isinstance(value, str) else _as_tuple(value)


Direction = Annotated[
    tuple[Annotated[str, Field(pattern=_LANGUAGE_CODE)], Annotated[str, Field(pattern=_LANGUAGE_CODE)]],
    BeforeValidator(_as_direction),
]
_Languages = Annotated[
    Direction | None,
    Field(
        description="The languages of source and target, such as ['de', 'hsb'], in models with several directions; "
        "unset for data.source_language and data.target_language."
    ),
]


class FilePair(Settings):
    """Two line-aligned text files whose names do not follow one pattern."""

    source: str = Field(description="File with one source sentence per line, plain or .gz.")
    target: str = Field(description="File with the translation of each line.")
    encoding: Encoding = None
    languages: _Languages = None


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
    languages: _Languages = None


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
    one_way: bool = Field(
        False,
        description="In a model with several directions, train only the direction of the languages of the corpus, not "
        "the opposite one: for text whose targets are by a machine, such as those of a student's teacher.",
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
        pattern=_LANGUAGE_CODE,
        description="Code of the language to translate from, such as 'de'; with several directions, that of the first.",
    )
    target_language: str = Field(
        pattern=_LANGUAGE_CODE,
        description="Code of the language to translate into, such as 'en'; with several directions, that of the first.",
    )
    directions: Annotated[tuple[Direction, ...], BeforeValidator(_as_tuple)] = Field(
        (),
        description="The directions of a model with several, such as ['de-hsb', 'hsb-de']; unset for all that the "
        "languages of the training corpora allow, each pair both ways. Empty for a model with one direction.",
    )
    temperature: float = Field(
        1.0,
        ge=1,
        le=100,
        description="Balance of pairs of languages in a model with several directions: their shares are proportional "
        "to n^(1/temperature) for n pairs (Arivazhagan et al. 2019). 1: in proportion to their text.",
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
    join: bool = advanced(
        True,
        description="In a model with several directions, also train those that no corpus has, if corpora make pairs "
        "together: a line with a translation in de-en and another one in en-fr is a pair in de-fr.",
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
        """Codes of the source and the target language; with several directions, those of the first."""
        return self.source_language, self.target_language

    @property
    def all_languages(self) -> list[str]:
        """The codes of all languages, each once."""
        return list(dict.fromkeys(code for direction in self.directions or (self.languages,) for code in direction))

    @property
    def has_several_pairs(self) -> bool:
        """Whether the directions are between several pairs of languages, so that text has to state its own."""
        return len(set(map(frozenset, self.directions))) > 1

    def languages_of(self, reference: CorpusReference) -> tuple[str, str]:
        """The languages of a corpus: with several directions those that it states, or else those of the recipe.

        With one direction, text that states the opposite one is turned around as it is read.
        """
        stated = None if isinstance(reference, str) or not self.directions else reference.languages
        return stated or self.languages

    def directions_of(self, reference: CorpusReference, one_way: bool = False) -> list[tuple[str, str]]:
        """The directions that a corpus is used for: that of its languages, and the opposite one if not `one_way`."""
        languages = self.languages_of(reference)
        both = (languages,) if one_way else (languages, languages[::-1])
        return [each for each in both if each in self.directions]

    def state(self, reference: CorpusReference) -> CorpusReference:
        """The corpus with the languages that it has here."""
        languages = self.languages_of(reference)
        if isinstance(reference, str):
            return CorpusFile(file=reference, languages=languages)
        return reference.model_copy(update={"languages": languages})

    def in_languages(self, languages: tuple[str, str]) -> Data:
        """The same text for another direction; corpora that have stated no languages state them now."""
        codes = {"source_language": languages[0], "target_language": languages[1]}
        if not self.directions or languages == self.languages:
            return self.model_copy(update=codes)
        train = [each.model_copy(update={"corpus": self.state(each.corpus)}) for each in self.weighted]
        others = {name: tuple(map(self.state, getattr(self, name))) for name in ("validation", "test")}
        return self.model_copy(update={**codes, "train": tuple(train), **others})

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


def resolve_directions(data: dict[str, Any]) -> dict[str, Any]:
    """The section of a recipe as plain data, with all directions that the text has if it is in several languages.

    A recipe whose corpora are all in the same two languages has one direction, unless it names more. If it names no
    source and target language, they are those of the first direction.

    Args:
        data: The section, which may be invalid; then it is returned as it is, for validation to report it.
    """
    train, default = data.get("train"), (data.get("source_language"), data.get("target_language"))
    if not isinstance(train, list | tuple):
        return data
    stated = [_stated_languages(each) for each in train]
    pairs = list(dict.fromkeys(each for each in stated if each))
    directions = data.get("directions") or []
    known = [(source, target) for source, target in [default] if isinstance(source, str) and isinstance(target, str)]
    if not directions and len({frozenset(pair) for pair in [*known, *pairs]}) > 1:
        both = dict.fromkeys(each for pair in [*known, *pairs] for each in (pair, pair[::-1]))
        directions = list(map(list, both))
        data = {**data, "directions": directions}
    first = _as_direction(directions[0]) if isinstance(directions, list | tuple) and directions else None
    if isinstance(first := first or next(iter(pairs), None), tuple) and len(first) == 2:
        data = {"source_language": first[0], "target_language": first[1], **data}
    return data


def _stated_languages(corpus: Any) -> tuple[str, str] | None:
    """The languages in the table of a corpus as plain data."""
    if not isinstance(corpus, dict):
        return None
    languages = _as_direction(corpus.get("languages"))
    if isinstance(languages, tuple) and len(languages) == 2 and all(isinstance(each, str) for each in languages):
        return languages[0], languages[1]
    return _stated_languages(corpus.get("corpus"))


def can_be_joined(direction: tuple[str, str], pairs: Set[frozenset[str]]) -> bool:
    """Whether there is no text in these languages, but other text that may share lines, and so make some."""
    source, target = direction
    others = frozenset[str]().union(*pairs) - {source, target}
    is_connected = any({frozenset((source, other)), frozenset((other, target))} <= pairs for other in others)
    return is_connected and frozenset(direction) not in pairs


def joined_directions(directions: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The directions without text for which text in these may share lines."""
    codes, pairs = dict.fromkeys(chain.from_iterable(directions)), set(map(frozenset, directions))
    return [each for each in permutations(codes, 2) if can_be_joined(each, pairs)]


def direction_problem(data: Data) -> str | None:
    """What is wrong with the directions of a recipe, or None."""
    if not data.directions:
        return _language_problem(data)
    if any(source.lower() == target.lower() for source, target in data.directions):
        return "data.directions: source and target of a direction must differ"
    if len(set(data.directions)) < len(data.directions):
        return "data.directions: a direction is listed twice"
    used = [data.directions_of(each.corpus, each.one_way) for each in data.weighted]
    pairs = {frozenset(data.languages_of(each.corpus)) for each in data.weighted} if data.join else set()
    available = {*chain.from_iterable(used), *(each for each in data.directions if can_be_joined(each, pairs))}
    if lacking := [each for each in data.directions if each not in available]:
        return (
            f"data.directions: no training corpus is in {' and '.join(map('-'.join, lacking))}; give corpora their "
            "languages, as in {file = FILE, languages = ['de', 'hsb']}, or leave the direction out"
        )
    if not all(used):
        languages = data.languages_of(data.weighted[used.index([])].corpus)
        return f"data.train: a corpus is in {'-'.join(languages)}, which is in none of data.directions"
    return None


def _language_problem(data: Data) -> str | None:
    """What is wrong with the languages that the corpora of a recipe with one direction state, or None."""
    one_way = [each.corpus for each in data.weighted if each.tagged or each.one_way]
    for corpus in (*(each.corpus for each in data.weighted), *data.validation, *data.test):
        stated = None if isinstance(corpus, str) else corpus.languages
        if stated and stated not in (data.languages, data.languages[::-1]):
            return f"data: a corpus is in {'-'.join(stated)}, but the recipe is for {'-'.join(data.languages)}"
        if stated == data.languages[::-1] and corpus in one_way:
            return (
                f"data.train: a corpus that is tagged or one_way is in {'-'.join(stated)}; in a recipe for "
                f"{'-'.join(data.languages)}, its targets would be text of machines; leave it out"
            )
    return None
