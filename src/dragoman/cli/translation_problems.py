"""What dragoman translate reports on standard error about all translations of a text."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dragoman.errors import counted

_UNSURE = "probably wrong"


def with_doubt(problems: Sequence[str], confidence: float | None) -> list[str]:
    """The problems of a translation, and that it is probably wrong, if its confidence is low."""
    from dragoman.evaluation.confidence import LOW_CONFIDENCE

    if confidence is None or confidence >= LOW_CONFIDENCE:
        return list(problems)
    shown = min(round(100 * confidence), round(100 * LOW_CONFIDENCE) - 1)  # below the limit when rounded, too
    return [*problems, f"{_UNSURE} (confidence {shown}%)"]


class ProblemCounts:
    """How many translations have problems of each kind.

    Args:
        unit: What is translated, "line" or "part".
    """

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.empty = self.foreign = self.doubtful = self.faulty = self.unsure = 0

    def add(self, problems: Sequence[str]) -> None:
        """Count the problems of one translation, as of `with_doubt`."""
        from dragoman.doctor.input.source_language import OTHER_LANGUAGE
        from dragoman.doctor.output.sentence_checks import EMPTY

        unsure = {problem for problem in problems if problem.startswith(_UNSURE)}
        details = {problem for problem in problems if ": " in problem}  # such as "missing: %s"
        self.empty += EMPTY in problems
        self.foreign += OTHER_LANGUAGE in problems
        self.doubtful += bool(set(problems) - details - unsure - {EMPTY, OTHER_LANGUAGE})  # such as "loop"
        self.unsure += bool(unsure)
        self.faulty += bool(details)

    def warn(self, remedy: str = "", *, unseen: bool) -> None:
        """Print the counts.

        Args:
            remedy: Added to the counts of problems with which it helps.
            unseen: Whether nobody sees the translations now. Otherwise, those that are obviously wrong are not counted.
        """
        from dragoman.evaluation.confidence import LOW_CONFIDENCE

        empty, foreign = counted(self.empty, self.unit), counted(self.foreign, self.unit)
        doubtful, faulty = counted(self.doubtful, "translation"), counted(self.faulty, "translation")
        unsure = counted(self.unsure, "translation")
        messages = {
            f"{empty} with a sentence that the model leaves empty, so it is not translated": self.empty,
            f"{foreign} with a sentence that is probably not in the source language": self.foreign * unseen,
            f"{doubtful} with repeated words, a copied sentence or an unusual length{remedy}": self.doubtful * unseen,
            f"{unsure} with a confidence below {LOW_CONFIDENCE:.0%}, so probably wrong": self.unsure * unseen,
            f"{faulty} with other placeholders, tags, URLs, numbers or terms than the source{remedy}": self.faulty,
        }
        for message, count in messages.items():
            if count:
                print(f"dragoman: warning: {message}", file=sys.stderr)
