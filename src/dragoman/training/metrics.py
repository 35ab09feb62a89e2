"""metrics.jsonl: one JSON object a line for each logged step, validation and event of a run; and what a step logs."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman.dataset.batch import Batch
from dragoman.errors import UserError
from dragoman.system.files import write_text
from dragoman.training.distributed import Ranks
from dragoman.training.report import read_metrics


class MetricsFile:
    """metrics.jsonl, open for appending; every line is flushed as written."""

    def __init__(self, path: Path, after_step: int) -> None:
        """Open the file; lines of steps later than `after_step`, which will be done again, are dropped."""
        kept = [line for line in read_metrics(path) if line.get("step", 0) <= after_step] if path.exists() else []
        write_text(path, "".join(map(_encode, kept)))
        self._path = path
        self._file = path.open("a", encoding="utf-8")

    def write(self, kind: str, **values: Any) -> None:
        """Append one line.

        Raises:
            UserError: The disk is full.
        """
        try:
            self._file.write(_encode({"kind": kind, **values}))
            self._file.flush()
        except OSError as error:
            raise UserError(f"{self._path}: could not be written: {error.strerror or error}") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class StepLog:
    """Sums since the last logged line; losses stay tensors, so that a GPU need not wait for each step."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.losses: list[Tensor] = []
        self.target_tokens = self.tokens = self.cells = 0
        self.norm, self.rate = torch.zeros(()), 0.0

    def add(self, batch: list[Batch], losses: Tensor) -> None:
        """Count a batch and its losses: with label smoothing and without, (2,)."""
        self.losses.append(losses)
        for group in batch:
            self.target_tokens += group.target_tokens
            self.tokens += group.source_tokens + group.target_tokens
            self.cells += group.padded_tokens

    def summary(self, ranks: Ranks) -> dict[str, float]:
        """Means over all ranks, by name."""
        losses: list[float] = torch.stack(self.losses).double().sum(0).tolist()
        loss, nll, target_tokens, tokens, cells = ranks.sum((*losses, self.target_tokens, self.tokens, self.cells))
        return {
            "loss": round(loss / target_tokens, 5),
            "perplexity": round(math.exp(min(nll / target_tokens, 700.0)), 4),
            "learning_rate": self.rate,
            "tokens_per_second": round(target_tokens / (time.monotonic() - self.started), 1),
            "padding": round(1 - tokens / cells, 5),
            "gradient_norm": round(float(self.norm), 4),
        }


def _encode(line: dict[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False) + "\n"
