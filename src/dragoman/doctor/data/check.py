"""All checks of parallel text. Each corpus is read up to four times; a few dozen bytes per pair stay in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np

from dragoman.doctor.data.alignment import find_misaligned
from dragoman.doctor.data.chunked_reader import ChunkedReader
from dragoman.doctor.data.cleaned_copy import CleanedCopy, write_cleaned_copy
from dragoman.doctor.data.corpora import Corpora
from dragoman.doctor.data.corpus_checks import (
    check_languages,
    flag_copies,
    flag_duplicates,
    flag_length_ratios,
    flag_overlap,
    flag_repeated_sides,
    flag_scripts,
    flag_swapped,
    foreign_sides,
)
from dragoman.doctor.data.corpus_statistics import CorpusStatistics, collect_statistics
from dragoman.doctor.data.cut_off import flag_cut_off
from dragoman.doctor.data.foreign_blocks import find_foreign_blocks, flag_lines_of_blocks
from dragoman.doctor.data.held_out_sentences import HeldOutSentences
from dragoman.doctor.data.length_model import LengthModel
from dragoman.doctor.data.line_statistics import Digests, Flags
from dragoman.doctor.data.neighbors import flag_exchanged
from dragoman.doctor.data.pair_scores import PairScores, score_pairs
from dragoman.doctor.data.report import (
    Examples,
    report_flags,
    report_languages,
    report_line_counts,
    report_overlap,
)
from dragoman.doctor.data.stretches import Stretch
from dragoman.doctor.findings.finding import Finding, errors_first
from dragoman.errors import UserError

NO_DIGESTS: Digests = np.zeros(0, np.int64)
NO_SENTENCES = HeldOutSentences.read([])


PASSES = 3
"""How often all pairs are read: to collect statistics, to compare sides, and to write the copy."""


def check_corpora(
    corpora: Corpora, write_to: Path | None = None, on_read: Callable[[int], None] = lambda number: None
) -> list[Finding]:
    """Find what is wrong with corpora, errors first.

    Args:
        corpora: The corpora to check.
        write_to: A new directory for a copy of the training pairs without those that have problems.
        on_read: Receives the numbers of training pairs that have been read, `PASSES` times that of all pairs in total
            if a copy is written.

    Raises:
        UserError: A corpus is missing, empty or cannot be read at all, or the directory is not empty.
    """
    held_out = [(reader, collect_statistics(reader)) for reader in corpora.readers(corpora.held_out)]
    held_out_digests = np.concatenate([NO_DIGESTS, *(statistics.pair_digests for _, statistics in held_out)])
    sentences = HeldOutSentences.read([reader for reader, _ in held_out])
    train_digests = NO_DIGESTS
    findings: list[Finding] = []
    with write_cleaned_copy(write_to, corpora.file_names) if write_to else nullcontext() as copy:
        for reader in corpora.readers(corpora.train, on_read):
            statistics = collect_statistics(reader)
            findings += _check_corpus(reader, statistics, train_digests, held_out_digests, copy, sentences)
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
    sentences: HeldOutSentences = NO_SENTENCES,
) -> Iterator[Finding]:
    """Check one corpus. It is read again to compare the sides, and to take examples and write the cleaned copy.

    Args:
        reader: Reads the corpus.
        statistics: Statistics of the corpus.
        earlier: Pairs of the corpora before this one; they count as duplicates.
        held_out: Pairs of the validation and test corpora; they are left out of the cleaned copy.
        copy: Where to write the pairs without problems.
        sentences: The sentences of the validation and test corpora, to find pairs that are similar.
    """
    yield from report_line_counts(reader)
    if not len(statistics):
        raise UserError(f"{reader.name}: no sentence pairs")
    problem = check_languages(statistics, reader.source_language, reader.target_language)
    others = foreign_sides(statistics, reader.source_language, reader.target_language)
    yield from report_languages(reader, problem, others)
    lengths = LengthModel(statistics.source.lengths, statistics.target.lengths)
    scores = score_pairs(reader, statistics, lengths.common_shift(statistics.own), sentences)
    foreign = flag_lines_of_blocks(find_foreign_blocks(statistics, scores.wrong_language), scores)
    scores = replace(scores, wrong_language=scores.wrong_language | foreign)
    stretches = find_misaligned(reader, lengths, scores, _unreadable(statistics) | foreign)
    overlap = flag_overlap(statistics, held_out)
    flags = _flag_pairs(reader, statistics, lengths, scores, stretches, earlier, overlap)
    blocks = find_foreign_blocks(statistics, flags["wrong-language"])  # of what has no other explanation
    if _is_copy_task(reader):
        del flags["copied-source"]
    examples = Examples()
    if copy is not None or any(values.any() for values in flags.values()):
        for chunk in reader.chunks():
            chunk_flags = {code: values[chunk.indices] for code, values in flags.items()}
            examples.add(chunk, chunk_flags)
            if copy is not None:
                copy.add(reader.name, chunk, chunk_flags | {"test-overlap": overlap[chunk.indices]})
    yield from report_flags(reader, flags, stretches, blocks, scores.second_languages, examples)


def _is_copy_task(reader: ChunkedReader) -> bool:
    """Whether the target is meant to be a copy of the source."""
    return reader.source_language == reader.target_language or reader.name.startswith("copy:")


def _unreadable(statistics: CorpusStatistics) -> Flags:
    """Pairs with a side that is empty or damaged, so that its words and its length show nothing."""
    flags = statistics.flags
    return flags["empty-side"] | flags["encoding-damage"] | flags["invalid-utf8"]


def _flag_pairs(
    reader: ChunkedReader,
    statistics: CorpusStatistics,
    lengths: LengthModel,
    scores: PairScores,
    stretches: Sequence[Stretch],
    earlier: Digests,
    overlap: Flags,
) -> dict[str, Flags]:
    """For each code, the pairs that have the problem. Where one problem explains another, only the first is flagged."""
    misaligned = np.zeros(len(statistics), np.bool_)
    for stretch in stretches:
        misaligned[stretch.first - 1 : stretch.last] = True
    repeated = flag_repeated_sides(statistics)
    copied = flag_copies(statistics, scores)
    swapped = flag_swapped(statistics, scores) & ~copied
    # The words of another language seem to lack letters.
    other = copied | swapped | scores.wrong_language | statistics.flags["invalid-utf8"]
    statistics.flags["encoding-damage"] |= scores.lost_letters & ~other
    explained = _unreadable(statistics) | copied | swapped | repeated
    wrong_script = flag_scripts(statistics, scores) & ~explained
    wrong_language = scores.wrong_language & ~misaligned & ~explained & ~wrong_script
    explained |= wrong_script | wrong_language | misaligned
    misaligned |= flag_exchanged(reader, lengths, scores, explained)
    explained |= misaligned
    ratio = flag_length_ratios(statistics) & ~explained
    cut_off = flag_cut_off(statistics, lengths, scores, explained | ratio)
    return statistics.flags | {
        "copied-source": copied,
        "duplicates": flag_duplicates(statistics, earlier),
        "length-ratio": ratio,
        "cut-off": cut_off,
        "repeated-side": repeated,
        "second-language": scores.second_language & ~explained & ~misaligned,
        "test-similar": scores.test_similar & ~overlap,
        "wrong-script": wrong_script,
        "wrong-language": wrong_language,
        "misaligned": misaligned,
        "swapped-sides": swapped,
    }
