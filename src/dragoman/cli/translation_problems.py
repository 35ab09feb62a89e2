"""What dragoman translate reports on standard error about all translations of a text."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dragoman.errors import counted


class ProblemCounts:
    """How many translations are empty, and how many lack a placeholder or have one too many.

    Args:
        unit: What is translated, "line" or "part".
    """

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.empty = self.faulty = 0

    def add(self, problems: Sequence[str]) -> None:
        """Count the problems of one translation."""
        from dragoman.doctor.output.sentence_checks import EMPTY

        self.empty += EMPTY in problems
        self.faulty += any(": " in problem for problem in problems)  # such as "missing: %s"

    def warn(self, remedy: str = "") -> None:
        """Print the counts, and after those of placeholders what helps."""
        if self.empty:
            problem = f"{counted(self.empty, self.unit)} with a sentence whose translation is empty"
            print(f"dragoman: warning: {problem}", file=sys.stderr)
        if self.faulty:
            print(
                f"dragoman: warning: {counted(self.faulty, 'translation')} with missing, repeated or invented "
                f"placeholders, URLs, numbers or terms{remedy}",
                file=sys.stderr,
            )
