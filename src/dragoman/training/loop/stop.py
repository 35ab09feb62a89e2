"""Stopping a run between two parts of its work, with a checkpoint."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from dragoman.system.discard import discard
from dragoman.system.signals import DELAY, send_again

HANGUP = getattr(signal, "SIGHUP", None)
"""The terminal is closed. Windows has no such signal."""


class StopRequested(BaseException):
    """A step or a validation was abandoned because the run must stop; the run continues by repeating it.

    Like `KeyboardInterrupt`, it is not caught by `except Exception` in libraries.
    """


class StopFlag:
    """Whether a run must stop soon. Steps check it between their microbatches; validations are interrupted.

    Attributes:
        requested: Whether it must stop.
        lost: Whether Python ignored `StopRequested`, so that the signal is sent again.
    """

    def __init__(self) -> None:
        self.requested = self.lost = False
        self._interruptible = False

    def interrupt(self) -> None:
        """End an `interruptible` block; a signal handler calls this in the thread that trains.

        Raises:
            StopRequested: This thread is in such a block.
        """
        if self._interruptible:
            raise StopRequested

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """A block that `interrupt` ends at any point; it must not change anything that a checkpoint contains."""
        self._interruptible = True
        try:
            if self.requested:
                raise StopRequested
            yield
        finally:
            self._interruptible = False


@contextmanager
def stop_on_signals(
    flag: StopFlag, log: Callable[[str], None], how: str = "as soon as possible, and the run can be resumed"
) -> Iterator[None]:
    """Ctrl-C, SIGTERM and the end of the terminal stop the run, as `how` says; a second signal does at once.

    Under nohup, the end of the terminal does not matter.

    In a thread other than the main one, which is the only one that can handle signals, nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    terminals = [output for output in (1, 2) if os.isatty(output)]

    def stop(number: int, frame: object) -> None:
        if flag.lost:
            flag.lost = False
            flag.interrupt()
            return
        if number == HANGUP:
            discard(terminals)  # a closed one cannot be written to
        elif flag.requested:
            raise KeyboardInterrupt
        flag.requested = True
        with suppress(RuntimeError):  # the signal arrived while a line was written, which is not possible twice
            again = "press Ctrl-C again" if number == signal.SIGINT else "send another signal"
            log(f"stopping {how}; {again} to stop immediately")
        flag.interrupt()

    def repeat_lost(unraisable: sys.UnraisableHookArgs) -> None:
        """Send a signal again whose exception was raised where Python ignores exceptions, such as in `__del__`."""
        if not issubclass(unraisable.exc_type, StopRequested):
            hook(unraisable)
            return
        flag.lost = True
        send_again(signal.SIGINT)

    hook, sys.unraisablehook = sys.unraisablehook, repeat_lost
    numbers = [signal.SIGINT, signal.SIGTERM]
    if HANGUP is not None and signal.getsignal(HANGUP) != signal.SIG_IGN:
        numbers.append(HANGUP)
    previous = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        if flag.lost:  # the signal that is sent again must not arrive later
            time.sleep(2 * DELAY)
        sys.unraisablehook = hook
        for number, handler in previous.items():
            signal.signal(number, handler)
