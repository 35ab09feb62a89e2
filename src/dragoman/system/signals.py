"""Signals."""

from __future__ import annotations

import _thread
import os
import time


def send_again(number: int, delay: float) -> None:
    """Send this process a signal after a delay in seconds.

    `threading.Timer` would wait until its thread runs. The signal could arrive meanwhile, at the place where it was
    lost before.
    """
    _thread.start_new_thread(_send, (number, delay))


def _send(number: int, delay: float) -> None:
    time.sleep(delay)
    os.kill(os.getpid(), number)
