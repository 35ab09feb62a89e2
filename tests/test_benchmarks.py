"""The scripts in benchmarks/ start; the one for a GPU also runs, because nobody else does that without a GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(path.name for path in BENCHMARKS.glob("[!_]*.py"))

TINY = (
    "model.d_model=16 model.heads=2 model.d_ff=16 model.encoder_layers=1 model.decoder_layers=1 "
    "training.batch_tokens=200 training.validation_sentences=5 decoding.max_length=5 training.threads=1"
)

pytestmark = pytest.mark.slow


def run(script: str, *arguments: str) -> str:
    command = [sys.executable, str(BENCHMARKS / script), *arguments]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_has_help_with_an_example(script: str) -> None:
    assert f"python benchmarks/{script}" in run(script, "--help")


def test_the_script_for_a_gpu_measures_on_a_cpu_too() -> None:
    settings = [argument for setting in TINY.split() for argument in ("--set", setting)]
    printed = run("gpu.py", "--captions", "--device", "cpu", "--steps", "2", "--epochs", "0.01", *settings)
    for part in ("base model:", "R3 on captions:train", "beam 1:", "beam 4:", "training step:"):
        assert part in printed
