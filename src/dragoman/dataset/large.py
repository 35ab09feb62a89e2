"""Large corpora: prepared once, on disk, by several processes; opened in a moment from then on.

In ``prepared`` of the cache lie directories, each named after a digest of all that decides what is in it:

- ``split-…``: the pairs held out (decided by corpora, languages, filters, and the seed);
- ``tokenizers-…``: learnt from the rest (by the split and the settings of text);
- ``pairs-…``: the ids of the rest, which training maps into memory (by split, tokenizers and max_tokens);
- ``parts-…``: those ids that are done, until all are.
"""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

from dragoman import __version__
from dragoman.corpus.pair import Corpus, Pair
from dragoman.dataset.encoding import Part, encode_parts
from dragoman.dataset.split import TrainingText, choose_held_out, evenly, is_short, learn_tokenizers, sample_size
from dragoman.dataset.token_store import PairStore, join_parts, load_part, open_pairs
from dragoman.errors import UserError
from dragoman.settings import Recipe
from dragoman.system.build_cache import digest, locked, sealed
from dragoman.system.cache import cache_directory
from dragoman.system.cpu import usable_cores
from dragoman.system.files import read_json, write_json
from dragoman.system.progress import Meter, Update
from dragoman.text.registry import load_tokenizers, save_tokenizers
from dragoman.text.tokenizer import Tokenizer

FORMAT = 1
"""Changed whenever the same text would be prepared differently, so that what is older is made anew."""

PART_PAIRS = 20_000
"""Pairs encoded at a time: some seconds' work, the most that a process killed can lose."""

HELD_OUT = "held-out.json"

Tokenizers = tuple[Tokenizer, Tokenizer]


@dataclass(frozen=True)
class Split:
    """A large text, split into pairs to learn from and to validate on."""

    read: int  # pairs with text on both sides
    train: TrainingText
    number: int  # of pairs to learn from; at the most, for some may share a side with one held out
    held_out: list[Pair]


