"""What a run logs: lines for the user, and metrics.jsonl with one JSON object for each step, score and event."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from dragoman.doctor.findings.finding import Finding
from dragoman.errors import UserError
from dragoman.evaluation.evaluate import Report
from dragoman.system.files import atomic_file, read_bytes
from dragoman.system.progress import ProgressLine, format_seconds
from dragoman.training.loop.speed_watch import SlowPeriod

RecordKind = Literal["train", "validation", "test", "comparison", "event", "slow"]
METRICS_FILE = "metrics.jsonl"
_AT_THE_END = ("test", "comparison")
Metrics = Sequence[dict[str, Any]]
"""Lines of metrics.jsonl."""
MAX_METRICS_BYTES = 1_000_000_000
"""Maximum size of metrics.jsonl, which grows by about 300 bytes for each logged step."""


class MetricsCopy(Protocol):
    """Another place for the lines of metrics.jsonl."""

    def write(self, line: Mapping[str, Any], /) -> None:
        """Copy a line."""

    def close(self) -> None:
        """Close the place."""


class MetricsFile:
    """metrics.jsonl, open for appending. Each line is flushed when it is written.

    Attributes:
        content: What the file should contain, even if it is damaged meanwhile.
    """

    def __init__(self, path: Path, after_step: int, copied: bytes = b"") -> None:
        """Open the file and remove the lines that are written again: of steps after `after_step`, and of the end.

        The means of the first `train` line after a resume are those of the steps since then.

        Args:
            path: The file, which may be missing.
            after_step: The step from which training continues.
            copied: The beginning of the file, as the checkpoint of this step has it.
        """
        lines = _parse_lines(read_restored(path, copied), path)
        kept = (text for text, line in lines if _step(line) <= after_step and line.get("kind") not in _AT_THE_END)
        self.content = bytearray(b"".join(text + b"\n" for text in kept))
        with atomic_file(path, "wb") as file:
            file.write(self.content)
        self._path = path
        self._file = path.open("a", encoding="utf-8")
        self._copies: list[MetricsCopy] = []

    def copy_to(self, copy: MetricsCopy) -> None:
        """Write all lines, those so far included, to another place too."""
        for _, line in _parse_lines(bytes(self.content), self._path):
            copy.write(line)
        self._copies.append(copy)

    def write(self, kind: RecordKind, values: Mapping[str, Any]) -> None:
        """Append one line.

        Raises:
            UserError: The line cannot be written, because the disk is full or the run directory was deleted.
        """
        self.require_directory()
        line = {"kind": kind, **values}
        text = json.dumps(line, ensure_ascii=False) + "\n"
        try:
            self._file.write(text)
            self._file.flush()
        except OSError as error:
            raise UserError(f"{self._path}: cannot write the file: {error.strerror or error}") from error
        self.content += text.encode()
        for copy in self._copies:
            copy.write(line)

    def require_directory(self) -> None:
        """Check that the file that was opened is still in the run directory.

        Raises:
            UserError: The directory was deleted or moved; nothing should be written at its place.
        """
        try:
            if os.path.samestat(os.fstat(self._file.fileno()), self._path.stat()):
                return
        except FileNotFoundError:
            if not self._path.parent.exists():
                raise UserError(f"{self._path.parent}: the run directory was deleted or moved") from None
        raise UserError(f"{self._path}: was deleted or replaced while the run was writing it")

    def close(self) -> None:
        """Close the file and its copies."""
        self._file.close()
        for copy in self._copies:
            copy.close()


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Read the lines of a metrics.jsonl.

    An incomplete last line is skipped: the run was interrupted while writing it. A damaged line elsewhere is skipped
    with a warning.

    Raises:
        UserError: The file is missing, unreadable or larger than `MAX_METRICS_BYTES`.
    """
    return [line for _, line in _parse_lines(read_bytes(path, MAX_METRICS_BYTES), path)]


def read_restored(path: Path, copied: bytes) -> bytes:
    """The content of a metrics.jsonl, whose beginning is taken from a copy if it is missing or damaged."""
    content = read_bytes(path, MAX_METRICS_BYTES) if path.exists() else b""
    return content if content.startswith(copied) else copied + content[len(copied) :]


def _parse_lines(content: bytes, path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """The lines that are JSON objects, as text and as data."""
    texts = content.splitlines()
    for number, text in enumerate(texts, start=1):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):  # invalid JSON or UTF-8, or thousands of nested brackets
            line = None
        if isinstance(line, dict):
            yield text, line
        elif number < len(texts):
            warnings.warn(f"{path} line {number}: skipped, because it is not a JSON object", stacklevel=3)


def _step(line: dict[str, Any]) -> float:
    """The step of a line, or 0 if it has none."""
    step = line.get("step")
    return step if isinstance(step, int | float) else 0


def current_lines(metrics: Metrics, kind: RecordKind) -> list[dict[str, Any]]:
    """The lines of one kind, all with a step, in order; a step repeated after a resume replaces its first attempt."""
    current: list[dict[str, Any]] = []
    for line in metrics:
        if line["kind"] == kind:
            while current and current[-1]["step"] >= line["step"]:
                current.pop()
            current.append(line)
    return current


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
        self._warned: set[tuple[str, str]] = set()  # directions and codes of findings, and SLOW
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
        if ("", SLOW) not in self._warned:
            self._warned.add(("", SLOW))
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
        if directions := more.get("directions"):
            wrong = max(each["wrong_language"] for each in directions.values())
            scores = ", ".join(f"{name} {each['chrf']:.1f}" for name, each in directions.items())
            self.message(f"  chrF by direction: {scores}; at most {wrong:.1%} of a direction in the wrong language")

    def warn(self, position: LogPosition, findings: Iterable[Finding], direction: str = "") -> None:
        """Show and log what the doctor has found, once per code and direction; notes are left out."""
        for finding in findings:
            if finding.severity != "note" and (direction, finding.code) not in self._warned:
                self._warned.add((direction, finding.code))
                message = f"{finding.severity}: {finding.code}: {direction and f'{direction}: '}{finding.message}"
                self.message(f"{message}\n  fix: {finding.fix}")
                self.event(position, message)
