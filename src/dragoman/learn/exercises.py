"""The file that the learner completes: the course's Transformer without the bodies of its exercises."""

from __future__ import annotations

import ast
import linecache
import re
from pathlib import Path
from types import ModuleType

from dragoman.errors import UserError, shortened, shown_name
from dragoman.system.user_code import load_file

COURSE = Path(__file__).parents[1] / "course"
SOLUTION = COURSE / "transformer.py"
ANSWERS = COURSE / "answers.md"
FILE_NAME = "transformer.py"

_EXERCISE = re.compile(r"Chapter (\d+):")


def skeleton(solution: str) -> str:
    """The solution, in which each function with a chapter in its docstring only raises NotImplementedError."""
    lines = solution.splitlines()
    for node in reversed(_exercises(solution)):  # the last first, so that earlier line numbers stay right
        first, last = node.body[1].lineno, node.end_lineno
        indentation = " " * node.body[0].col_offset
        lines[first - 1 : last] = [f'{indentation}raise NotImplementedError("{_title(node)}")']
    return "\n".join(lines) + "\n"


def _exercises(solution: str) -> list[ast.FunctionDef]:
    functions = [node for node in ast.walk(ast.parse(solution)) if isinstance(node, ast.FunctionDef)]
    return sorted((node for node in functions if _chapter(node)), key=lambda node: node.lineno)


def _chapter(node: ast.FunctionDef) -> int | None:
    found = _EXERCISE.match(ast.get_docstring(node) or "")
    return int(found[1]) if found else None


def _title(node: ast.FunctionDef) -> str:
    return f"chapter {_chapter(node)}: write {node.name}"


def load_solution(path: Path) -> ModuleType:
    """Import a learner's file.

    Raises:
        UserError: The file does not exist, or cannot be imported.
    """
    if not path.is_file():
        raise UserError(
            f"{shown_name(path)}: there is no such file; `dragoman learn start` creates the course with {FILE_NAME}"
        )
    return load_file(path)


def wrong_definitions(module: ModuleType) -> str:
    """Names that the learner's file gives to something else: ``; attention (line 27) is 5, not a function``."""
    lines = linecache.getlines(module.__file__ or "")
    problems = ""
    for node in ast.parse(SOLUTION.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not callable(getattr(module, node.name, callable)):
            numbers = [number for number, line in enumerate(lines, 1) if re.match(rf"{node.name}\s*[=:]", line)]
            where = f" (line {numbers[-1]})" if numbers else ""
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            problems += f"; {node.name}{where} is {shortened(repr(getattr(module, node.name)))}, not a {kind}"
    return problems
