"""Signals that stop a run, at the worst moments."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.recipe import save_recipe
from dragoman.training.loop.stop import StopFlag, StopRequested, stop_on_signals
from dragoman.training.run.checkpoint import checkpoint_steps

if TYPE_CHECKING:
    from conftest import RecipeMaker


def test_a_stop_passes_code_that_handles_every_error_of_a_library() -> None:
    flag = StopFlag()

    def read() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except Exception as error:
            raise AssertionError("the library failed") from error

    with stop_on_signals(flag, print), flag.interruptible(), pytest.raises(StopRequested):
        read()


def test_a_signal_while_an_object_is_deleted() -> None:
    """Python ignores errors in `__del__`."""

    class Deleted:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

    def delete() -> None:
        Deleted()
        time.sleep(10)

    flag, messages = StopFlag(), list[str]()
    with stop_on_signals(flag, messages.append), flag.interruptible(), pytest.raises(StopRequested):
        delete()
    assert (flag.requested, flag.lost, len(messages)) == (True, False, 1)


def test_a_signal_while_a_line_is_written() -> None:
    def busy(text: str) -> None:
        raise RuntimeError("reentrant call inside <_io.BufferedWriter name='<stderr>'>")

    flag = StopFlag()
    with stop_on_signals(flag, busy):
        os.kill(os.getpid(), signal.SIGINT)
    assert flag.requested


@pytest.mark.parametrize("under_nohup", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_closing_the_terminal_loses_nothing(under_nohup: bool, make_recipe: RecipeMaker, tmp_path: Path) -> None:
    """Without nohup, the run stops with a checkpoint, although nothing can be written to the terminal any more."""
    steps = 30 if under_nohup else 100_000
    recipe = make_recipe(f"training.steps={steps}", "training.checkpoint_minutes=0.0001")
    save_recipe(recipe, tmp_path / "recipe.toml")
    command = [sys.executable, "-m", "dragoman", "train", f"{tmp_path}/recipe.toml", "--output", f"{tmp_path}/run"]
    ours, theirs = pty.openpty()

    def open_terminal() -> None:
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_IGN if under_nohup else signal.SIG_DFL)
        os.close(os.open(os.ttyname(theirs), os.O_RDWR))  # which becomes its terminal

    output = subprocess.DEVNULL if under_nohup else theirs
    process = subprocess.Popen(command, stdin=theirs, stdout=output, stderr=output, preexec_fn=open_terminal)
    os.close(theirs)
    while not checkpoint_steps(tmp_path / "run"):
        assert process.poll() is None
    os.close(ours)
    assert process.wait(60) == (0 if under_nohup else 130)
    assert (tmp_path / "run" / "bundle").exists() == under_nohup
    assert (tmp_path / "run" / "report.html").exists()
