"""The file that the learner completes: the course's Transformer without the bodies of its exercises."""

from __future__ import annotations

import ast
import importlib.util
import re
import traceback
from pathlib import Path
from types import ModuleType

from dragoman.errors import UserError

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
        line = lines_in(error, module)
        raise UserError(f"{origin}{line}: cannot be imported: {type(error).__name__}: {error}") from error
    return module


def lines_in(error: BaseException, module: ModuleType) -> str:
    """The lines of the learner's file that an exception passed, outermost first: ", lines 150, 27"."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    origin = module.__spec__.origin if module.__spec__ else None
    passed = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == origin]
    numbers = ", ".join(str(frame.lineno) for frame in passed)
    return f", line{'s' if len(passed) > 1 else ''} {numbers}" if passed else ""
