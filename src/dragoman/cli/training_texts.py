"""The files that dragoman init and dragoman train choose a recipe for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.output import print_to_stderr
from dragoman.cli.text_references import (
    FileOptions,
    FoundTexts,
    find_held_out,
    find_texts,
    refuse_meaningless_options,
    state_directions,
)
from dragoman.errors import UserError
from dragoman.system.time_limit import END_SHARE, LEAST_TRAINING

if TYPE_CHECKING:
    from dragoman.corpus.pair import Languages
    from dragoman.planning.plan import PlannedRecipe, Texts
    from dragoman.system.time_limit import TimeLimit

SECONDS_PER_MEGABYTE, COMPRESSION = 3.0, 3
"""How long it takes to check and to prepare a megabyte of text on two cores (tatoeba: 4.0, longer sentences: 2.5), and
how much larger compressed text is than its file."""

KeepAllOption = Annotated[
    bool,
    typer.Option(
        "--keep-all",
        help="Also train on pairs in which `dragoman doctor data` finds problems; by default, they are left out.",
    ),
]

StartFromOption = Annotated[
    str | None,
    typer.Option(
        "--start-from",
        metavar="BUNDLE",
        help="Start with the weights and the vocabulary of a bundle or run, instead of random weights.",
    ),
]


MonoOption = Annotated[
    list[str] | None,
    typer.Option(
        "--mono",
        metavar="FILE",
        help="Text in one language, which is translated back and learned from, too; of several languages, its name "
        "states which: mono.dsb. May be repeated.",
    ),
]


Force = Annotated[
    bool,
    typer.Option("--force", help="Allow a time that is too short for useful translations of a student or a teacher."),
]


@dataclass(frozen=True)
class TrainingTexts:
    """The files of a training, and what the command line says about them."""

    train: Sequence[str]
    validation: Sequence[str]
    test: Sequence[str]
    files: FileOptions
    minutes: float | None
    data_directory: Path | None
    keep_all: bool = False
    start_from: str | None = None
    limit: TimeLimit | None = None
    mono: Sequence[str] = ()

    def given(self) -> list[str]:
        """The names of options that describe files of text, of those that were given."""
        values = {
            "validation": self.validation,
            "test": self.test,
            "keep-all": self.keep_all,
            "start-from": self.start_from,
            "mono": self.mono,
            **vars(self.files),
        }
        return [name for name, value in values.items() if value not in (None, (), False)]

    def name(self) -> str:
        """The name of the recipe: the languages, and whether it starts from a bundle."""
        from dragoman.planning.plan import ADAPTED

        return self._found.name if self.start_from is None else f"{self._found.name}{ADAPTED}"

    def texts(self) -> Texts:
        """The text as it is planned for."""
        from dragoman.planning.plan import Texts

        found, trained = self._found, self._trained
        validation = find_held_out(self.validation, self.files, trained, self.data_directory)
        test = find_held_out(self.test, self.files, trained, self.data_directory)
        refuse_meaningless_options([*self.train, *self.validation, *self.test], self.files)
        return Texts(
            found.languages,
            found.references,
            validation,
            test,
            clean=not self.keep_all,
            directions=found.directions,
            mono=tuple(self.mono),
        )

    @cached_property
    def _found(self) -> FoundTexts:
        """The corpora to train on, and their languages: if nothing states them, those of the bundle to start from."""
        default = self._languages_of_start if self.start_from else None
        found = find_texts(self.train, self.files, data_directory=self.data_directory, default=default)
        if self.start_from and not found.directions:
            from dragoman.planning.student import recipe_of_run

            if recipe_of_run(self.start_from).data.directions:  # the text is for directions of a model with several
                return state_directions(found)
        return found

    @property
    def _trained(self) -> FoundTexts:
        """The corpora with all directions that may be trained: those that share lines, and those of old text, too."""
        from dragoman.planning.student import recipe_of_run
        from dragoman.settings.data import joined_directions

        found = self._found
        if not found.directions:
            return found
        old = recipe_of_run(self.start_from).data.directions if self.start_from else ()
        directions = dict.fromkeys([*found.directions, *joined_directions(found.directions), *old])
        return replace(found, directions=tuple(directions))

    def _languages_of_start(self) -> Languages:
        from dragoman.languages.codes import join_codes
        from dragoman.planning.student import recipe_of_run
        from dragoman.text.multilingual import name_direction

        assert self.start_from
        data = recipe_of_run(self.start_from).data
        if data.has_several_pairs:
            raise UserError(
                f"{', '.join(self.train)}: the languages are not known; add those of one direction of "
                f"{self.start_from} ({', '.join(map(name_direction, data.directions))}), or others: "
                f"--languages {join_codes(data.languages)}"
            )
        return data.languages

    def plan(self, overrides: Sequence[str] = ()) -> PlannedRecipe:
        """The recipe for these files; a bundle to start from must agree with it and with the overrides."""
        from dragoman.corpus.corpus import count_texts
        from dragoman.dataset.pairs import check_first_pairs
        from dragoman.planning.plan import plan_recipe
        from dragoman.system.progress import ProgressLine
        from dragoman.training.stages.recipes import mono_language

        texts, directory = self.texts(), self.data_directory
        if self.limit and (warning := self._describe_delay(self.limit)):
            print_to_stderr(warning)
        for file in self.mono:
            count_texts(file)
            if texts.directions:
                mono_language(file, list(dict.fromkeys(chain.from_iterable(texts.directions))))
        held_out = (*texts.validation, *texts.test)
        check_first_pairs(held_out, texts.languages, directory)  # before the training text is read, which takes long
        with ProgressLine("planning", often_short=True) as line:
            planned = plan_recipe(
                texts, self.minutes, directory, line.log, self.start_from, overrides, self.limit, line.update
            )
            line.update(1.0, "settings are chosen")
        return planned

    def _describe_delay(self, limit: TimeLimit) -> str | None:
        """How long the command takes, if there is too much text to end in time."""
        from dragoman.planning.budget import describe_minutes

        files = [Path(name) for name in self.train if Path(name).is_file()]
        size = sum(file.stat().st_size * (COMPRESSION if file.suffix in (".gz", ".zip") else 1) for file in files)
        before = size / 1e6 * SECONDS_PER_MEGABYTE / 60
        minutes = before + (LEAST_TRAINING + END_SHARE) * limit.minutes
        if minutes <= limit.minutes:
            return None
        return (
            f"this will take about {describe_minutes(minutes)} instead of {describe_minutes(limit.minutes)}: checking "
            f"and preparing {size / 1e6:,.0f} MB of text takes about {describe_minutes(before)}, and training gets "
            f"{LEAST_TRAINING:.0%} of --minutes in any case"
        )


def refuse_two_budgets(minutes: float | None, overrides: Sequence[str]) -> None:
    """Check that --minutes and --set do not both say how long to train."""
    from dragoman.recipe import BUDGETS

    others = [each for each in overrides if each.partition("=")[0].strip() in BUDGETS]
    if minutes is not None and others:
        raise UserError(f"--minutes and --set {others[0]}: both say how long to train; give one of them")
