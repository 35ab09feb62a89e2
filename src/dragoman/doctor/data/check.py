"""All checks of parallel text. Each corpus is read twice; a few dozen bytes per pair are kept in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from dragoman.doctor.data.alignment import Stretch, find_misaligned
from dragoman.doctor.data.chunked_reader import ChunkedReader
from dragoman.doctor.data.cleaned_copy import CleanedCopy, write_cleaned_copy
from dragoman.doctor.data.corpora import Corpora
from dragoman.doctor.data.corpus_checks import (
    check_languages,
    flag_duplicates,
    flag_length_ratios,
    flag_overlap,
    flag_scripts,
    is_copy_task,
)
from dragoman.doctor.data.corpus_statistics import CorpusStatistics, collect_statistics
from dragoman.doctor.data.language_classifier import LanguageClassifier
from dragoman.doctor.data.line_statistics import Digests, Flags
from dragoman.doctor.data.report import (
    Examples,
    report_flags,
    report_languages,
    report_line_counts,
    report_overlap,
)
from dragoman.doctor.findings.finding import Finding, errors_first

NO_DIGESTS: Digests = np.zeros(0, np.int64)


def check_corpora(corpora: Corpora, write_to: Path | None = None) -> list[Finding]:
    """Find what is wrong with corpora, errors first.

    Args:
        corpora: The corpora to check.
        write_to: A new directory for a copy of the training pairs without those that have problems.

    Raises:
        UserError: A corpus is missing or cannot be read at all, or the directory is not empty.
    """
    held_out = [(reader, collect_statistics(reader)) for reader in corpora.readers(corpora.held_out)]
    held_out_digests = np.concatenate([NO_DIGESTS, *(statistics.pair_digests for _, statistics in held_out)])
    train_digests = NO_DIGESTS
    findings: list[Finding] = []
    with write_cleaned_copy(write_to, corpora.file_names) if write_to else nullcontext() as copy:
        for reader in corpora.readers(corpora.train):
            statistics = collect_statistics(reader)
            findings += _check_corpus(reader, statistics, train_digests, held_out_digests, copy)
            train_digests = np.concatenate([train_digests, statistics.pair_digests])
    for reader, statistics in held_out:
        findings += _check_corpus(reader, statistics)
        findings += report_overlap(reader, flag_overlap(statistics, train_digests))
    return errors_first(findings)


def _check_corpus(
    reader: ChunkedReader,
    statistics: CorpusStatistics,
    earlier: Digests = NO_DIGESTS,
    held_out: Digests = NO_DIGESTS,
    copy: CleanedCopy | None = None,
) -> Iterator[Finding]:
    """Check one corpus. It is read again to find swapped sides, to take examples and to write the cleaned copy.

    Args:
        reader: Reads the corpus.
        statistics: Statistics of the corpus.
        earlier: Pairs of the corpora before this one; they count as duplicates.
        held_out: Pairs of the validation and test corpora; they are left out of the cleaned copy.
        copy: Where to write the pairs without problems.
    """
    yield from report_line_counts(reader)
    yield from report_languages(reader, check_languages(statistics, reader.source_language, reader.target_language))
    stretches = find_misaligned(statistics.source.lengths, statistics.target.lengths)
    flags = _flag_pairs(statistics, stretches, earlier)
    if reader.source_language == reader.target_language or is_copy_task(statistics):
        del flags["copied-source"]
    overlap = flag_overlap(statistics, held_out)
    classifier = LanguageClassifier(statistics.source.word_counts, statistics.target.word_counts)
    examples = Examples()
    for chunk in reader.chunks():
        flags["swapped-sides"][chunk.indices] = classifier.flag_swapped(chunk.sources, chunk.targets)
        chunk_flags = {code: values[chunk.indices] for code, values in flags.items()}
        examples.add(chunk, chunk_flags)
        if copy is not None:
            copy.add(reader.name, chunk, chunk_flags | {"test-overlap": overlap[chunk.indices]})
    yield from report_flags(reader, flags, stretches, examples)


def _flag_pairs(statistics: CorpusStatistics, stretches: Sequence[Stretch], earlier: Digests) -> dict[str, Flags]:
    """For each code, the pairs that have the problem; swapped sides are not known yet."""
    misaligned = np.zeros(len(statistics), np.bool_)
    for stretch in stretches:
        misaligned[stretch.first - 1 : stretch.last] = True
    return statistics.flags | {
        "duplicates": flag_duplicates(statistics, earlier),
        "length-ratio": flag_length_ratios(statistics) & ~misaligned,
        "wrong-script": flag_scripts(statistics),
        "misaligned": misaligned,
        "swapped-sides": np.zeros(len(statistics), np.bool_),
    }
