"""The command `learn`: the course, its chapters and the checks of what the learner has written."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.options import AsJson
from dragoman.cli.output import print_json
from dragoman.errors import UserError, escape_controls, shown_name

if TYPE_CHECKING:
    from dragoman.learn.results import Result

learn_app = typer.Typer(help="A course: write a Transformer, and check it.", no_args_is_help=True)

COURSE_DIRECTORY = Path("course")
Directory = Annotated[Path, typer.Option("--directory", help="The directory of your course.")]
ChapterNumber = Annotated[int | None, typer.Argument(metavar="[CHAPTER]", help="The number of a chapter, 1 to 8.")]


@learn_app.command("start")
def start(directory: Directory = COURSE_DIRECTORY) -> None:
    """Create the course: your file transformer.py, in which functions are missing, and the chapters.

    Files that exist already are kept.

    Example: dragoman learn start
    """
    from dragoman.learn.chapters import chapters, notebook
    from dragoman.learn.exercises import ANSWERS, FILE_NAME, SOLUTION, skeleton
    from dragoman.system.files import write_text

    directory.mkdir(parents=True, exist_ok=True)
    files = {
        FILE_NAME: skeleton(SOLUTION.read_text(encoding="utf-8")),
        ANSWERS.name: ANSWERS.read_text(encoding="utf-8"),
    }
    for chapter in chapters():
        files[chapter.path.name] = chapter.text
        files[chapter.path.with_suffix(".ipynb").name] = notebook(chapter)
    for name, text in files.items():
        if not (directory / name).exists():
            write_text(directory / name, text)
    for chapter in chapters():
        seconds = f"{chapter.seconds} s" if chapter.seconds < 100 else f"{chapter.seconds / 60:.0f} minutes"
        print(f"{chapter.number}  {chapter.title}: about {chapter.minutes} minutes to read; its code runs {seconds}")
    option = "" if directory == COURSE_DIRECTORY else f" --directory {shlex.quote(str(directory))}"
    lines = [
        f"read {directory / '1-attention.md'}, or run it here: dragoman learn run 1{option}, or dragoman learn open 1"
        f"{option} (in Jupyter)",
        f"write its functions in {directory / FILE_NAME}, then: dragoman learn check 1{option}",
        f"answers to the questions of all chapters: {directory / ANSWERS.name}",
    ]
    print("\n".join(map(shown_name, lines)))


@learn_app.command("open")
def open_chapter(number: ChapterNumber = 1, directory: Directory = COURSE_DIRECTORY) -> None:
    """Open a chapter in Jupyter.

    Example: dragoman learn open 1
    """
    from dragoman.learn.chapters import find_chapter

    path = directory / find_chapter(1 if number is None else number).path.with_suffix(".ipynb").name
    jupyter = shutil.which("jupyter-lab") or shutil.which("jupyter-notebook")
    if jupyter is None:
        raise UserError("Jupyter is not installed: pip install jupyterlab, or use dragoman learn run in this terminal")
    if not path.exists():
        raise UserError(f"{shown_name(path)}: there is no such file; create the course with dragoman learn start")
    subprocess.run([jupyter, str(path)], check=False)


@learn_app.command("run")
def run(number: ChapterNumber = 1, directory: Directory = COURSE_DIRECTORY) -> None:
    """Run a chapter in this terminal, with your transformer.py: its text, its code and what that prints.

    Example: dragoman learn run 1
    """
    from dragoman.learn.chapters import find_chapter
    from dragoman.learn.exercises import FILE_NAME
    from dragoman.system.user_code import run_apart

    arguments = {"number": find_chapter(1 if number is None else number).number, "file": str(directory / FILE_NAME)}
    for _ in run_apart("dragoman.learn.chapters:run_with_file", arguments, "as it is"):
        pass


@learn_app.command("check")
def check(
    number: ChapterNumber = None,
    directory: Directory = COURSE_DIRECTORY,
    file: Annotated[Path | None, typer.Option(help="Another file than transformer.py of the directory.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check your transformer.py: the exercises of a chapter, or all that are written.

    The exit code is 1 if a check fails, or if an exercise of the chapter is not written.

    Example: dragoman learn check 2
    """
    from dragoman.learn.chapters import find_chapter
    from dragoman.learn.exercises import FILE_NAME
    from dragoman.learn.results import check_apart

    if number is not None:
        find_chapter(number)
    results = []
    with closing(check_apart(file or directory / FILE_NAME, number)) as found:
        for result in found:
            results.append(result)
            if not as_json:
                _print_result(result)
    if as_json:
        print_json([result.to_dict() for result in results])
    else:
        _print_summary(results)
    missing = number is not None and any(not result.written for result in results)
    if missing or any(result.message and result.written for result in results):
        raise typer.Exit(1)


def _print_result(result: Result) -> None:
    mark = "right" if not result.message else "wrong" if result.written else "to do"
    print(f"{mark}  chapter {result.chapter}: {result.check}")
    for line in escape_controls(result.message).splitlines():
        print(f"         {line}")
    sys.stdout.flush()


def _print_summary(results: list[Result]) -> None:
    right = sum(not result.message for result in results)
    if sum(bool(result.message) and result.written for result in results) > 1:
        print("repair the first of the wrong ones first: others may follow from it")
    print(f"{right} of {len(results)} checks passed")
