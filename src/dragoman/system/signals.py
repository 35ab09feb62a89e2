"""Signals."""

from __future__ import annotations

import _thread
import os
import time

DELAY = 0.05  # seconds


def send_again(number: int) -> None:
    """Send this process a signal after `DELAY`.

    `threading.Timer` would wait until its thread runs. The signal could arrive meanwhile, at the place where it was
    lost before.
    """
    _thread.start_new_thread(_send, (number,))


def _send(number: int) -> None:
    time.sleep(DELAY)
    os.kill(os.getpid(), number)
