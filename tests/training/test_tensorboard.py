"""--tensorboard: TensorBoard reads the numbers of metrics.jsonl, each step once, also after a resume."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dragoman.errors import UserError
from dragoman.training.run import tensorboard
from dragoman.training.run.log import MetricsFile
from dragoman.training.run.run import train
from dragoman.training.run.tensorboard import TensorBoardCopy

if TYPE_CHECKING:
    from conftest import RecipeMaker

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the package


def scalars(run: Path) -> dict[str, list[tuple[int, float]]]:
    """The steps and values of each name, as TensorBoard reads them."""
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    (file,) = (run / "tensorboard").iterdir()
    reader: Any = events.EventAccumulator(str(file), size_guidance={"scalars": 0}).Reload()
    return {tag: [(each.step, each.value) for each in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}


def assert_same_numbers(run: Path) -> None:
    """TensorBoard has every number of metrics.jsonl, in order."""
    found = scalars(run)
    expected: dict[str, Any] = {}
    for line in map(json.loads, (run / "metrics.jsonl").read_text("utf-8").splitlines()):
        group = "/".join([line["kind"], *([line["name"]] if "name" in line else [])])
        for name, value in line.items():
            if type(value) in (int, float) and name not in ("step", "seconds"):
                expected.setdefault(f"{group}/{name}", []).append((line["step"], pytest.approx(value, rel=1e-6)))
    assert found == expected
    assert {"train/loss", "train/gradient_norm", "validation/bleu"} <= found.keys()


@pytest.mark.usefixtures("bare_runs")
def test_all_numbers_are_written_and_a_resumed_run_writes_no_step_twice(
    make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, recipe = tmp_path / "run", make_recipe("training.log_every=3")

    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("dragoman.training.run.run.score_and_save", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train(recipe, run, tensorboard=True)
    (run / "tensorboard" / "left by another program").touch()
    assert train(recipe, run, resume=True), "without the option: the run has the directory already"
    assert_same_numbers(run)


def test_odd_lines_are_left_out(tmp_path: Path) -> None:
    lines = [
        {"kind": "train", "step": 1, "seconds": 0.5, "loss": 2.0, "best": True, "note": "text", "samples": [1]},
        {"kind": "train", "step": "two", "seconds": 1.0, "loss": 1.5},
        {"loss": 1.0},
    ]
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    metrics = MetricsFile(path, after_step=1)
    metrics.copy_to(TensorBoardCopy(tmp_path, seconds=0.5))
    metrics.write("train", {"step": 2, "seconds": 1.0, "loss": 1.0})
    metrics.close()
    assert scalars(tmp_path) == {"train/loss": [(1, 2.0), (2, 1.0)]}


def test_the_missing_package_is_named_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Any
) -> None:
    monkeypatch.setattr(tensorboard, "find_spec", lambda name: None)
    outcome = command("train", "quickstart", "--tensorboard", "--output", str(tmp_path / "run"))
    assert outcome.code == 2
    assert "pip install '.[tensorboard]'" in outcome.error
    assert not os.listdir(tmp_path)
    with pytest.raises(UserError, match="tensorboard"):
        TensorBoardCopy(tmp_path, seconds=0.0)
