"""dragoman train and dragoman quickstart."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dragoman.cli.options import DataDirectory, Overrides, minutes_option
from dragoman.cli.output import print_to_stderr
from dragoman.cli.text_files import (
    ColumnsOption,
    DelimiterOption,
    EncodingOption,
    HeaderOption,
    LanguagesOption,
    QuotesOption,
    TestOption,
    TextFilesCommand,
    ValidationOption,
)
from dragoman.cli.text_references import FileOptions
from dragoman.cli.training_texts import (
    Force,
    KeepAllOption,
    MonoOption,
    StartFromOption,
    TrainingTexts,
    refuse_two_budgets,
)
from dragoman.errors import UserError
from dragoman.system.run_paths import RUNS

if TYPE_CHECKING:
    from dragoman.planning.plan import PlannedRecipe
    from dragoman.settings import Recipe


_SETTINGS = {
    "validation": "data.validation",
    "test": "data.test",
    "keep-all": "data.clean",
    "start-from": "training.start_from",
    "mono": "backtranslation.mono",
}
"""The recipe setting for each option for files of text."""


class TrainCommand(TextFilesCommand):
    """Accepts --resume without a value, because Typer has no options whose value may be left out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give --resume the value that stands for none."""
        return super().parse_args(ctx, ["--resume=run" if argument == "--resume" else argument for argument in args])


def quickstart(
    output: Annotated[Path, typer.Option(help="Run directory.")] = Path("runs/quickstart"),
) -> None:
    """Train a small example translator.

    Trains a German-English translator on the built-in corpus, which takes a few minutes on a laptop, scores it and
    translates two sentences. If it is interrupted, run the same command again to continue.

    Example: dragoman quickstart --output runs/quickstart
    """
    from dragoman.recipe import load_recipe
    from dragoman.system.memory import keep_freed_memory
    from dragoman.training.run.run import train

    keep_freed_memory()
    recipe = load_recipe(Path("quickstart"))
    if not train(recipe, output, resume="auto"):
        raise typer.Exit(130)
    import dragoman

    translator = dragoman.load(output)
    examples = ["Ein kleiner Junge spielt im Park mit einem Hund.", "Zwei Frauen lesen ein Buch."]
    for text, translation in zip(examples, translator(examples), strict=True):
        print(f"{text}\n  -> {translation}")
    command = shlex.join(["dragoman", "translate", str(output), examples[0]])
    print(f"\nNow try: {command}\nand open {output / 'report.html'}")


def train(
    recipe: Annotated[
        list[str],
        typer.Argument(
            metavar="RECIPE_OR_FILE",
            help="A recipe file or the name of a built-in recipe; or text: two line-aligned files, source first, or "
            "files in other formats, such as memory.tmx.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            help="Run directory (default: runs/NAME with the name in the recipe; for text, such as runs/de-en)."
        ),
    ] = None,
    overrides: Overrides = None,
    minutes: Annotated[
        float | None,
        minutes_option(
            "Minutes to train (default: those of the recipe). For text, minutes for everything, with analysis, scores "
            "and report (default: as many epochs as it needs)."
        ),
    ] = None,
    validation: ValidationOption = None,
    test: TestOption = None,
    keep_all: KeepAllOption = False,
    start_from: StartFromOption = None,
    mono: MonoOption = None,
    languages: LanguagesOption = None,
    encoding: EncodingOption = None,
    delimiter: DelimiterOption = None,
    columns: ColumnsOption = None,
    header: HeaderOption = None,
    quotes: QuotesOption = None,
    force: Force = False,
    resume: Annotated[
        Literal["run", "auto"] | None,
        typer.Option(
            metavar="[=auto]",
            help="Continue an interrupted run; --resume=auto: start it if there is none yet.",
            show_choices=False,
        ),
    ] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write the metrics for TensorBoard to the run directory.")
    ] = False,
    data_dir: DataDirectory = None,
) -> None:
    """Train a translator.

    Trains from a recipe, or from files with your text, for which it chooses settings as `dragoman init` does. It writes
    checkpoints, the finished translator and report.html to the run directory. `dragoman settings` lists the settings
    that --set can change.

    Example: dragoman train my/train.de my/train.en --minutes 20
    """
    from dragoman.planning.budget import measure_speed, refuse_short_stages
    from dragoman.system.memory import keep_freed_memory
    from dragoman.system.time_limit import TimeLimit
    from dragoman.training.loop.distributed import has_several_processes
    from dragoman.training.run.run import Resume, train
    from dragoman.training.run.tensorboard import require_tensorboard
    from dragoman.training.stages.recipes import has_stages

    keep_freed_memory()
    if tensorboard:
        require_tensorboard()
    limit = None if minutes is None else TimeLimit.start(minutes)
    described = FileOptions(languages, encoding, delimiter, columns, header, quotes)
    files = TrainingTexts(
        recipe, validation or (), test or (), described, minutes, data_dir, keep_all, start_from, limit, mono or ()
    )
    loaded, planned = _find_recipe(files, overrides or [], output, resume)
    run = output or RUNS / loaded.name
    if planned and not force:
        planned.refuse_short_stages(overrides or [], minutes)
    elif has_stages(loaded) and not (resume or force or has_several_processes()):
        refuse_short_stages(loaded, measure_speed(loaded.training.device, loaded.training.threads))
    resumed: Resume = "auto" if resume == "auto" else resume is not None
    speed = planned.expect(loaded).tokens_per_second if planned else None
    if not train(
        loaded,
        run,
        resume=resumed,
        data_directory=data_dir,
        planned_speed=speed,
        limit=limit if planned else None,
        tensorboard=tensorboard,
    ):
        raise typer.Exit(130)


def _find_recipe(
    files: TrainingTexts, overrides: Sequence[str], output: Path | None, resume: Literal["run", "auto"] | None
) -> tuple[Recipe, PlannedRecipe | None]:
    """The recipe that is named, or that is chosen for the named files, and then how it was chosen.

    Args:
        files: What to train on.
        overrides: ``SECTION.KEY=VALUE`` each.
        output: The run directory, if it is named.
        resume: To take the recipe of a run; it was chosen when the run was started. "auto": if there is one.
    """
    from dragoman.recipe import builtin_recipes, load_recipe
    from dragoman.training.loop.distributed import refuse_several_processes
    from dragoman.training.run.directory import check_directory, restore_files

    refuse_two_budgets(files.minutes, overrides)
    first = files.train[0]
    if len(files.train) == 1 and (first.endswith(".toml") or first in builtin_recipes()):
        if given := files.given():
            key = _SETTINGS.get(given[0])
            change = f"change {key} in the recipe, or use --set {key}=…" if key else "change the recipe, or use --set"
            raise UserError(f"--{given[0]} is for files of text; {change}")
        minutes = [] if files.minutes is None else [f"training.minutes={files.minutes!r}"]
        if resume:  # the recipe may be that of the run
            restore_files(Path(first).parent, print_to_stderr)
        return load_recipe(Path(first), [*overrides, *minutes]), None
    run = output or RUNS / files.name()
    if resume:
        restore_files(run, print_to_stderr)
    resuming = resume == "run" or (resume == "auto" and (run / "recipe.toml").is_file())
    check_directory(run, resuming)  # before the text is checked, which can take minutes
    if resuming:
        return _recipe_of_run(run, files, overrides), None
    refuse_several_processes("dragoman train FILE…")
    made = files.plan(overrides)
    recipe = made.recipe(overrides)
    print(made.summary(recipe), file=sys.stderr)
    return recipe, made


def _recipe_of_run(run: Path, files: TrainingTexts, overrides: Sequence[str]) -> Recipe:
    """The recipe of a run to resume; raises UserError if it was started with other files or options."""
    from dragoman.recipe import load_recipe
    from dragoman.settings import WeightedCorpus
    from dragoman.training.run.directory import has_minutes

    recipe = load_recipe(run / "recipe.toml", overrides)
    texts, train, minutes = files.texts(), recipe.data.train, files.minutes
    same_minutes = minutes is not None and has_minutes(run, recipe, minutes)
    # Machine-translated text got a weight; old text of a bundle to start from has one, too, and was not named.
    plain = [each.corpus if isinstance(each, WeightedCorpus) else each for each in train]
    train = tuple(
        each
        for each, written in zip(plain, train, strict=True)
        if each in texts.train or not isinstance(written, WeightedCorpus)
    )
    given = {
        "--languages": ("data.languages", texts.languages, recipe.data.languages),
        "training text": ("data.train", tuple(texts.train), train),
        "--validation": ("data.validation", tuple(texts.validation), recipe.data.validation),
        "--test": ("data.test", tuple(texts.test), recipe.data.test),
        "--keep-all": ("data.clean", texts.clean, recipe.data.clean),
        "--minutes": ("training.minutes", minutes, minutes if same_minutes else recipe.training.minutes),
        "--start-from": ("training.start_from", files.start_from, recipe.training.start_from),
        "--mono": ("backtranslation.mono", tuple(files.mono), recipe.backtranslation.mono),
    }
    optional = {"--validation", "--test", "--minutes", "--start-from", "--mono"}  # need not be repeated
    overridden = {override.partition("=")[0].strip() for override in overrides}  # are not those of the options
    different = {name for name, (key, new, old) in given.items() if new != old and key not in overridden}
    if changed := [name for name in given if name in different and (given[name][1] or name not in optional)]:
        raise UserError(
            f"{run}: was started with another {' and '.join(changed)}, which cannot change; choose another --output to "
            "start again"
        )
    return recipe
