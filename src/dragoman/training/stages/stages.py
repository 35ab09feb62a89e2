"""Training in stages: teachers, the pairs that they make, and then the translator.

Each stage stores its result in the run directory, and a resumed run continues with the first stage that is not
finished: ``text/`` contains the text, ``teachers/`` the teachers, if they are trained, as ordinary runs, and
``synthetic/`` the pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.corpus.corpus import count_texts
from dragoman.dataset.pairs import read_pairs
from dragoman.errors import UserError, counted
from dragoman.recipe import save_recipe
from dragoman.settings import Data, Recipe
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.system.progress import ProgressLine, format_seconds, no_log
from dragoman.system.run_paths import resume_command
from dragoman.text.multilingual import name_direction
from dragoman.training.loop.distributed import Ranks
from dragoman.training.loop.stop import StopFlag, StopRequested, stop_on_signals
from dragoman.training.report.lines import complete_lines
from dragoman.training.run.directory import RECIPE_FILE, saved_tokenizers
from dragoman.training.run.log import current_lines, read_metrics
from dragoman.training.run.run_data import changed_teachers, check_sources, missing_sources, open_start, record_start
from dragoman.training.stages.pairs import RunTeachers, SyntheticCorpus, make_corpora, synthetic_corpora
from dragoman.training.stages.recipes import (
    check_stage_corpora,
    final_recipe,
    needed_teachers,
    teacher_recipe,
)
from dragoman.training.stages.text import TEXT_DIRECTORY, StageText, check_mono_language, collect_text

TrainTeacher = Callable[[Recipe, Path], bool]
"""Trains, or continues to train, in a directory; returns whether that is finished."""

LEAST_PAIRS, LEAST_PAIRS_SHARE = 500, 0.5
"""A student learns nothing from fewer pairs, if they are also less than this share of the text."""


@dataclass(frozen=True)
class LastStage:
    """The last stage, which trains the translator.

    Attributes:
        recipe: Its recipe.
        text: The text that all stages read.
        facts: Lines of the report about the other stages.
        is_translated: Whether there was time to translate all of the text.
    """

    recipe: Recipe
    text: StageText
    facts: list[tuple[str, str]]
    is_translated: bool


@dataclass(frozen=True)
class Stages:
    """The stages of a run.

    Attributes:
        recipe: The recipe of the run.
        run: Its directory.
        data_directory: Mirror of the dataset catalog.
        ranks: The processes of the run. All of them train the teachers; the first one translates.
        line: Shows progress.
        train_teacher: Trains a teacher in these processes.
    """

    recipe: Recipe
    run: Path
    data_directory: Path | None
    ranks: Ranks
    line: ProgressLine
    train_teacher: TrainTeacher

    def finish(self) -> LastStage | None:
        """Finish all stages before the last one. Returns None if the run must stop.

        Raises:
            UserError: Text is missing or broken, or a stage fails.
        """
        text = self._prepare_text()
        data = text.data(self.recipe)
        facts = self._train_teachers(data)
        if facts is None or not self._translate(data):
            return None
        return self._last_stage(text, data, [*([("Cleaning", text.cleaning)] if text.cleaning else []), *facts])

    def _prepare_text(self) -> StageText:
        """Check what the stages read, and copy it to the run directory."""
        check_stage_corpora(self.recipe)
        with self.ranks.first_before_others():
            is_translated = self._is_translated()
            start = open_start(self.recipe, self.run, no_log)
            if is_translated:
                self._warn_of_teachers()
            else:
                self._refuse_missing()
                for path in (*self.recipe.backtranslation.mono, *self.recipe.distillation.mono):
                    count_texts(path)
                if teachers := self.recipe.distillation.teachers:  # not after some directions are translated
                    for languages in self.recipe.data.directions:
                        BundleEnsemble.load(teachers, languages)
            if self.ranks.first:  # errors should not come after hours of training
                if not (saved := self.run / RECIPE_FILE).is_file():
                    save_recipe(self.recipe, saved)  # from here on, the run can be resumed
                record_start(self.run, start)
                if not is_translated:
                    check_sources(self.recipe, self.run)
                save_recipe(self.recipe, saved)  # with settings that may change
            text = collect_text(self.recipe, self.data_directory, self._text, self.line)
            if not is_translated:
                check_mono_language(self.recipe, text)
        return text

    def _train_teachers(self, data: Data) -> list[tuple[str, str]] | None:
        """Train the teachers that the run needs; returns lines of the report, or None if the run must stop."""
        facts = []
        for number, direction in enumerate(needed_teachers(self.recipe), start=1):
            recipe, directory = teacher_recipe(self.recipe, data, direction), self._teachers.path(direction)
            name = f"{direction} teacher, {_languages(recipe)}"
            self._announce(number, f"the {name}")
            if not self.train_teacher(recipe, directory):
                return None
            facts.append((name.capitalize(), _describe_teacher(directory)))
        if given := self.recipe.distillation.teachers:
            facts.append(("Teachers", ", ".join(given)))
        return facts

    def _last_stage(self, text: StageText, data: Data, facts: list[tuple[str, str]]) -> LastStage:
        """What the translator is trained with; `facts` are the lines of the report about its teachers."""
        results = [(corpus, result) for corpus in self._corpora(data) if (result := corpus.result)]
        made = [(f"Synthetic pairs, {corpus.name}", str(result)) for corpus, result in results]
        references = [corpus.reference for corpus, result in results if result.pairs]
        seconds = sum(result.seconds for _, result in results)
        self._announce(len(needed_teachers(self.recipe)) + 2, f"the translator, {_languages(self.recipe)}")
        continued = data.directions and needed_teachers(self.recipe)  # the model itself is the teacher
        teacher = str(self._teachers.path("backward")) if continued else None
        last = final_recipe(self.recipe, data, references, seconds, teacher)
        numbers = "; ".join(f"{corpus.name}: {result}" for corpus, result in results)
        if not last.data.train:
            raise UserError(
                f"the teachers made no good pair ({numbers}); check their translations, and choose other teachers and "
                "another --output"
            )
        made_in = {corpus.languages for corpus, result in results if result.pairs}
        lacking = [each for each in data.directions if each not in made_in]
        if self.recipe.distillation.teachers and lacking:
            names = ", ".join(map(name_direction, lacking))
            numbers = "; ".join(f"{corpus.name}: {result}" for corpus, result in results if corpus.languages in lacking)
            raise UserError(
                f"the teachers made no good pair in {names} ({numbers}); give more minutes, or leave these directions "
                "out, and choose another --output"
            )
        pairs = sum(result.pairs for _, result in results)
        lines = sum(result.lines / result.share for _, result in results if result.share)
        if self.recipe.distillation.teachers and pairs < min(LEAST_PAIRS, LEAST_PAIRS_SHARE * lines):
            raise UserError(
                f"there are only {counted(pairs, 'pair')} to learn from, too few for a student ({numbers}); give more "
                "minutes, or choose another teacher, and another --output"
            )
        return LastStage(last, text, [*facts, *made], all(result.share == 1 for _, result in results))

    def _refuse_missing(self) -> None:
        """Refuse to resume a run that lacks what it was started with, and still needs."""
        if missing := missing_sources(self.recipe, self.run):
            raise UserError(_explain_needed("missing", missing))

    def _warn_of_teachers(self) -> None:
        """Tell that a student will not be compared with teachers that are gone or replaced; refuse if it needs them."""
        teachers = self.recipe.distillation.teachers
        missing = [name for name in missing_sources(self.recipe, self.run) if name in teachers]
        if not (other := [*missing, *(changed_teachers(self.recipe, self.run) if teachers else [])]):
            return
        if saved_tokenizers(self.run) is None:
            raise UserError(_explain_needed("missing or changed", other))
        self.line.log(
            f"warning: {', '.join(other)}: missing or changed; to compare the student with it, restore it before the "
            "training ends, or resume the run afterwards"
        )

    def _announce(self, number: int, what: str) -> None:
        self.line.log(f"stage {number} of {len(needed_teachers(self.recipe)) + 2}: {what}")

    def _translate(self, data: Data) -> bool:
        """Make the synthetic corpora; returns False if the run must stop."""
        self._announce(len(needed_teachers(self.recipe)) + 1, "translating")
        minutes = self.recipe.training.minutes
        limit = minutes and 60 * minutes * self.recipe.teachers.translation_share
        stop, is_translated = StopFlag(), self._is_translated()

        def check() -> None:
            if not is_translated:
                check_sources(self.recipe, self.run)

        with stop_on_signals(stop, self.line.log, "and keeping what is translated"):  # in all processes
            with self.ranks.first_before_others():
                if self.ranks.first:
                    check()  # the teachers may have been trained for hours
                    self._synthetic.mkdir(exist_ok=True)
                    try:
                        with stop.interruptible():
                            make_corpora(self._corpora(data), self.line, limit, check)
                    except StopRequested:
                        stop.requested = True
            (stopped,) = self.ranks.largest((stop.requested,))
        if stopped:
            self.line.log(f"stopped while translating; continue with: {resume_command(self.run, self.data_directory)}")
        return not stopped

    def _is_translated(self) -> bool:
        """Whether all synthetic corpora are complete, so that their sources are not needed any more."""
        text = StageText.find(self._text)
        if text is None:
            return False
        corpora = self._corpora(text.data(self.recipe))
        return all(corpus.result is not None for corpus in corpora)

    @property
    def _text(self) -> Path:
        return (self.run / TEXT_DIRECTORY).resolve()  # the same in a resumed run that is named in another way

    @property
    def _synthetic(self) -> Path:
        return self.run / "synthetic"

    def _corpora(self, data: Data) -> list[SyntheticCorpus]:
        held_out = read_pairs((*data.validation, *data.test), data, self.data_directory)
        return synthetic_corpora(self._teachers, data, self._synthetic, held_out)

    @property
    def _teachers(self) -> RunTeachers:
        return RunTeachers(self.recipe, self.run / "teachers", self.ranks.device(self.recipe.training.device))


def _explain_needed(problem: str, names: Sequence[str]) -> str:
    return (
        f"{', '.join(names)}: {problem}, but this run still needs it; restore it, or choose another --output to start "
        "again"
    )


def _languages(recipe: Recipe) -> str:
    if recipe.data.directions:
        return " and ".join(recipe.data.all_languages)
    return f"{recipe.data.source_language} to {recipe.data.target_language}"


def _describe_teacher(run: Path) -> str:
    """The best scores of a teacher, and how long it was trained, as far as its metrics are complete."""
    validations = current_lines(complete_lines(read_metrics(run / "metrics.jsonl")), "validation")
    if not (bests := [line for line in validations if line["best"]]):
        return "trained"
    best, last = bests[-1], validations[-1]
    return (
        f"BLEU {best['bleu']:.2f}, chrF {best['chrf']:.2f} on the validation text; {last['step']:,} steps in "
        f"{format_seconds(last['seconds'])}"
    )
