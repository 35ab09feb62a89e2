"""What dragoman translate reports on standard error about all translations of a text."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dragoman.errors import counted


class ProblemCounts:
    """How many translations are empty, are probably wrong as a whole, or lack a placeholder or have one too many.

    Args:
        unit: What is translated, "line" or "part".
    """

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.empty = self.doubtful = self.faulty = 0

    def add(self, problems: Sequence[str]) -> None:
        """Count the problems of one translation."""
        from dragoman.doctor.output.sentence_checks import EMPTY

        details = {problem for problem in problems if ": " in problem}  # such as "missing: %s"
        self.empty += EMPTY in problems
        self.doubtful += bool(set(problems) - details - {EMPTY})  # such as "loop"
        self.faulty += bool(details)

    def warn(self, remedy: str = "", *, unseen: bool) -> None:
        """Print the counts.

        Args:
            remedy: Added to the counts of problems with which it helps.
            unseen: Whether nobody sees the translations now: otherwise, wrong ones need no message.
        """
        if self.empty:
            problem = f"{counted(self.empty, self.unit)} with a sentence whose translation is empty"
            print(f"dragoman: warning: {problem}", file=sys.stderr)
        if self.doubtful and unseen:
            print(
                f"dragoman: warning: {counted(self.doubtful, 'translation')} with repeated words, a copied sentence or "
                f"an unusual length{remedy}",
                file=sys.stderr,
            )
        if self.faulty:
            print(
                f"dragoman: warning: {counted(self.faulty, 'translation')} with missing, repeated or invented "
                f"placeholders, URLs, numbers or terms{remedy}",
                file=sys.stderr,
            )
