"""The card of a student: its quality, speed and size compared with those of its teachers."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dragoman.corpus.pair import Pair
from dragoman.doctor.output.text_checks import MIN_REPEATS, count_repeats
from dragoman.errors import counted
from dragoman.evaluation.comparison_verdict import describe_significance
from dragoman.evaluation.metrics import corpus_scores
from dragoman.evaluation.significance import paired_tests
from dragoman.settings.decoding import PLAIN_SEARCH
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.system.cpu import usable_cores
from dragoman.system.progress import Meter, Update, no_update
from dragoman.system.time_limit import TimeLimit
from dragoman.training.compared_search import COLUMNS, ComparedSearch, sizes_on_disk

HEADING = "## Compared with its teacher"
COMPARISON = "Comparison"
"""What the report calls a sentence about it."""

REPEATS = 3  # of the measurement of the speed, of which the fastest counts: other programs only slow it down
MAX_SECONDS = 120.0  # for more than one of them
LEAST_TIMED = 0.5  # of the sentences; with fewer that end properly, the speed means nothing
TEACHER_SHARE = 0.25  # of the time left, for one translation by the teacher: each translator does that at least twice


@dataclass(frozen=True)
class StudentCard:
    """A table with a row for each search, and sentences about it."""

    rows: list[list[str]]
    sentences: list[str]

    def markdown(self) -> str:
        """The section of the card of the bundle."""
        header = ["", *COLUMNS]
        table = "\n".join(f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *self.rows])
        return "\n\n".join([HEADING, table, *self.sentences]) + "\n"

    def facts(self) -> Iterator[tuple[str, str]]:
        """The rows and the sentences as lines of the report."""
        for name, search, engine, *values in self.rows:
            shown = (f"{column} {value}" for column, value in zip(COLUMNS[2:], values, strict=True))
            yield f"{name}, {search}", f"{', '.join(shown)} ({engine})"
        for sentence in self.sentences:
            yield COMPARISON, sentence


def compare_with_teachers(
    student: BundleEnsemble,
    teachers: BundleEnsemble,
    text: str,
    pairs: Sequence[Pair],
    update: Update = no_update,
    limit: TimeLimit | None = None,
) -> StudentCard:
    """Translate with all of them in turn, and compare the student with the teachers' usual search.

    Args:
        student: The new bundle.
        teachers: The bundles that it learned from.
        text: The name of the pairs.
        pairs: Sources with references.
        update: Receives progress.
        limit: If it leaves too little time, fewer pairs are translated, and less often.
    """
    teacher, new = ComparedSearch.open(teachers), ComparedSearch.open(student)
    greedy = ComparedSearch.open(teachers, **PLAIN_SEARCH, beam_size=1, n_best=1)
    compared = (teacher, greedy, new)
    if limit:
        pairs = limit.sample(pairs, lambda some: teacher.translate([pair.source for pair in some]), TEACHER_SHARE)
        teacher.seconds.clear()
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    meter = Meter(update, "comparing", (REPEATS + 1) * len(compared) * len(pairs), unit="translations")
    for each in compared:
        each.texts = each.translate(sources)
        meter.advance(len(pairs))
        each.seconds.clear()  # the first call is slower
    timed = [source for source, *texts in zip(sources, *(each.texts for each in compared), strict=True) if _end(texts)]
    is_timed = len(timed) >= LEAST_TIMED * len(sources)
    gc.collect()
    frozen = gc.get_freeze_count()  # by the program that calls this
    gc.freeze()  # as `dragoman translate` does; otherwise some of the repeats would include a visit of all objects
    started = time.monotonic()
    try:
        for repeat in range(REPEATS if is_timed else 0):
            seconds = time.monotonic() - started
            if repeat and (seconds > MAX_SECONDS or (limit and limit.left < 2 * seconds / repeat)):
                break
            for each in compared:
                each.translate(timed)
                meter.advance(len(pairs))
    finally:
        if not frozen:
            gc.unfreeze()
    loops = len(sources) - len(timed)
    speed = f"the speed was not measured, because {loops:,} translations repeat words over and over"
    if is_timed:
        ratio = min(greedy.seconds) / min(new.seconds)
        speed = f"this translator is {ratio:.1f} times as fast as {{who}} with greedy search"
        if loops:
            speed += f", without {counted(loops, 'sentence')} whose translations repeat words over and over"
    sizes = ", ".join(f"{size:.1f} MB in {kind}" for kind, size in sizes_on_disk(student.paths[0]).items())
    tests = paired_tests(teacher.texts, new.texts, references)
    paths = " and ".join(map(str, teachers.paths))
    one = len(teachers.paths) == 1
    who = "the teacher" if one else "the ensemble of its teachers"
    verdict = " ".join(describe_significance(tests, who, "this translator"))
    sentences = [
        f"On {counted(len(pairs), 'sentence')} of {text} and {counted(usable_cores(), 'core')}, "
        f"{speed.format(who=who)}. On disk, it takes {sizes}.",
        f"{f'The teacher is {paths}' if one else f'The teachers are {paths}'}. {verdict}",
        f"BLEU: {corpus_scores(new.texts, references)['bleu_signature']}",
    ]
    teacher_name = "Teacher" if one else "Ensemble of teachers"
    names = (teacher_name, teacher_name, "This translator")
    rows = [[name, *each.columns(references, len(timed))] for name, each in zip(names, compared, strict=True)]
    return StudentCard(rows, sentences)


def _end(texts: Sequence[str]) -> bool:
    """Whether no translation of a sentence repeats words until it is cut off, which takes long and means nothing."""
    return all(count_repeats(text) < MIN_REPEATS for text in texts)