class LargeText:
    """The training text of a recipe, and what is made of it.

    Args:
        recipe: Which corpora, filters and settings of text.
        corpora: The training corpora.
        note: Is told what a person should know.
        update: Is told how far the work is.
    """

    def __init__(self, recipe: Recipe, corpora: Sequence[Corpus], note: Callable[[str], None], update: Update) -> None:
        self.recipe, self.note, self.update = recipe, note, update
        self.text = TrainingText(corpora, recipe.data.max_characters)
        self.home = cache_directory() / "prepared"
        self.identity = self._identity()

    @property
    def known(self) -> bool:
        """Whether this text was found to be large before."""
        return self._path("split", self.identity).is_dir()

    @contextmanager
    def prepared(self) -> Iterator[Split]:
        """The split, found or made; until the end no other process works on the same text.

        Raises:
            UserError: The text is refused, or the cache cannot be written to.
        """
        for file in (file for corpus in self.text.corpora for file in corpus.files):
            if not file.is_file():
                raise UserError(f"{file}: not a regular file, and so many pairs have to be read several times")
        with locked(self.home / f"{digest(self.identity)}.lock", self.note):
            try:
                yield self._split()
            except KeyboardInterrupt:
                self.note("interrupted while preparing text; what is done is kept, and the same command goes on")
                raise

    def tokenizers(self, split: Split) -> Tokenizers:
        """The tokenizers that are learnt from the text, now or before."""
        identity = {"split": self.identity, "text": self.recipe.text.model_dump(), "library": self._library()}
        path = self._path("tokenizers", identity)

        def make(directory: Path) -> dict[str, Any]:
            save_tokenizers(directory, *learn_tokenizers(self.recipe, *self._texts(split)))
            return {}

        sealed(path, identity, make, self.note)
        return load_tokenizers(path)

    def pairs(self, split: Split, tokenizers: Tokenizers) -> PairStore:
        """The ids of the pairs to learn from, memory-mapped; made now or before."""
        data = self.recipe.data
        identity = {
            "split": self.identity,
            "tokenizers": [digest(tokenizer.to_json()) for tokenizer in tokenizers],
            "max_tokens": data.max_tokens,
            "library": self._library(),
        }
        parts = self._path("parts", [identity, PART_PAIRS])

        def make(directory: Path) -> dict[str, Any]:
            paths = self._encode(split, tokenizers, parts)
            self.update(1.0, "writing the ids …")
            number = join_parts(paths, directory)
            if not number:
                shutil.rmtree(parts)
                raise UserError(f"data.max_tokens = {data.max_tokens}: no training pair is that short")
            return {"pairs": number}

        path = self._path("pairs", identity)
        sealed(path, identity, make, self.note)
        shutil.rmtree(parts, ignore_errors=True)
        return open_pairs(path)

    def _split(self) -> Split:
        path = self._path("split", self.identity)
        facts = sealed(path, self.identity, self._make_split, self.note)
        held_out = [Pair(*texts) for texts in read_json(path / HELD_OUT)["pairs"]]
        return Split(facts["read"], replace(self.text, held_out=held_out), facts["short"] - len(held_out), held_out)

    def _make_split(self, directory: Path) -> dict[str, Any]:
        data, held_out = self.recipe.data, []
        read = short = 0
        for pair in Meter(self.update, "reading").watch(self.text.complete()):
            read += 1
            short += is_short(pair, data.max_characters)
        if not data.validation:
            chosen = set(choose_held_out(short, data.validation_pairs, self.recipe.training.seed))
            pairs = Meter(self.update, "holding out pairs to validate on", short).watch(self.text)
            held_out = [[pair.source, pair.target] for index, pair in enumerate(pairs) if index in chosen]
        if short <= len(held_out):
            raise UserError(f"data.train: {read:,} pairs are too few to train and validate on")
        write_json(directory / HELD_OUT, {"pairs": held_out})
        return {"read": read, "short": short}

    def _texts(self, split: Split) -> tuple[Iterator[str], Iterator[str]]:
        """The sources, and then the targets, that the vocabulary is learnt from."""
        size = sample_size(self.recipe.text, split.number)
        meter = Meter(self.update, "reading for the vocabulary", 2 * size)

        def targets() -> Iterator[str]:
            for pair in meter.watch(evenly(split.train, split.number, size)):
                yield pair.target
            self.update(1.0, "learning the vocabulary …")

        return (pair.source for pair in meter.watch(evenly(split.train, split.number, size))), targets()

    def _encode(self, split: Split, tokenizers: Tokenizers, directory: Path) -> list[Path]:
        """Encode all parts that were not encoded before; the files of all of them, in order."""
        directory.mkdir(parents=True, exist_ok=True)
        paths: list[Path] = []
        meter = Meter(self.update, "turning text into ids", split.number)

        def missing() -> Iterator[Part]:
            pairs = iter(split.train)
            while part := list(islice(pairs, PART_PAIRS)):
                paths.append(directory / f"{len(paths):06}.npz")
                if self._is_done(paths[-1]):
                    meter.add(len(part), skipped=True)
                else:
                    yield paths[-1], part

        processes = self.recipe.training.threads or usable_cores()
        with closing(encode_parts(missing(), *tokenizers, self.recipe.data.max_tokens, processes)) as done:
            for number in done:
                meter.add(number)
        if self._identity() != self.identity:
            shutil.rmtree(directory)
            raise UserError("data.train: a file was changed while it was read")
        return paths

    def _is_done(self, part: Path) -> bool:
        if not part.exists():
            return False
        whole = load_part(part) is not None
        if not whole:
            self.note(f"{part}: damaged; making it again")
        return whole

    def _identity(self) -> dict[str, Any]:
        """What decides how the text is split: a file counts as changed when its size or its time has."""
        data = self.recipe.data
        held_out = None if data.validation else [data.validation_pairs, self.recipe.training.seed]
        corpora = []
        for corpus in self.text.corpora:
            statuses = [(file, file.stat()) for file in corpus.files]
            files = [[str(file.resolve()), status.st_size, status.st_mtime_ns] for file, status in statuses]
            corpora.append([corpus.name, files or __version__])
        return {
            "format": FORMAT,
            "languages": [data.source_language, data.target_language],
            "corpora": corpora,
            "max_characters": data.max_characters,
            "held_out": held_out,
        }

    def _library(self) -> str:
        """What splits text, in its version."""
        name = {"spacy": "spacy", "whitespace": None}.get(self.recipe.text.tokenizer, "tokenizers")
        try:
            return f"{name} {metadata.version(name)}" if name else f"Unicode {unicodedata.unidata_version}"
        except metadata.PackageNotFoundError:  # who needs it will tell how to install it
            return f"no {name}"

    def _path(self, kind: str, identity: Any) -> Path:
        return self.home / f"{kind}-{digest(identity)}"
