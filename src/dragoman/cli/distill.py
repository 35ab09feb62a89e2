"""dragoman distill."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dragoman.cli.options import DataDirectory, Overrides, minutes_option
from dragoman.cli.output import print_to_stderr
from dragoman.cli.teachers import (
    AddressedTeacher,
    AddressOptions,
    KeyFileOption,
    KeyVariableOption,
    ModelOption,
    ParallelOption,
    RemoteOption,
    check_output,
    read_groups,
    refuse_useless_options,
    synthesize_text,
)
from dragoman.cli.text_references import parse_languages
from dragoman.cli.training_texts import Force, refuse_two_budgets
from dragoman.errors import UserError
from dragoman.system.run_paths import RUNS, run_directory

if TYPE_CHECKING:
    from dragoman.planning.student import StudentPlan
    from dragoman.settings import Recipe


def distill(
    context: typer.Context,
    teachers: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEACHER", help="A run or bundle to learn from; several are an ensemble."),
    ] = None,
    size: Annotated[
        Literal["base", "small", "tiny", "shallow"],
        typer.Option(
            help="Size of the student; smaller is faster. shallow: the teacher with one decoder layer, for little time."
        ),
    ] = "tiny",
    minutes: Annotated[
        float | None,
        minutes_option("Minutes for everything, with the comparison (default: as many epochs as the text needs)."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Run directory of the student (default: runs/NAME-SIZE, after the first teacher)."),
    ] = None,
    mono: Annotated[
        list[str] | None,
        typer.Option(help="File in the source language to translate, too, one sentence per line (or .gz)."),
    ] = None,
    round_trip: Annotated[
        str | None,
        typer.Option(metavar="BUNDLE", help="With --mono: choose translations that this bundle translates back best."),
    ] = None,
    teacher: AddressedTeacher = None,
    languages: Annotated[
        str | None, typer.Option(metavar="CODE-CODE", help="With --teacher: from which language into which.")
    ] = None,
    model: ModelOption = None,
    remote: RemoteOption = False,
    key_file: KeyFileOption = None,
    key_variable: KeyVariableOption = None,
    parallel: ParallelOption = 4,
    directions: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIRECTION,…",
            help="Directions of the student, such as de-dsb,hsb-de, of a teacher with several (default: all).",
        ),
    ] = None,
    force: Force = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    overrides: Overrides = None,
    data_dir: DataDirectory = None,
) -> None:
    """Train a small, fast translator that imitates another one.

    The teacher translates the training text of its run, and the student learns from these translations. Its bundle
    states its quality, speed and size next to those of the teacher, unless that is behind an address. If the teacher
    has several directions, the student has them, too; or choose some of them: --directions de-dsb,hsb-de

    Example: dragoman distill runs/de-en --size tiny --minutes 30 --output runs/de-en-tiny
    """
    if bool(teacher) == bool(teachers):
        raise UserError("name runs or bundles to learn from, or one teacher behind an address with --teacher")
    refuse_useless_options(context, teacher is not None)
    if teacher:
        address = AddressOptions(model, remote, key_file, key_variable)
        given = (size, minutes, output, mono or [], languages, address, parallel)
        _distill_address(teacher, *given, resume=resume, overrides=overrides or [], data_dir=data_dir)
        return
    assert teachers
    from dragoman.planning.budget import measure_speed, refuse_short_stages
    from dragoman.planning.student import StudentPlan
    from dragoman.settings import Distillation
    from dragoman.system.memory import keep_freed_memory
    from dragoman.system.time_limit import TimeLimit
    from dragoman.training.run.run import train

    if round_trip and not mono:
        raise UserError("--round-trip only chooses translations of --mono; add --mono, or remove --round-trip")
    refuse_two_budgets(minutes, overrides or [])
    limit = None if minutes is None or resume else TimeLimit.start(minutes)
    keep_freed_memory()
    names = _parse_directions(directions or [])
    run = output or RUNS / "-".join((run_directory(Path(teachers[0])).name, *names, size))
    paths = tuple(str(Path(teacher)) for teacher in teachers)  # the same with and without a slash at the end
    runs = [run_directory(Path(path)).resolve() for path in paths]
    if repeated := next((path for index, path in enumerate(paths) if runs[index] in runs[:index]), None):
        raise UserError(f"{repeated}: named twice; each teacher counts once")
    if run_directory(run).resolve() in runs:
        raise UserError(f"--output {run}: is a teacher; choose another directory for the student")
    texts = tuple(str(Path(file)) for file in mono or ())
    distillation = Distillation(teachers=paths, mono=texts, round_trip=round_trip)
    plan = StudentPlan(size, minutes, distillation, names)
    recipe = _find_recipe(run, plan, overrides or [], resume, data_dir)
    if not (resume or force):
        refuse_short_stages(recipe, measure_speed(recipe.training.device, recipe.training.threads))
    if recipe.distillation.teachers != distillation.teachers:
        raise UserError("--set distillation.teachers: name the teachers as arguments")
    if not train(recipe, run, resume=resume, data_directory=data_dir, limit=limit):
        raise typer.Exit(130)


def _parse_directions(directions: list[str]) -> tuple[str, ...]:
    """The names of the directions of the student, each once; none for all."""
    names = dict.fromkeys(name for each in directions for name in map(str.strip, each.split(",")) if name)
    if directions and not names:
        raise UserError("--directions: names no direction; name some, such as de-en, or leave it out for all")
    return () if [*names] == ["all"] else tuple(names)


def _distill_address(
    teacher: str,
    size: Literal["base", "small", "tiny", "shallow"],
    minutes: float | None,
    output: Path | None,
    mono: list[str],
    languages: str | None,
    options: AddressOptions,
    parallel: int,
    *,
    resume: bool,
    overrides: list[str],
    data_dir: Path | None,
) -> None:
    """Let a teacher behind an address translate text, and train a student on that."""
    from dragoman.planning.student import STUDENT_SIZES, TRANSLATION_SHARE, StudentPlan, plan_student_of_text
    from dragoman.recipe import load_recipe
    from dragoman.settings import Distillation, FilePair
    from dragoman.synthesis.synthesis import SynthesisSettings
    from dragoman.synthesis.teachers import TeacherAddress
    from dragoman.system.files import read_json, write_json
    from dragoman.system.memory import keep_freed_memory
    from dragoman.system.resumable import delete_unfinished, unfinished_directory
    from dragoman.training.run.directory import check_directory
    from dragoman.training.run.run import train

    address = TeacherAddress.parse(teacher)
    if address is None:
        raise UserError(f"--teacher {teacher}: is no address; name a run or bundle without --teacher")
    if STUDENT_SIZES[size].is_of_teacher:
        raise UserError(f"--size {size} starts with the weights of its teacher, which an address does not give")
    if not mono or languages is None:
        raise UserError("--teacher needs --mono, the text to translate, and --languages, such as de-en")
    refuse_two_budgets(minutes, overrides)
    codes, service = parse_languages(languages), address.describe(options.model)
    run = output or RUNS / f"{'-'.join(codes)}-{size}"
    start = Path(f"{run}.json")
    given: dict[str, Any] = {
        "--teacher": str(address),
        "--model": options.model,
        "--languages": list(codes),
        "--mono": sorted(str(Path(file)) for file in mono),
        "--size": size,
        "--minutes": minutes,
    }
    if resume and start.is_file():
        _refuse_changed(run, _compare_start(read_json(start), given), data_dir)
    if resume and (run / "recipe.toml").is_file():
        recipe = load_recipe(run / "recipe.toml", overrides)
    else:
        check_directory(run, resume=False)
        run.parent.mkdir(parents=True, exist_ok=True)
        pattern = Path(f"{run}.{{lang}}")
        files = FilePair(source=f"{run}.{codes[0]}", target=f"{run}.{codes[1]}")
        written = [Path(files.source), Path(files.target)]
        skipped = ""
        if not (resume and all(path.is_file() for path in written)):
            check_output(pattern, codes, resume)
            opened = options.open(address, codes, [])
            seconds = 60 * minutes * TRANSLATION_SHARE if minutes else math.inf
            settings = SynthesisSettings(parallel=parallel, seconds=seconds)
            groups = read_groups([Path(file) for file in mono], codes, opened)
            if not (resume and start.is_file()):
                write_json(start, given)
            skipped = synthesize_text(
                opened, codes, groups, settings, pattern, marked=False, resume=resume, keep_answers=True
            )
            service += f" ({skipped})" if skipped else ""
        distillation = Distillation(translated_by=service)
        plan = StudentPlan(size, minutes and minutes * (1 - TRANSLATION_SHARE), distillation)
        answers = unfinished_directory(pattern)
        try:
            recipe = plan_student_of_text(plan, [files], codes, overrides, data_dir, print_to_stderr)
        except UserError as error:
            if not answers.is_dir():
                raise
            for path in written:  # they would stop the same command; --resume writes them again
                path.unlink(missing_ok=True)
            raise UserError(f"{error}\n{answers} keeps the translations; to use them, add --resume") from None
        if not skipped:
            delete_unfinished(pattern)
        resume = False
    keep_freed_memory()
    if not train(recipe, run, resume=resume, data_directory=data_dir):
        raise typer.Exit(130)


def _find_recipe(run: Path, plan: StudentPlan, overrides: list[str], resume: bool, data_dir: Path | None) -> Recipe:
    """The recipe for a student, or that of a run to resume; raises UserError if the run was started with another."""
    from dragoman.planning.student import STUDENT_SIZES, plan_student
    from dragoman.recipe import load_recipe
    from dragoman.text.multilingual import name_direction
    from dragoman.training.loop.distributed import refuse_several_processes
    from dragoman.training.run.directory import check_directory, has_minutes, restore_files

    if resume:
        restore_files(run, print_to_stderr)
    check_directory(run, resume)  # before the text is read
    if not resume:
        refuse_several_processes("dragoman distill")
        return plan_student(plan, overrides, data_dir, print_to_stderr)
    recipe = load_recipe(run / "recipe.toml", overrides)
    set_keys = {each.partition("=")[0].strip() for each in overrides}
    shape = {key: value for key, value in STUDENT_SIZES[plan.size].model.items() if f"model.{key}" not in set_keys}
    has_weights = recipe.training.start_from is not None
    starts_alike = has_weights == STUDENT_SIZES[plan.size].is_of_teacher or "training.start_from" in set_keys
    known_directions = set(map(name_direction, recipe.data.directions or (recipe.data.languages,)))
    mono, known_mono = {*plan.distillation.mono}, {*recipe.distillation.mono}
    same = {
        "TEACHER": recipe.distillation.teachers == plan.distillation.teachers,
        # a student of a teacher with several directions can have more
        "--mono": mono <= known_mono if plan.directions or recipe.data.directions else mono == known_mono,
        "--directions": not plan.directions or {*plan.directions} == known_directions,
        "--round-trip": _as_path(recipe.distillation.round_trip) == _as_path(plan.distillation.round_trip),
        "--minutes": plan.minutes is None or has_minutes(run, recipe, plan.minutes),
        "--size or --set model.…": shape.items() <= recipe.model.model_dump().items() and starts_alike,
    }
    _refuse_changed(run, same, data_dir)
    return recipe


def _as_path(name: str | None) -> Path | None:
    """A path that is the same with and without a slash at its end."""
    return None if name is None else Path(name)


def _compare_start(started: dict[str, Any], given: dict[str, Any]) -> dict[str, bool]:
    """Whether each option is the same as when the run was started; --minutes need not be repeated."""
    return {name: value == started.get(name) or (name, value) == ("--minutes", None) for name, value in given.items()}


def _refuse_changed(run: Path, same: dict[str, bool], data_dir: Path | None) -> None:
    """Raises UserError if an option is not the same as when a run was started."""
    from dragoman.system.run_paths import resume_command

    if changed := [name for name, is_same in same.items() if not is_same]:
        is_trained = (run / "recipe.toml").is_file()
        command = resume_command(run, data_dir) if is_trained else "repeat the command with the same options"
        raise UserError(
            f"{run}: was started with another {' and '.join(changed)}; to continue it: {command}; to start another "
            "run, choose another --output"
        )
