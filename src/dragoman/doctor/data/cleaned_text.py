"""Training text without the pairs in which the doctor finds problems."""

from __future__ import annotations

import csv
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from dragoman.corpus.corpus import find_corpora
from dragoman.corpus.pair import Languages
from dragoman.corpus.references import file_name
from dragoman.dataset.joined import join_texts
from dragoman.dataset.pairs import CorpusChangedError, CorpusPairs, mark_machine_made
from dragoman.doctor.data.check import PASSES, check_corpora
from dragoman.doctor.data.cleaned_copy import DROPPED
from dragoman.doctor.data.corpora import Corpora, corpora_of_recipe, stated_languages
from dragoman.doctor.findings.finding import Finding
from dragoman.errors import UserError, counted
from dragoman.settings import CorpusReference, Data, FilePair, WeightedCorpus
from dragoman.system.cache import cache_directory
from dragoman.system.progress import Log, Meter, Update, no_update
from dragoman.system.resumable import BuildCache
from dragoman.system.version import __version__
from dragoman.text.multilingual import name_direction

EMPTY = "empty-side"
DUPLICATE = "duplicates"
FORMAT = 11  # increase it if a change finds other problems in the same text, or stores other facts
REMEDY = "correct the text, or train on all of it with data.clean = false (--keep-all of init and train)"
MIN_KEPT = 0.5  # of the pairs that do not only repeat others; if fewer are left, the text as a whole is wrong


@dataclass(frozen=True)
class CleanedText:
    """A copy of training corpora without the pairs that have problems, in the cache.

    Attributes:
        files: The copy.
        kept: The number of its pairs.
        left_out: The number of pairs with text on both sides that were left out.
        copies: How many of them only repeat other pairs.
        reasons: How many of them have each problem, by code, the most frequent first; a pair may have several.
        errors: What is wrong with a whole corpus, such as swapped sides, trained on or not.
        warnings: Parts of files that are not used, and less serious findings that leaving out pairs does not solve.
        kept_by_corpus: The number of pairs that each corpus has in the copy, which contains them in order.
        listings: Tables of the pairs that were left out, with corpus, line and reasons.
    """

    files: FilePair
    kept: int
    left_out: int
    copies: int
    reasons: dict[str, int]
    errors: list[str]
    warnings: list[str]
    kept_by_corpus: list[int]
    listings: tuple[Path, ...]

    def write_listing(self, path: Path) -> None:
        """Write a table of all pairs that were left out."""
        with path.open("wb") as file:
            for number, listing in enumerate(self.listings):
                with listing.open("rb") as lines:
                    file.writelines(islice(lines, bool(number), None))  # one header

    @property
    def is_mostly_left_out(self) -> bool:
        """Whether so few pairs are left that the text as a whole is wrong."""
        return not self.kept or self.kept < MIN_KEPT * (self.kept + self.left_out - self.copies)

    @property
    def left_out_share(self) -> float:
        """The share of pairs that were left out."""
        return self.left_out / max(1, self.kept + self.left_out)

    def __str__(self) -> str:
        """How many pairs were left out, and why."""
        if not self.left_out:
            return f"no problems found in {counted(self.kept, 'pair')}"
        reasons = ", ".join(f"{code} {count:,}" for code, count in self.reasons.items())
        return f"left out {self.left_out:,} of {counted(self.kept + self.left_out, 'pair')}: {reasons}"


