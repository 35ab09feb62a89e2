"""Signals that stop a run, at the worst moments."""

from __future__ import annotations

import os
import signal

import pytest

from dragoman.training.stop import StopFlag, StopRequested, stop_on_signals


def test_a_stop_passes_code_that_handles_every_error_of_a_library() -> None:
    flag = StopFlag()

    def read() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except Exception as error:
            raise AssertionError("the library failed") from error

    with stop_on_signals(flag, print), flag.interruptible(), pytest.raises(StopRequested):
        read()


def test_a_signal_while_a_line_is_written() -> None:
    def busy(text: str) -> None:
        raise RuntimeError("reentrant call inside <_io.BufferedWriter name='<stderr>'>")

    flag = StopFlag()
    with stop_on_signals(flag, busy):
        os.kill(os.getpid(), signal.SIGINT)
    assert flag.requested
