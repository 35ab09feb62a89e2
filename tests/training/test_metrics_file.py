"""metrics.jsonl: what is written can be read, and damaged lines are skipped."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dragoman.errors import UserError
from dragoman.training.run.log import MetricsFile, current_lines, read_metrics

if TYPE_CHECKING:
    from conftest import FileLimit


def line(step: int, kind: str = "train", **values: Any) -> dict[str, Any]:
    return {"kind": kind, "step": step, **values}


def test_written_lines_are_read_at_once(tmp_path: Path) -> None:
    metrics = MetricsFile(tmp_path / "metrics.jsonl", after_step=0)
    metrics.write("train", {"step": 1, "loss": 2.5})
    metrics.write("event", {"step": 1, "message": "größer"})
    assert read_metrics(tmp_path / "metrics.jsonl") == [line(1, loss=2.5), line(1, "event", message="größer")]
    metrics.close()


def test_lines_of_later_steps_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(line(step)) + "\n" for step in (1, 2, 3)), "utf-8")
    metrics = MetricsFile(path, after_step=2)
    metrics.write("train", {"step": 3, "loss": 1.0})
    metrics.close()
    assert read_metrics(path) == [line(1), line(2), line(3, loss=1.0)]


def test_lines_of_the_end_are_removed_because_a_resumed_run_writes_them_again(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    kinds = ("train", "validation", "test", "comparison", "event")
    path.write_text("".join(json.dumps(line(2, kind)) + "\n" for kind in kinds), "utf-8")
    MetricsFile(path, after_step=2).close()
    assert [each["kind"] for each in read_metrics(path)] == ["train", "validation", "event"]


def test_a_file_that_was_replaced_is_reported(tmp_path: Path) -> None:
    metrics = MetricsFile(tmp_path / "metrics.jsonl", after_step=0)
    (tmp_path / "metrics.jsonl").unlink()
    (tmp_path / "metrics.jsonl").write_text("")
    with pytest.raises(UserError, match=r"metrics\.jsonl: was deleted or replaced"):
        metrics.write("train", {"step": 1})
    metrics.close()


def test_a_full_disk_is_reported(tmp_path: Path, files_limited_to: FileLimit) -> None:
    metrics = MetricsFile(tmp_path / "metrics.jsonl", after_step=0)
    with files_limited_to(10), pytest.raises(UserError, match=r"metrics\.jsonl: cannot write the file: File too large"):
        metrics.write("event", {"message": "more than 10 bytes"})
    metrics.close()


def test_an_incomplete_last_line_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    lines = [line(step, loss=1 / step) for step in (1, 2, 3)]
    complete = "".join(json.dumps(each) + "\n" for each in lines).encode()
    incomplete = json.dumps(line(3, "event", message="größer"), ensure_ascii=False).encode()
    for length in range(len(incomplete)):
        path.write_bytes(complete + incomplete[:length])
        assert read_metrics(path) == lines


@pytest.mark.parametrize("damaged", ['{"kind": "tr', "[1, 2]", "", 100_000 * "["], ids=lambda text: text[:10])
def test_a_damaged_line_elsewhere_is_skipped_with_a_warning(tmp_path: Path, damaged: str) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(f'{{"kind": "event"}}\n{damaged}\n{{"kind": "event"}}\n')
    with pytest.warns(UserWarning, match=r"metrics\.jsonl line 2"):
        assert read_metrics(path) == 2 * [{"kind": "event"}]


@pytest.mark.parametrize("step", ['"five"', "null", "[1]", "{}", "NaN", "1e999", "true"])
def test_odd_steps_do_not_prevent_opening(step: str, tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(f'{{"kind": "train", "step": 1}}\n{{"kind": "train", "step": {step}, "text": "\\ud800"}}\n')
    metrics = MetricsFile(path, after_step=2)
    metrics.write("train", {"step": 2})
    metrics.close()
    lines = read_metrics(path)
    assert (lines[0], lines[-1]) == (line(1), line(2))


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.touch()
    os.truncate(path, 100_000_000_000)
    with pytest.raises(UserError, match="damaged"):
        read_metrics(path)


def test_a_repeated_step_replaces_its_first_attempt_and_later_steps() -> None:
    lines = [line(1), line(2), line(2, "event"), line(3), line(2, loss=1.0)]
    assert current_lines(lines, "train") == [line(1), line(2, loss=1.0)]
