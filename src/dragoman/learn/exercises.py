"""The file that the learner completes: the course's Transformer without the bodies of its exercises."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

from dragoman.errors import UserError

COURSE = Path(__file__).parents[1] / "course"
SOLUTION = COURSE / "transformer.py"
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
        raise UserError(f"{path}: there is no such file; `dragoman learn start` creates the course with {FILE_NAME}")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not UTF-8; save it again in UTF-8") from error
    return module_from_text(text, str(path))


def module_from_text(text: str, origin: str) -> ModuleType:
    """Run the text as a module, which is not registered anywhere."""
    specification = importlib.util.spec_from_loader("transformer", loader=None, origin=origin)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    try:
        exec(compile(text, origin, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        line = _line_of(error, origin)
        raise UserError(f"{origin}{line}: cannot be imported: {type(error).__name__}: {error}") from error
    return module


def _line_of(error: BaseException, origin: str) -> str:
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    number, trace = None, sys.exc_info()[2]
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == origin:
            number = trace.tb_lineno
        trace = trace.tb_next
    return f", line {number}" if number else ""
