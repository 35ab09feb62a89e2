"""The log of a run: a progress line for the user, and metrics.jsonl for the report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dragoman.doctor.findings.finding import Finding
from dragoman.evaluation.evaluate import Report
from dragoman.system.progress import ProgressLine, format_seconds
from dragoman.training.loop.speed_watch import SlowPeriod
from dragoman.training.run.metrics_file import MetricsFile

LogPosition = dict[str, float]
"""Step, epoch (with a fraction) and seconds, as in every line of metrics.jsonl."""

NAMES = {"bleu": "BLEU", "chrf": "chrF", "loss": "loss"}
"""The names of scores in messages, by the value of `training.best_by`."""

MEASURED_SECONDS = 5.0
"""Time after which a process knows its rate: when a run is resumed, others may have been slower."""

SLOW = "slow"


class RunLog:
    """Writes to the progress line and to metrics.jsonl.

    Args:
        line: Shows progress and messages to the user.
        metrics: Stores numbers and events.
    """

    def __init__(self, line: ProgressLine, metrics: MetricsFile) -> None:
        self.line, self.metrics = line, metrics
        self._warned: set[str] = set()  # codes of findings, and SLOW
        self._latest = ""  # numbers of the latest steps
        self._slow = ""  # what slows training down
        self._began: tuple[float, float] | None = None  # seconds and share of the budget when this process began

    def message(self, text: str) -> None:
        """Print a line above the progress line."""
        self.line.log(text)

    def event(self, position: LogPosition, message: str) -> None:
        """Log an event."""
        self.metrics.write("event", position | {"message": message})

    def show(self, position: LogPosition, spent: float) -> None:
        """Show how far the run is.

        Args:
            position: Position of the latest step.
            spent: Fraction of the budget spent.
        """
        before, share = self._began = self._began or (position["seconds"], spent)
        if position["seconds"] - before < MEASURED_SECONDS or spent <= share:
            before = share = 0.0  # too early for a rate of this process
        left = format_seconds((position["seconds"] - before) / (spent - share) * (1 - spent)) if spent else "?"
        numbers = f"step {position['step']:,}  epoch {position['epoch']:.2f}  {self._latest}"
        self.line.update(spent, f"{numbers}{self._slow}{left} left")

    def steps(self, position: LogPosition, values: dict[str, float], spent: float) -> None:
        """Log the means of the latest steps.

        Args:
            position: Position of the latest step.
            values: Values by name, as `StepStatistics.summary` returns them.
            spent: Fraction of the budget spent.
        """
        self.metrics.write("train", position | values)
        self._latest = (
            f"loss {values['loss']:.3f}  {values['tokens_per_second']:,.0f} tokens/s  {values['padding']:.1%} padding  "
        )
        self.show(position, spent)

    def speed(self, position: LogPosition, slow: SlowPeriod | None) -> None:
        """Log that the last minute of training was slow, with a warning the first time; or that it was not.

        Args:
            position: Position of the latest step.
            slow: What was wrong.
        """
        self._slow = f"slow: {slow.cause}  " if slow else ""
        if slow is None:
            return
        values = {"speed": round(slow.speed, 1), "expected": slow.expected and round(slow.expected, 1)}
        self.metrics.write("slow", position | values | {"message": str(slow), "fix": slow.fix})
        if SLOW not in self._warned:
            self._warned.add(SLOW)
            self.message(f"warning: {slow}\n  fix: {slow.fix}")
            self.event(position, f"warning: {slow}")

    def validating(self, position: LogPosition, spent: float) -> None:
        """Show that a validation has started."""
        self.line.update(spent, f"step {position['step']:,}  validating …")

    def validation(self, position: LogPosition, report: Report, best: bool, best_by: str, **more: Any) -> None:
        """Log a validation.

        Args:
            position: Position of the step.
            report: The scores.
            best: Whether it is the best so far.
            best_by: The score that decides this.
            more: Further values for metrics.jsonl.
        """
        self.metrics.write("validation", position | report.to_dict() | {"best": best} | more)
        forced = more.get("teacher_forced")
        self.message(
            f"step {position['step']:,}  epoch {position['epoch']:.2f}  {format_seconds(position['seconds'])}  "
            f"validation: loss {report.loss:.3f}, perplexity {report.perplexity:.2f}, BLEU {report.bleu:.2f}, "
            f"chrF {report.chrf:.2f} ({report.decoding}){f', the best {NAMES[best_by]} so far' if best else ''}"
            f"{'' if forced is None else f', {forced:.0%} of the batches teacher-forced'}"
        )

    def warn(self, position: LogPosition, findings: Iterable[Finding]) -> None:
        """Show and log what the doctor has found, once per code; notes are left out."""
        for finding in findings:
            if finding.severity != "note" and finding.code not in self._warned:
                self._warned.add(finding.code)
                message = f"{finding.severity}: {finding.code}: {finding.message}"
                self.message(f"{message}\n  fix: {finding.fix}")
                self.event(position, message)
