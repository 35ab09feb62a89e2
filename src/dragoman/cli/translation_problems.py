"""What dragoman translate reports on standard error about all translations of a text."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dragoman.errors import counted


class ProblemCounts:
    """How many translations have problems of each kind.

    Args:
        unit: What is translated, "line" or "part".
    """

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.empty = self.foreign = self.doubtful = self.faulty = 0

    def add(self, problems: Sequence[str]) -> None:
        """Count the problems of one translation."""
        from dragoman.doctor.input.source_language import OTHER_LANGUAGE
        from dragoman.doctor.output.sentence_checks import EMPTY

        details = {problem for problem in problems if ": " in problem}  # such as "missing: %s"
        self.empty += EMPTY in problems
        self.foreign += OTHER_LANGUAGE in problems
        self.doubtful += bool(set(problems) - details - {EMPTY, OTHER_LANGUAGE})  # such as "loop"
        self.faulty += bool(details)

    def warn(self, remedy: str = "", *, unseen: bool) -> None:
        """Print the counts.

        Args:
            remedy: Added to the counts of problems with which it helps.
            unseen: Whether nobody sees the translations now. Otherwise, those that are obviously wrong are not counted.
        """
        empty, foreign = counted(self.empty, self.unit), counted(self.foreign, self.unit)
        doubtful, faulty = counted(self.doubtful, "translation"), counted(self.faulty, "translation")
        messages = {
            f"{empty} with a sentence whose translation is empty": self.empty,
            f"{foreign} with a sentence that is probably not in the source language": self.foreign * unseen,
            f"{doubtful} with repeated words, a copied sentence or an unusual length{remedy}": self.doubtful * unseen,
            f"{faulty} with missing, repeated or invented placeholders, URLs, numbers or terms{remedy}": self.faulty,
        }
        for message, count in messages.items():
            if count:
                print(f"dragoman: warning: {message}", file=sys.stderr)
