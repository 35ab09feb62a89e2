"""The comparison of a finished student with its teachers: quality, speed and size, for its card and its report."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from dragoman.bundle import WEIGHTS, find_bundle
from dragoman.corpus.pair import Languages, Pair
from dragoman.dataset.pairs import read_pairs
from dragoman.doctor.output.text_checks import MIN_REPEATS, count_repeats
from dragoman.engines.ctranslate2.convert import conversion_directory
from dragoman.errors import UserError, counted
from dragoman.evaluation.metrics import corpus_scores
from dragoman.evaluation.significance import describe_significance, paired_tests
from dragoman.search.description import describe_decoding
from dragoman.settings import Recipe
from dragoman.settings.decoding import PLAIN_SEARCH
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.system.files import atomic_file, write_json, write_text
from dragoman.system.progress import Meter, ProgressLine, Update, no_update
from dragoman.system.run_paths import NoBundleError
from dragoman.system.time_limit import TimeLimit
from dragoman.text.multilingual import name_direction
from dragoman.text.registry import SOURCE_FILE, TARGET_FILE
from dragoman.training.loop.stop import StopFlag, StopRequested, stop_on_signals
from dragoman.training.report.report import render_report
from dragoman.training.report.verdict import FEW_SENTENCES
from dragoman.training.run.directory import NOT_COMPARED_FILE, REPORT_FILE, read_uncompared
from dragoman.training.run.log import read_metrics
from dragoman.training.run.run_data import changed_teachers, read_tests
from dragoman.training.stages.text import TEXT_DIRECTORY, StageText
from dragoman.translator import Translator

HEADING = "## Compared with its teacher"
COMPARISON = "Comparison"
"""What the report calls a sentence about it."""

REPEATS = 3  # of the measurement of the speed, of which the fastest counts: other programs only slow it down
MAX_SECONDS = 120.0  # for more than one of them
LEAST_TIMED = 0.5  # of the sentences; with fewer usual translations, the speed means nothing
TEACHER_SHARE = 0.25  # of the time left, for one translation by the teacher: each translator does that at least twice


@dataclass(frozen=True)
class StudentCard:
    """A table with a row for each search, and sentences about it.

    Attributes:
        rows: The name of a translator, and the values of `COLUMNS`.
        sentences: About the rows.
        general: About the student in all directions.
    """

    rows: list[list[str]]
    sentences: list[str]
    general: list[str]

    @classmethod
    def of_directions(cls, cards: Mapping[str, StudentCard]) -> StudentCard:
        """The card of a student with several directions, given one for each by the name of the direction."""
        return cls(
            [[f"{name}: {row[0]}", *row[1:]] for name, card in cards.items() for row in card.rows],
            [f"{name}: {sentence}" for name, card in cards.items() for sentence in card.sentences],
            list(dict.fromkeys(sentence for card in cards.values() for sentence in card.general)),
        )

    def markdown(self) -> str:
        """The section of the card of the bundle."""
        header = ["", *COLUMNS]
        table = "\n".join(f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *self.rows])
        return "\n\n".join([HEADING, table, *self.sentences, *self.general]) + "\n"

    def facts(self) -> Iterator[tuple[str, str]]:
        """The rows and the sentences as lines of the report."""
        for name, search, engine, *values in self.rows:
            shown = (f"{column} {value}" for column, value in zip(COLUMNS[2:], values, strict=True))
            yield f"{name}, {search}", f"{', '.join(shown)} ({engine})"
        for sentence in (*self.sentences, *self.general):
            yield COMPARISON, sentence


def compare_with_teachers(
    student: BundleEnsemble,
    teachers: BundleEnsemble,
    text: str,
    pairs: Sequence[Pair],
    update: Update = no_update,
    limit: TimeLimit | None = None,
    share: float = 1.0,
) -> StudentCard:
    """Translate with all of them in turn, and compare the student with the teachers' usual search.

    Args:
        student: The new bundle.
        teachers: The bundles that it learned from.
        text: The name of the pairs.
        pairs: Sources with references.
        update: Receives progress.
        limit: If it leaves too little time, fewer pairs are translated, and less often.
        share: The share of the time that is left for these pairs.
    """
    teacher, new = ComparedSearch.open(teachers), ComparedSearch.open(student)
    greedy = ComparedSearch.open(teachers, **PLAIN_SEARCH, beam_size=1, n_best=1)
    compared = (teacher, greedy, new)
    if limit:
        pairs = limit.sample(
            pairs, lambda some: teacher.translate([pair.source for pair in some]), share * TEACHER_SHARE
        )
        teacher.seconds.clear()
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    meter = Meter(update, "comparing", (REPEATS + 1) * len(compared) * len(pairs), unit="translations")
    for each in compared:
        each.texts = each.translate(sources)
        meter.advance(len(pairs))
        each.seconds.clear()  # the first call is slower
    timed = [
        source for source, *texts in zip(sources, *(each.texts for each in compared), strict=True) if _are_usual(texts)
    ]
    is_timed = len(timed) >= LEAST_TIMED * len(sources)
    gc.collect()
    frozen = gc.get_freeze_count()  # by the program that calls this
    gc.freeze()  # as `dragoman translate` does; otherwise some of the repeats would include a visit of all objects
    started = time.monotonic()
    try:
        for repeat in range(REPEATS if is_timed else 0):
            seconds = time.monotonic() - started
            if repeat and (seconds > MAX_SECONDS or (limit and share * limit.left < 2 * seconds / repeat)):
                break
            for each in compared:
                each.translate(timed)
                meter.advance(len(pairs))
    finally:
        if not frozen:
            gc.unfreeze()
    others = len(sources) - len(timed)
    speed = f"the speed was not measured, because {others:,} translations are empty or repeat words over and over"
    if is_timed:
        ratio = min(greedy.seconds) / min(new.seconds)
        speed = f"this translator is {ratio:.1f} times as fast as {{who}} with greedy search"
        if others:
            speed += (
                f", without {counted(others, 'sentence')} whose translations are empty or repeat words over and over"
            )
    sizes = ", ".join(f"{size:.1f} MB in {kind}" for kind, size in sizes_on_disk(student.paths[0]).items())
    tests = paired_tests(teacher.texts, new.texts, references)
    paths = " and ".join(map(str, teachers.paths))
    one = len(teachers.paths) == 1
    who = "the teacher" if one else "the ensemble of its teachers"
    verdict = " ".join(describe_significance(tests, who, "this translator"))
    sentences = [
        f"On {counted(len(pairs), 'sentence')} of {text} and {counted(torch.get_num_threads(), 'thread')}, "
        f"{speed.format(who=who)}. {verdict}"
    ]
    if len(pairs) < FEW_SENTENCES:
        sentences[0] += f" These are only {counted(len(pairs), 'sentence')}, so scores and speed are uncertain."
    general = [
        f"{f'The teacher is {paths}' if one else f'The teachers are {paths}'}. On disk, this translator takes {sizes}.",
        f"BLEU: {corpus_scores(new.texts, references)['bleu_signature']}",
    ]
    teacher_name = "Teacher" if one else "Ensemble of teachers"
    names = (teacher_name, teacher_name, "This translator")
    rows = [[name, *each.columns(references, len(timed))] for name, each in zip(names, compared, strict=True)]
    return StudentCard(rows, sentences, general)


def _are_usual(texts: Sequence[str]) -> bool:
    """Whether the time of the translations of a sentence means something.

    An empty one takes no time, and one that repeats words until it is cut off takes long.
    """
    return all(text.strip() and count_repeats(text) < MIN_REPEATS for text in texts)


COLUMNS = ("search", "engine", "BLEU", "chrF", "sentences/s", "MB on disk")


@dataclass
class ComparedSearch:
    """A translator with a search, its translations, and how many seconds each repeat took."""

    bundles: BundleEnsemble
    translator: Translator
    texts: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @classmethod
    def open(cls, bundles: BundleEnsemble, **search: Any) -> ComparedSearch:
        """Open bundles on the CPU, with int8 if possible; `search` changes settings of the search."""
        return cls(bundles, bundles.open_in_int8_if_possible(torch.device("cpu"), **search))

    def translate(self, sources: Sequence[str]) -> list[str]:
        """Translate texts, and measure the time."""
        started = time.perf_counter()
        texts = [each.text for each in self.translator.stream(sources)]
        self.seconds.append(time.perf_counter() - started)
        return texts

    def columns(self, references: Sequence[str], timed: int) -> list[str]:
        """The values of `COLUMNS`; `timed` is the number of sentences whose translation was timed."""
        scores = corpus_scores(self.texts, references)
        engine = self.translator.engine
        stored = engine.weight_type if _is_converted(self.translator) else "float32"
        size = f"{sum(sizes_on_disk(path)[stored] for path in self.bundles.paths):.1f}"
        return [
            describe_decoding(self.translator.decoding),
            f"{engine.name} {engine.weight_type}",
            f"{scores['bleu']:.2f}",
            f"{scores['chrf']:.2f}",
            f"{timed / min(self.seconds):,.0f}" if self.seconds else "not measured",
            size if stored == engine.weight_type else f"{size} ({stored})",
        ]


def _is_converted(translator: Translator) -> bool:
    """Whether the engine reads another file than the bundle."""
    return translator.engine.name == "ctranslate2"


def sizes_on_disk(bundle: Path) -> dict[str, float]:
    """The size in megabytes by data type: of a bundle, with half-size weights, and converted for CTranslate2."""
    weights = (bundle / WEIGHTS).stat().st_size
    others = ("bundle.json", SOURCE_FILE, TARGET_FILE)
    size = weights + sum((bundle / name).stat().st_size for name in others)
    sizes = {"float32": size / 1e6, "float16": (size - weights / 2) / 1e6}
    converted = conversion_directory(bundle, "int8")
    if converted and converted.is_dir():
        sizes["int8"] = sum(file.stat().st_size for file in converted.iterdir()) / 1e6
    return sizes


NOT_COMPARED = "not compared with the teacher"
NOT_FINISHED = f"{NOT_COMPARED}: the comparison is not finished"
"""Lines of the log and the report."""

END_OF_SECTION = "<!-- end of the comparison -->"
"""Marks the end of the section of the card; invisible in Markdown."""

VALIDATION_NAME = "the validation text"
MAX_PAIRS = 1000
LEAST_COMPARED = 250
"""The least pairs of a direction that are compared, if there are so many, of the `MAX_PAIRS` for all directions."""


def compared_sentences(recipe: Recipe) -> int:
    """How many sentences are translated: by teacher, teacher with greedy search, and student, twice each."""
    directions = max(1, len(recipe.data.directions))
    return 6 * directions * _most_pairs(directions)


def _most_pairs(directions: int) -> int:
    """How many pairs of a direction are compared."""
    return max(LEAST_COMPARED, MAX_PAIRS // directions) if directions > 1 else MAX_PAIRS


def keep_uncompared(run: Path, facts: Sequence[tuple[str, str]], about_text: Sequence[str]) -> None:
    """Record that a finished student is not compared yet, in its card and in a file for `compare_student`.

    Args:
        run: The run directory, with the bundle.
        facts: Lines of the report, of which the one called `COMPARISON` will be replaced.
        about_text: Problems of the training text, for the report.
    """
    _replace_in_card(run, _card_without_comparison(NOT_FINISHED))
    write_json(run / NOT_COMPARED_FILE, {"facts": facts, "about_text": about_text})


def compare_student(
    recipe: Recipe, run: Path, data_directory: Path | None, line: ProgressLine, limit: TimeLimit | None = None
) -> bool:
    """Compare a student with its teachers after `keep_uncompared`, and change its card and its report.

    If it is interrupted, or the teachers cannot be used, both say so, and this can be called again later.

    Args:
        recipe: The recipe of the run, which names the teachers.
        run: The run directory.
        data_directory: Mirror of the dataset catalog.
        line: Receives progress and the lines of the report, or why the student cannot be compared.
        limit: If it leaves too little time, a sample of the text is compared.

    Returns:
        False if the comparison was interrupted.
    """
    stop, path, interrupted = StopFlag(), run / NOT_COMPARED_FILE, False
    with stop_on_signals(stop, line.log, "the comparison"):
        (old_facts, about_text), metrics = read_uncompared(run), read_metrics(run / "metrics.jsonl")
        try:
            with stop.interruptible():
                card = _compare(recipe, run, data_directory, line, limit)
            section, new, is_compared = card.markdown(), list(card.facts()), True
            for label, value in new:
                line.log(f"{label}: {value}")
        except (UserError, StopRequested) as error:
            reason, interrupted, is_compared = _explain(error), isinstance(error, StopRequested), False
            section, new = _card_without_comparison(reason), [(COMPARISON, f"{reason}.")]
            line.log(reason)
        facts = [each for old in old_facts for each in (new if old[0] == COMPARISON else [old])]
        _replace_in_card(run, section)
        write_text(run / REPORT_FILE, render_report(recipe, facts, metrics, run, about_text))
        if is_compared:
            path.unlink()
        else:
            write_json(path, {"facts": facts, "about_text": about_text})
    return not interrupted


def _compare(
    recipe: Recipe, run: Path, data_directory: Path | None, line: ProgressLine, limit: TimeLimit | None
) -> StudentCard:
    """Compare; raises UserError if a teacher is missing, damaged or not the one that the run was started with."""
    texts = _compared_texts(recipe, run, data_directory)
    line.log(f"comparing with the teacher on {', '.join(dict.fromkeys(name for name, _ in texts.values()))} …")
    if changed := changed_teachers(recipe, run):
        raise UserError(f"{', '.join(changed)}: changed since the run was started, or damaged")
    cards, most = dict[str, StudentCard](), _most_pairs(len(texts))
    for languages, (name, pairs) in texts.items():
        teachers = BundleEnsemble.load(recipe.distillation.teachers, languages)
        student = BundleEnsemble.load([str(run)], languages)
        share = 1 / (len(texts) - len(cards))
        card = compare_with_teachers(student, teachers, name, pairs[:most], line.update, limit, share)
        cards[name_direction(languages)] = card
    return StudentCard.of_directions(cards) if recipe.data.directions else next(iter(cards.values()))


def _compared_texts(recipe: Recipe, run: Path, data_directory: Path | None) -> dict[Languages, tuple[str, list[Pair]]]:
    """For each direction, the name and the pairs of a text: the first of the test text, or that of `_validation_text`.

    Directions without such text are left out.
    """
    data = recipe.data
    if not data.directions:
        first = read_tests(data.model_copy(update={"test": data.test[:1]}), data_directory)
        return {data.languages: next(iter((first or _validation_text(recipe, run, data_directory)).items()))}
    texts = {**read_tests(data, data_directory), **_validation_text(recipe, run, data_directory)}
    found = {}
    for direction in data.directions:
        own = ((name, [pair for pair in pairs if pair.direction == direction]) for name, pairs in texts.items())
        if first_text := next((each for each in own if each[1]), None):
            found[direction] = first_text
    return found


def _validation_text(recipe: Recipe, run: Path, data_directory: Path | None) -> dict[str, list[Pair]]:
    """The copy of the validation text in the run directory."""
    if (text := StageText.find(run / TEXT_DIRECTORY)) is None:
        raise UserError(f"{run / TEXT_DIRECTORY}: missing or incomplete; resume the run, which makes it again")
    data = text.data(recipe)
    return {VALIDATION_NAME: read_pairs(data.validation, data, data_directory)}


def _explain(error: UserError | StopRequested) -> str:
    """Why a student was not compared."""
    if isinstance(error, StopRequested):
        return NOT_FINISHED
    return f"{NOT_COMPARED}: {f'{error.path} is missing' if isinstance(error, NoBundleError) else error}"


def _card_without_comparison(reason: str) -> str:
    return f"{HEADING}\n\nThis translator was {reason}.\n"


def _replace_in_card(run: Path, section: str) -> None:
    """Write this section of the card of the bundle, in place of an earlier one; users may edit the rest."""
    card = find_bundle(run) / "README.md"
    content, end, after = (card.read_bytes() if card.is_file() else b"").partition(END_OF_SECTION.encode())
    headings = list(re.finditer(rb"^%s\r?$" % re.escape(HEADING.encode()), content, re.MULTILINE))
    if headings:
        content, old = content[: headings[-1].start()], content[headings[-1].start() :]
        after = after if end else b"".join(old.partition(b"\n#")[1:])  # of an older version, or edited
    with atomic_file(card, "wb") as file:
        file.write(b"\n\n".join(filter(None, [content.rstrip(), f"{section}\n{END_OF_SECTION}".encode()])))
        file.write(after or b"\n")
