"""The card of a student: its quality, speed and size compared with those of its teachers."""

from __future__ import annotations

import gc
import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.corpus.pair import Pair
from dragoman.errors import UserError, counted
from dragoman.evaluation.comparison_verdict import describe_significance
from dragoman.evaluation.metrics import corpus_scores
from dragoman.evaluation.significance import paired_tests
from dragoman.settings import Recipe
from dragoman.settings.decoding import PLAIN_SEARCH
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.system.cpu import usable_cores
from dragoman.system.files import write_json, write_text
from dragoman.system.progress import Log, Meter, ProgressLine, Update, no_update
from dragoman.system.run_paths import NoBundleError
from dragoman.training.compared_search import COLUMNS, ComparedSearch, sizes_on_disk
from dragoman.training.start import changed_teachers
from dragoman.training.stop import StopFlag, StopRequested

HEADING = "## Compared with its teacher"
NOT_COMPARED_FILE = "not-compared.json"
"""In the run of a finished student that was not compared with its teachers."""

MAX_PAIRS = 1000
REPEATS = 3  # of the measurement of the speed


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
            yield "Comparison", sentence


def write_student_card(
    recipe: Recipe,
    run: Path,
    tests: Mapping[str, list[Pair]],
    validation: list[Pair],
    line: ProgressLine,
    stop: StopFlag,
) -> list[tuple[str, str]]:
    """Add the comparison with the teachers to the card of the bundle of a run; returns lines of the report.

    If the run is stopped meanwhile, or the teachers cannot be used, the card and the lines say so.

    Args:
        recipe: The recipe of the run, which names the teachers.
        run: The run directory.
        tests: The test corpora by name; the first one is used.
        validation: The pairs to use if there is none.
        line: Receives progress and the lines of the report.
        stop: Whether the run must stop.
    """
    name, pairs = next(iter(tests.items()), ("the validation text", validation))
    line.log(f"comparing with the teacher on {name} …")
    student = BundleEnsemble.load([str(run)], recipe.data.languages)
    try:
        with stop.interruptible():
            teachers = _open_teachers(recipe, run)
            card = compare_with_teachers(student, teachers, name, pairs[:MAX_PAIRS], line.update)
    except (UserError, StopRequested) as error:
        reason = _not_compared(error)
        line.log(reason)
        _add_to_card(student.paths[0], f"{HEADING}\n\nThis translator was {reason}.\n")
        write_json(run / NOT_COMPARED_FILE, {"reason": reason})
        return [("Comparison", f"{reason}.")]
    facts = list(card.facts())
    _add_to_card(student.paths[0], card.markdown())
    (run / NOT_COMPARED_FILE).unlink(missing_ok=True)
    for label, value in facts:
        line.log(f"{label}: {value}")
    return facts


def can_be_compared(recipe: Recipe, run: Path, log: Log) -> bool:
    """Whether a finished student still has to be compared with its teachers, and all of them are available.

    Args:
        recipe: The recipe of the run.
        run: The run directory.
        log: Receives why it can still not be compared.
    """
    if not (run / NOT_COMPARED_FILE).is_file() or not os.access(run, os.W_OK):
        return False
    try:
        _open_teachers(recipe, run)
    except UserError as error:
        log(_not_compared(error))
        return False
    return True


def _open_teachers(recipe: Recipe, run: Path) -> BundleEnsemble:
    """The teachers of a run; raises UserError if one is missing, damaged or not the one that it was started with."""
    if changed := changed_teachers(recipe, run):
        raise UserError(f"{', '.join(changed)}: changed since the run was started")
    return BundleEnsemble.load(recipe.distillation.teachers, recipe.data.languages)


def _not_compared(error: UserError | StopRequested) -> str:
    if isinstance(error, StopRequested):
        reason = "the comparison was interrupted"
    else:
        reason = f"{error.path} is missing" if isinstance(error, NoBundleError) else str(error)
    return f"not compared with the teacher: {reason}"


def _add_to_card(bundle: Path, section: str) -> None:
    card = bundle / "README.md"
    write_text(card, f"{card.read_text('utf-8').rstrip()}\n\n{section}")


def compare_with_teachers(
    student: BundleEnsemble,
    teachers: BundleEnsemble,
    text: str,
    pairs: Sequence[Pair],
    update: Update = no_update,
) -> StudentCard:
    """Translate with all of them in turn, and compare the student with the teachers' usual search.

    Args:
        student: The new bundle.
        teachers: The bundles that it learned from.
        text: The name of the pairs.
        pairs: Sources with references.
        update: Receives progress.
    """
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    teacher, new = ComparedSearch.open(teachers), ComparedSearch.open(student)
    greedy = ComparedSearch.open(teachers, **PLAIN_SEARCH, beam_size=1, n_best=1)
    compared = (teacher, greedy, new)
    meter = Meter(update, "comparing", (REPEATS + 1) * len(compared) * len(pairs), unit="translations")
    gc.collect()
    frozen = gc.get_freeze_count()  # by the program that calls this
    gc.freeze()  # as `dragoman translate` does; otherwise some of the repeats would include a visit of all objects
    try:
        for _ in range(REPEATS + 1):
            for each in compared:
                each.translate(sources)
                meter.advance(len(pairs))
    finally:
        if not frozen:
            gc.unfreeze()
    for each in compared:
        del each.seconds[0]  # the first call is slower
    ratio = statistics.median(greedy.seconds) / statistics.median(new.seconds)
    sizes = ", ".join(f"{size:.1f} MB in {kind}" for kind, size in sizes_on_disk(student.paths[0]).items())
    tests = paired_tests(teacher.texts, new.texts, references)
    verdict = " ".join(describe_significance(tests, "the teacher", "this translator"))
    sentences = [
        f"On {counted(len(pairs), 'sentence')} of {text} and {counted(usable_cores(), 'core')}, this translator is "
        f"{ratio:.1f} times as fast as the teacher with greedy search. It takes {sizes} on disk.",
        f"The teacher is {' with '.join(map(str, teachers.paths))}. {verdict}",
        f"BLEU: {corpus_scores(new.texts, references)['bleu_signature']}",
    ]
    names = ("Teacher", "Teacher", "This translator")
    rows = [[name, *each.columns(references)] for name, each in zip(names, compared, strict=True)]
    return StudentCard(rows, sentences)