def clean_data(
    data: Data, data_directory: Path | None, log: Log, update: Update = no_update
) -> tuple[Data, CleanedText | None]:
    """The data of a recipe with cleaned training text, if `data.clean` asks for that, and with joined text.

    Args:
        data: The section of the recipe.
        data_directory: Mirror of the dataset catalog.
        log: Receives messages.
        update: Receives progress.

    Raises:
        UserError: A corpus cannot be read, most of the text has problems, or all of a corpus has one, such as swapped
            sides.
    """
    data = mark_machine_made(data, data_directory)
    if not data.clean:
        return join_texts(data, data_directory, log), None
    parts, train = list[CleanedText](), list[FilePair | WeightedCorpus]()
    cache = BuildCache(cache_directory() / "prepared", log)
    for corpora in corpora_of_recipe(data, data_directory):
        languages = corpora.source_language, corpora.target_language
        weighted = [each for each in data.weighted if data.languages_of(each.corpus) == languages]
        name = f"{name_direction(languages)}: " if data.directions else ""  # so that messages about pairs differ
        log_named, update_named = _naming(name, log, update)
        cleaned = clean_corpora(corpora, log_named, update=update_named)
        if cleaned.is_mostly_left_out:
            problem = f"most of the training text has problems, which dragoman doctor data explains; {cleaned}"
            raise UserError(f"{problem}; {cleaned.listings[0]} lists them; {REMEDY}")
        if cleaned.errors:
            raise UserError("\n".join([*cleaned.errors, REMEDY]))
        stated = languages if data.directions else None
        if any(each.weight != 1 or each.tagged or each.one_way for each in weighted):
            train += _divide(cleaned, weighted, stated, cache)
        else:
            train.append(cleaned.files.model_copy(update={"languages": stated}))
        parts.append(cleaned)
    cleaned_data = data.model_copy(update={"train": tuple(train), "clean": False})
    return join_texts(cleaned_data, data_directory, log), _join(parts)


def _naming(name: str, log: Log, update: Update) -> tuple[Log, Update]:
    """Receivers that put a name in front of messages and progress."""
    return lambda text: log(name + text), lambda share, text: update(share, name + text)


def _join(parts: Sequence[CleanedText]) -> CleanedText:
    """What was left out of corpora in several pairs of languages."""
    if len(parts) == 1:
        return parts[0]
    reasons = sum((Counter(each.reasons) for each in parts), Counter[str]())
    return CleanedText(
        parts[0].files,
        kept=sum(each.kept for each in parts),
        left_out=sum(each.left_out for each in parts),
        copies=sum(each.copies for each in parts),
        reasons=dict(reasons.most_common()),
        errors=[error for each in parts for error in each.errors],
        warnings=[warning for each in parts for warning in each.warnings],
        kept_by_corpus=[number for each in parts for number in each.kept_by_corpus],
        listings=tuple(listing for each in parts for listing in each.listings),
    )


def _divide(
    cleaned: CleanedText, weighted: Sequence[WeightedCorpus], languages: Languages | None, cache: BuildCache
) -> Iterator[WeightedCorpus]:
    """The corpora of a cleaned copy, divided into files, with their weights and marks."""
    references = [each.corpus for each in weighted]
    if repeated := [one for one, number in Counter(map(file_name, references)).items() if number > 1]:
        raise UserError(f"data.train: {repeated[0]} is listed twice; list it once, with a higher weight")
    paths = [Path(file) for file in (cleaned.files.source, cleaned.files.target)]

    def build(directory: Path) -> dict[str, Any]:
        for path in paths:
            with path.open("rb") as lines:
                for number, kept in enumerate(cleaned.kept_by_corpus):
                    (directory / f"{number}.{path.name}").write_bytes(b"".join(islice(lines, kept)))
        return {}

    identity = {"copy": cleaned.files.model_dump(), "pairs": cleaned.kept_by_corpus}
    with cache.lock(identity):
        entry = cache.get("divided", identity, build)
    for number, (kept, corpus) in enumerate(zip(cleaned.kept_by_corpus, weighted, strict=True)):
        if kept:
            source, target = (str(entry.path / f"{number}.{path.name}") for path in paths)
            files = FilePair(source=source, target=target, languages=languages)
            yield corpus.model_copy(update={"corpus": files})


