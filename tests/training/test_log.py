"""The progress line of a run."""

from contextlib import closing
from pathlib import Path

from dragoman.system.progress import ProgressLine, format_seconds
from dragoman.training.run.log import MetricsFile, RunLog


class ShownLine(ProgressLine):
    """Keeps the latest text."""

    text = ""

    def update(self, share: float | None, text: str) -> None:
        self.text = text


def test_the_time_left_depends_on_this_process_alone(tmp_path: Path) -> None:
    """A run that is continued on an idle machine does not take as long as it took on a busy one."""
    line = ShownLine("run", quiet=True)
    slow, fast = 10_000.0, 10.0
    with closing(MetricsFile(tmp_path / "metrics.jsonl", 0)) as metrics:
        log = RunLog(line, metrics)
        log.show({"step": 50, "epoch": 1.0, "seconds": slow}, 0.5)
        assert line.text.endswith(f"{format_seconds(slow)} left"), "only the earlier rate is known"
        log.show({"step": 60, "epoch": 1.2, "seconds": slow + fast}, 0.6)
        assert line.text.endswith(f"{format_seconds(4 * fast)} left")
