"""Machine-translated training text, as `dragoman synthesize` writes it, is tagged, and not too much of an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.corpus.corpus import find_corpora
from dragoman.corpus.pair import Languages
from dragoman.corpus.references import describe_reference
from dragoman.errors import UserError, counted
from dragoman.settings import CorpusReference, WeightedCorpus
from dragoman.settings.data import LEAST_WEIGHT
from dragoman.system.progress import Log

MOST_PER_PAIR = 5.0
"""Machine-translated pairs in an epoch for each pair by people, at most.

With five times as many back-translated captions, scores on validation text were better than without them; more was not
measured (benchmarks/history/measurements.md, English to German).
"""


def weigh_machine_text(
    train: Sequence[CorpusReference | WeightedCorpus],
    languages: Languages,
    has_validation: bool,
    data_directory: Path | None,
    log: Log,
) -> list[CorpusReference | WeightedCorpus]:
    """The training corpora, of which those that state that they are machine-translated are tagged and weighted.

    Args:
        train: The corpora; those with weights keep them.
        languages: Source and target.
        has_validation: Whether there is validation text.
        data_directory: Mirror of the dataset catalog.
        log: Receives what was chosen.

    Raises:
        UserError: A corpus is missing, or all are machine-translated and there is no validation text.
    """
    weighted = [each if isinstance(each, WeightedCorpus) else WeightedCorpus(corpus=each) for each in train]
    source, target = languages
    found = find_corpora(
        [each.corpus for each in weighted],
        source_language=source,
        target_language=target,
        data_directory=data_directory,
    )
    if not any(corpus.machine_made for corpus in found):
        return list(train)
    counts = [sum(pair.complete for pair in corpus.read()) for corpus in found]
    made = sum(count for count, corpus in zip(counts, found, strict=True) if corpus.machine_made)
    people = sum(
        each.weight * count
        for each, count, corpus in zip(weighted, counts, found, strict=True)
        if not (corpus.machine_made or each.tagged)
    )
    if not people and not has_validation:
        names = ", ".join(describe_reference(each.corpus) for each in weighted)
        raise UserError(
            f"{names}: all of it is machine-translated; name some hundred pairs that people have translated with "
            "--validation, or add such text"
        )
    weight = 1.0 if not people else min(1.0, MOST_PER_PAIR * people / max(1, made))
    weight = max(LEAST_WEIGHT, float(f"{weight:.3g}"))
    share = weight * made / max(1.0, weight * made + people)
    log(f"machine-translated text: {counted(made, 'pair')}, tagged, with weight {weight:g}: {share:.0%} of an epoch")
    return [
        WeightedCorpus(corpus=each.corpus, tagged=True, weight=weight)
        if corpus.machine_made and not isinstance(given, WeightedCorpus)
        else given
        for given, each, corpus in zip(train, weighted, found, strict=True)
    ]