def clean_corpora(corpora: Corpora, log: Log, root: Path | None = None, update: Update = no_update) -> CleanedText:
    """Copy the training corpora without the pairs in which `check_corpora` finds problems.

    Args:
        corpora: The text.
        log: Receives messages.
        root: Where the copy is kept, or found if it was made before; by default in the cache.
        update: Receives progress.

    Raises:
        UserError: A corpus cannot be read, contains errors that training refuses, or comes from a pipe.
    """
    train, held_out = (_open_pairs(corpora, references) for references in (corpora.train, corpora.held_out))
    train.check_files("text that is cleaned is read several times (--keep-all or data.clean = false keeps all of it)")
    identity = {
        "format": FORMAT,
        "version": __version__,
        "languages": [corpora.source_language, corpora.target_language],
        "stated": [stated_languages(each) for each in (*corpora.train, *corpora.held_out)],
        "corpora": [train.fingerprint, held_out.fingerprint],
    }

    def build(directory: Path) -> dict[str, Any]:
        # reading also reports damage, such as invalid UTF-8, that the doctor would skip
        with warnings.catch_warnings(record=True) as unused:  # shown whenever the copy is used
            pairs = [sum(1 for _ in _open_pairs(corpora, [each])) for each in corpora.train]
        total = sum(pairs)
        log(f"checking {counted(total, 'training pair')}")
        meter, read = Meter(update, "checking", total), 0

        def count(number: int) -> None:
            nonlocal read
            before = min(total, read // PASSES)
            read += number  # also pairs with an empty side, which do not count in the total
            meter.advance(min(total, read // PASSES) - before)

        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of files that are read before or later
            findings = check_corpora(corpora, directory, count)
        now = [_open_pairs(corpora, references).fingerprint for references in (corpora.train, corpora.held_out)]
        if now != identity["corpora"]:
            raise CorpusChangedError("a file of the text was changed while it was checked")
        left_out = _read_listing(directory / DROPPED)
        by_corpus = Counter(name for name, _ in left_out)
        names = [reader.name for reader in corpora.readers(corpora.train)]
        others = _unsolved(findings, set(names))
        return {
            "kept": total - len(left_out),
            "left_out": len(left_out),
            "copies": sum(codes == [DUPLICATE] for _, codes in left_out),
            "kept_by_corpus": [number - by_corpus[name] for number, name in zip(pairs, names, strict=True)],
            "reasons": _by_code(codes for _, codes in left_out),
            "errors": [str(finding) for finding in others if finding.severity == "error"],
            "warnings": [
                *dict.fromkeys(str(each.message) for each in unused if each.category is UserWarning),
                *(str(finding) for finding in others if finding.severity == "warning"),
            ],
        }

    cache = BuildCache(root or cache_directory() / "prepared", log)
    with cache.lock(identity):
        entry = cache.get("cleaned", identity, build)
    source, target = (str(entry.path / name) for name in corpora.file_names)
    return CleanedText(FilePair(source=source, target=target), **entry.facts, listings=(entry.path / DROPPED,))


def _open_pairs(corpora: Corpora, references: Iterable[CorpusReference]) -> CorpusPairs:
    found = find_corpora(
        references,
        source_language=corpora.source_language,
        target_language=corpora.target_language,
        data_directory=corpora.data_directory,
    )
    return CorpusPairs(found)


def _read_listing(listing: Path) -> list[tuple[str, list[str]]]:
    """The corpus and the reasons of each pair with text on both sides that was left out."""
    with listing.open(encoding="utf-8", newline="") as stream:
        rows = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows)
        return [(row[0], codes) for row in rows if EMPTY not in (codes := row[2].split(","))]


def _by_code(reasons: Iterable[list[str]]) -> dict[str, int]:
    by_code = Counter(chain.from_iterable(reasons))
    return dict(sorted(by_code.items(), key=lambda item: (-item[1], item[0])))


def _unsolved(findings: Iterable[Finding], train: set[str]) -> list[Finding]:
    """The findings that leaving out training pairs does not solve."""
    return [
        finding
        for finding in findings
        if finding.code != "test-overlap"
        and not (finding.measured.get("corpus") in train and "count" in finding.measured)
    ]
