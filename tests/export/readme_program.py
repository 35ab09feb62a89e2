"""Runs the program in the README of an export."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def run_readme_program(
    directory: Path, texts: Sequence[str], translate: str, needs_dragoman: bool = False
) -> list[str]:
    """Run the program in its directory, then translate texts with what it defines.

    Args:
        directory: The export.
        texts: What to translate.
        translate: An expression of the program's names that translates `text`.
        needs_dragoman: Whether the program may import dragoman.

    Returns:
        The translations of the texts.
    """
    (program,) = re.findall(r"```python\n(.*?)```", (directory / "README.md").read_text("utf-8"), re.DOTALL)
    program = program.replace("…", texts[0])
    loop = f"import sys\nprint('---')\nfor text in {list(texts)!r}:\n    print({translate})\n"
    check = "" if needs_dragoman else "assert 'dragoman' not in sys.modules\n"
    command = [sys.executable, "-W", "error::SyntaxWarning", "-c", program + loop + check]
    finished = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    before, _, after = finished.stdout.partition("---\n")
    assert before, "the program itself prints a translation"
    return after.split("\n")[: len(texts)]
