"""Signals that end a command, wherever they arrive."""

from __future__ import annotations

import signal
import sys

from dragoman.system.signals import send_again

TERMINATED = 128 + signal.SIGTERM
"""The exit code of a command that SIGTERM has ended."""

_lost: list[int] = []
"""Signals whose exceptions Python ignored."""


def listen_for_signals() -> None:
    """End the command with SIGTERM as with Ctrl-C, so that unfinished files are deleted."""
    signal.signal(signal.SIGTERM, _terminate)
    sys.unraisablehook = _repeat_lost_signal


def stop_behind(error: BaseException) -> BaseException | None:
    """The exception of a signal of which an error is only a consequence; None if there was no signal.

    An import that is stopped raises another error, and some libraries go on as if a check had failed.
    """
    if find_cause(error, KeyboardInterrupt) or signal.SIGINT in _lost:
        return KeyboardInterrupt()
    if _lost or signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:  # by `_terminate`
        return SystemExit(TERMINATED)
    return None


def find_cause(error: BaseException, *kinds: type[BaseException]) -> BaseException | None:
    """The latest of an error and its causes that is of one of these kinds."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, kinds):
        cause = cause.__cause__ or cause.__context__
    return cause


def _terminate(number: int, frame: object) -> None:
    """Exit; a second signal ends the process at once."""
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(TERMINATED)


def _repeat_lost_signal(unraisable: sys.UnraisableHookArgs) -> None:
    """Send a signal again whose exception was raised where Python ignores exceptions, such as in `__del__`."""
    if not issubclass(unraisable.exc_type, SystemExit | KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    number = signal.SIGINT if issubclass(unraisable.exc_type, KeyboardInterrupt) else signal.SIGTERM
    _lost.append(number)
    if number == signal.SIGTERM:
        signal.signal(number, _terminate)
    send_again(number)
