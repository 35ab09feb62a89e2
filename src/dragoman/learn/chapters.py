"""Chapters of the course: Markdown with blocks of Python, run in a terminal or written as notebooks."""

from __future__ import annotations

import ast
import json
import math
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from dragoman.errors import UserError, shown_name
from dragoman.learn.exercises import COURSE, load_solution, wrong_definitions
from dragoman.system.user_code import describe_exception, place_of

_CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_MINUTES = re.compile(r"^\*About (\d+) minutes to read; runs in about (\d+) s\.\*$", re.MULTILINE)
_QUESTION = re.compile(r"\*\*(?:Predict first|Before you read on).*?(?:\n\n|\Z)", re.DOTALL)
_SHADES = " ░▒▓█"


@dataclass(frozen=True)
class Chapter:
    """A chapter: its number, title, the file, and how long reading (minutes) and running (seconds) take."""

    number: int
    title: str
    path: Path
    minutes: int
    seconds: int

    @property
    def text(self) -> str:
        """The Markdown."""
        return self.path.read_text(encoding="utf-8")


@dataclass(frozen=True)
class ChapterPart:
    """A part of a chapter: text, or code with its line in the file."""

    text: str
    is_code: bool
    line: int


_RELOADING = ChapterPart(
    "# Cells use the functions of transformer.py as they are now.\n%load_ext autoreload\n%autoreload 2\n", True, 0
)


def chapters() -> list[Chapter]:
    """The chapters of the course in order."""
    return [_read(path) for path in sorted((COURSE / "chapters").glob("*.md"))]


def find_chapter(number: int) -> Chapter:
    """The chapter of that number.

    Raises:
        UserError: There is none.
    """
    for chapter in chapters():
        if chapter.number == number:
            return chapter
    raise UserError(f"there is no chapter {number}; the chapters are 1 to {len(chapters())}")


def _read(path: Path) -> Chapter:
    text = path.read_text(encoding="utf-8")
    times = _MINUTES.search(text)
    assert times is not None, f"{path}: the line with the times is missing"
    title = text.partition("\n")[0].removeprefix("# ").partition(". ")[2]
    return Chapter(int(path.name.partition("-")[0]), title, path, int(times[1]), int(times[2]))


def parts_of(chapter: Chapter) -> Iterator[ChapterPart]:
    """Text and code of a chapter in order."""
    text, end = chapter.text, 0
    for match in _CODE.finditer(text):
        if before := text[end : match.start()].strip("\n"):
            yield ChapterPart(before, False, text[:end].count("\n") + 1)
        yield ChapterPart(match[1], True, text[: match.start()].count("\n") + 2)
        end = match.end()
    if rest := text[end:].strip("\n"):
        yield ChapterPart(rest, False, text[:end].count("\n") + 1)


def run_chapter(chapter: Chapter, show: bool = True, pause: Callable[[], object] = lambda: None) -> dict[str, Any]:
    """Run the code of a chapter in order, printing text and output; returns its variables.

    The directory of the learner's file must be on the path of modules.

    Args:
        chapter: The chapter.
        show: Whether to print text and code, not only the output.
        pause: Called after each question, before its answer appears.

    Raises:
        NotImplementedError: The code needs a function that is not written yet. Code that needs none runs all the same.
    """
    missing: NotImplementedError | None = None
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for part in parts_of(chapter):
        if show and part.is_code:
            print(_indented(part.text), end="\n\n")
        elif show:
            _print_text(part.text, pause)
        if part.is_code:
            try:
                _run_code(part, str(chapter.path), namespace)
            except NotImplementedError as error:
                missing = missing or error
                print(f"(needs {error})")
            except NameError:
                if missing is None:
                    raise
                print(f"(needs the result of code above, which needs {missing})")
            if show:
                print()
    if missing:
        raise missing
    return namespace


def run_with_file(number: int, file: str) -> Iterator[None]:
    """Run a chapter with a learner's file, which is loaded; the command line calls this in a separate process.

    A terminal waits after each question. Yields nothing.

    Raises:
        UserError: The file cannot be imported, or lacks a function, or the chapter fails because of it.
        OSError: Standard output cannot be written.
    """
    name, chapter = shown_name(file), find_chapter(number)
    module = load_solution(Path(file))
    try:
        run_chapter(chapter, pause=_wait_for_enter if sys.stdin.isatty() else lambda: None)
    except NotImplementedError as error:
        raise UserError(f"{name}: not written yet: {error}; then run this chapter again") from error
    except (KeyboardInterrupt, UserError):
        raise
    except BaseException as error:  # what a learner's code may raise, or the chapter because of what it returns
        if place_of(error):
            raise UserError(f"{name}: {describe_exception(error)}") from error
        if isinstance(error, OSError):
            raise
        lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if _is_code_of(chapter, frame)]
        raise UserError(
            f"{name}: chapter {number} cannot go on in its line {lines[-1] if lines else 1}: "
            f"{describe_exception(error)}{wrong_definitions(module)}; dragoman learn check {number} tests your "
            "functions one by one"
        ) from error
    yield from ()


def _is_code_of(chapter: Chapter, frame: FrameType) -> bool:
    return frame.f_code.co_filename == str(chapter.path)


def _wait_for_enter() -> None:
    with suppress(EOFError):
        input("(press Enter to continue) ")


def _print_text(text: str, pause: Callable[[], object]) -> None:
    """Print text, with a pause after each paragraph that asks a question."""
    start = 0
    for question in _QUESTION.finditer(text):
        print(text[start : question.end()].rstrip("\n"), end="\n\n")
        pause()
        start = question.end()
    if start < len(text):
        print(text[start:], end="\n\n")


def _run_code(part: ChapterPart, origin: str, namespace: dict[str, Any]) -> None:
    """Run code as a notebook does: the value of a last expression is printed."""
    tree = ast.parse("\n" * (part.line - 1) + part.text)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body.pop()
    exec(compile(tree, origin, "exec", dont_inherit=True), namespace)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), origin, "eval", dont_inherit=True), namespace)
        if value is not None:
            print(value)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.rstrip("\n").splitlines())


def notebook(chapter: Chapter) -> str:
    """The chapter as a Jupyter notebook (format 4.5), in JSON, whose first code reloads the learner's file."""
    written: list[dict[str, Any]] = []
    for number, part in enumerate([_RELOADING, *parts_of(chapter)]):
        source = part.text.rstrip("\n").splitlines(keepends=True)
        entry: dict[str, Any] = {"id": f"part-{number}", "metadata": {}, "source": source}
        if part.is_code:
            entry |= {"cell_type": "code", "execution_count": None, "outputs": []}
        else:
            entry["cell_type"] = "markdown"
        written.append(entry)
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    document = {"cells": written, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def show_matrix(matrix: Any, rows: Sequence[str], columns: Sequence[str]) -> None:
    """Print a matrix of weights between 0 and 1 as a picture: the darker, the larger; (rows, columns). NaN is ``?``."""
    width = max(len(name) for name in rows)
    height = max(len(name) for name in columns)
    for level in range(height):
        letters = (name.rjust(height)[level] for name in columns)
        print(" " * width, " ", "  ".join(letters))
    for name, weights in zip(rows, matrix, strict=True):
        print(name.rjust(width), " ", "  ".join(_shade(float(weight)) for weight in weights))
    if any(math.isnan(float(weight)) for weights in matrix for weight in weights):
        print("? is not a number (NaN): dragoman learn check says which function returns it")


def _shade(weight: float) -> str:
    return "?" if math.isnan(weight) else _SHADES[int(min(max(weight, 0.0), 0.999) * len(_SHADES))]
