"""The numbers of metrics.jsonl for TensorBoard, in the directory `tensorboard` of a run."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dragoman.errors import UserError

DIRECTORY = "tensorboard"
FLUSH_SECONDS = 10
"""How often TensorBoard gets new numbers."""


def require_tensorboard() -> None:
    """Raises UserError if the package is not installed."""
    if find_spec("tensorboard") is None:
        raise UserError("--tensorboard needs the package tensorboard: pip install '.[tensorboard]'")


class TensorBoardCopy:
    """A copy of metrics.jsonl as an event file of TensorBoard.

    A resumed run writes it again from the first line, so that no step occurs twice. `loss` of a train line becomes
    `train/loss`, and `bleu` of a test line `test/captions:test/bleu`. Values that are not numbers are left out.
    """

    def __init__(self, run: Path, seconds: float) -> None:
        """Create the event file; one that exists is replaced.

        Args:
            run: The run directory.
            seconds: How long the run has been trained.
        """
        require_tensorboard()
        from torch.utils.tensorboard import SummaryWriter

        directory = run / DIRECTORY
        shutil.rmtree(directory, ignore_errors=True)
        self._writer: Any = SummaryWriter(str(directory), flush_secs=FLUSH_SECONDS)
        self._start = time.time() - seconds

    def write(self, line: Mapping[str, Any]) -> None:
        """Copy the numbers of one line of metrics.jsonl; a line without a step or a time has none."""
        numbers = {name: value for name, value in line.items() if type(value) in (int, float)}
        if not {"step", "seconds"} <= numbers.keys():
            return
        step, when = int(numbers.pop("step")), self._start + numbers.pop("seconds")
        group = "/".join(str(line[name]) for name in ("kind", "name") if name in line)  # a test has a corpus
        for name, value in numbers.items():
            self._writer.add_scalar(f"{group}/{name}", value, step, walltime=when)

    def close(self) -> None:
        """Write what remains, and close the event file."""
        self._writer.close()
