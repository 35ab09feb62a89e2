"""`dragoman translate` on a real terminal: a prompt, one translation at a time, and the keys that end it."""

from __future__ import annotations

import codecs
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.translator import Translator

pty = pytest.importorskip("pty", reason="pseudo-terminals are needed")
PROMPT = "> "
TIMEOUT = 120  # seconds


class Terminal:
    """A command that runs in a pseudo-terminal."""

    def __init__(self, *arguments: str | Path, output: Path | None = None) -> None:
        """Start ``dragoman ARGUMENTS``; its standard output is the terminal, or a file."""
        self.shown = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.process, self._terminal = pty.fork()
        if self.process == 0:
            if output:
                os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT), 1)
            os.execv(sys.executable, [sys.executable, "-m", "dragoman", *map(str, arguments)])

    def wait_for(self, text: str) -> None:
        """Read until a text is shown, and forget everything up to it."""
        self._read_until(lambda: text in self.shown)
        assert text in self.shown
        self.shown = self.shown.partition(text)[2]

    def press(self, keys: bytes) -> None:
        """Send input."""
        os.write(self._terminal, keys)

    def press_until_it_ends(self, key: bytes) -> tuple[int, str]:
        """Send a key, again if it came too early; returns the exit code and what was shown after the last wait."""
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            try:
                self.press(key)
            except OSError:
                break
            if self._read_until(lambda: False, seconds=10):  # a second Ctrl-C would kill a process that ends
                break
        else:
            os.kill(self.process, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1]), self.shown

    def _read_until(self, done: Callable[[], bool], seconds: float = TIMEOUT) -> bool:
        """Read until a condition holds or time is over; returns whether the command has ended."""
        deadline = time.monotonic() + seconds
        while not done() and time.monotonic() < deadline:
            if select.select([self._terminal], [], [], 0.1)[0]:
                try:
                    data = os.read(self._terminal, 4096)
                except OSError:  # Linux reports the end of a terminal as an error
                    return True
                if not data:
                    return True
                self.shown += self._decoder.decode(data)
        return False


def test_each_line_is_translated_when_it_is_typed(finished_run: Path, translator: Translator) -> None:
    terminal = Terminal("translate", finished_run)
    for text in ("Ein Hund läuft.", "Zwei Frauen lesen ein Buch."):
        terminal.wait_for(PROMPT)
        terminal.press(f"{text}\n".encode())
        terminal.wait_for(f"{text}\r\n")
        terminal.wait_for(f"{translator(text)}\r\n")
    terminal.wait_for(PROMPT)
    terminal.press(b"\n")
    terminal.wait_for(PROMPT)
    terminal.press(b"EIN HUND SPIELT IM PARK.\n")
    terminal.wait_for("dragoman: warning: this text is in capital letters")
    terminal.wait_for(PROMPT)
    code, shown = terminal.press_until_it_ends(b"\x04")
    assert code == 0
    assert "Traceback" not in shown


def test_interrupt_ends_without_traceback(finished_run: Path) -> None:
    terminal = Terminal("translate", finished_run, "-")
    terminal.wait_for(PROMPT)
    code, shown = terminal.press_until_it_ends(b"\x03")
    assert code == 130
    assert "Traceback" not in shown


def test_prompt_is_not_written_to_a_file(finished_run: Path, translator: Translator, tmp_path: Path) -> None:
    terminal = Terminal("translate", finished_run, output=tmp_path / "out")
    terminal.wait_for(PROMPT)
    terminal.press("Ein Hund läuft.\n".encode())
    terminal.wait_for(PROMPT)
    assert (tmp_path / "out").read_text("utf-8") == f"{translator('Ein Hund läuft.')}\n", "it is flushed"
    assert terminal.press_until_it_ends(b"\x04")[0] == 0
    assert (tmp_path / "out").read_text("utf-8") == f"{translator('Ein Hund läuft.')}\n"


def test_invalid_bytes_are_reported_and_the_prompt_returns(finished_run: Path, tmp_path: Path) -> None:
    terminal = Terminal("translate", finished_run, output=tmp_path / "out")
    terminal.wait_for(PROMPT)
    terminal.press(b"Hund\xc3\n")
    terminal.wait_for("not valid UTF-8")
    terminal.wait_for(PROMPT)
    assert terminal.press_until_it_ends(b"\x04")[0] == 0
    assert (tmp_path / "out").read_bytes() == b""
