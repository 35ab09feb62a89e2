"""The command line as a whole: help, version and shell completion."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import dragoman

if TYPE_CHECKING:
    from conftest import Command

COMMANDS = [
    ("quickstart",),
    ("train",),
    ("translate",),
    ("synthesize",),
    ("distill",),
    ("evaluate",),
    ("score",),
    ("info",),
    ("settings",),
    ("learn", "start"),
    ("learn", "open"),
    ("learn", "run"),
    ("learn", "check"),
    ("data", "list"),
    ("data", "fetch"),
    ("data", "show"),
    ("data", "list-corrections"),
    ("data", "approve-corrections"),
    ("data", "remove-corrections"),
    ("data", "export-corrections"),
    ("serve",),
    ("serve-key", "add"),
    ("serve-key", "list"),
    ("serve-key", "remove"),
    ("export",),
    ("import", "huggingface"),
    ("doctor", "model"),
    ("doctor", "data"),
    ("doctor", "output"),
    ("inspect",),
    ("compare",),
    ("convert",),
    ("init",),
]


def test_help_has_an_example_and_loads_no_torch() -> None:
    code = f"""
import contextlib, io, sys
from dragoman.cli import app
for command in {COMMANDS}:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        app([*command, "--help"])
    text = " ".join(out.getvalue().split())
    assert "Example: dragoman " + " ".join(command) in text, command
    assert "torch" not in sys.modules, command
"""
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert completed.stderr == ""
    assert completed.returncode == 0


def test_commands_are_complete(command: Command) -> None:
    """COMMANDS above lists every command."""
    groups = {names[0] for names in COMMANDS if len(names) == 2}
    for name in ((), *((group,) for group in groups)):
        listed = command(*name, "--help").out.split("Commands:")[1]
        shown = {line.split()[0] for line in listed.splitlines() if re.match(r"  \w", line)}
        assert shown == {names[len(name)] for names in COMMANDS if names[: len(name)] == name}


@pytest.mark.parametrize(
    ("words", "expected"),
    [("dragoman tr", {"train", "translate"}), ("dragoman train --res", {"--resume"})],
)
def test_shell_completion(words: str, expected: set[str]) -> None:
    """Requests completions like the bash script that --install-completion writes."""
    request = {"_DRAGOMAN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    script = Path(sys.executable).with_name("dragoman")
    completed = subprocess.run([script], env=os.environ | request, capture_output=True, text=True)
    assert (completed.stderr, set(completed.stdout.split())) == ("", expected)


def test_version(command: Command) -> None:
    assert command("--version").out == f"dragoman {dragoman.__version__}\n"


def test_no_arguments_print_help(command: Command) -> None:
    outcome = command()
    assert "Usage" in outcome.out + outcome.error
    assert outcome.code in (0, 2)  # depends on the version of click


@pytest.mark.parametrize("statement", ["torch.empty(2**60, dtype=torch.uint8)", "raise MemoryError"])
def test_too_little_memory_is_an_error_without_traceback(statement: str) -> None:
    program = f"""
import torch
import dragoman.cli
def allocate(standalone_mode): {statement}
dragoman.cli.app = allocate
dragoman.cli.main()
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("dragoman: out of memory: ")
    assert line.endswith("; use a smaller model or smaller batches")


def test_other_errors_of_a_library_have_a_traceback() -> None:
    program = """
import dragoman.cli
def fail(standalone_mode): raise RuntimeError("x")
dragoman.cli.app = fail
dragoman.cli.main()
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == "RuntimeError: x"


INTERRUPTED = """
import sys

class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == "typer":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
from dragoman.__main__ import main
main()
"""


def test_interrupt_while_the_command_is_imported_prints_no_traceback() -> None:
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (130, "")


LOST = "import os, time; from dragoman import cli"
IN_DEL = """
class Deleted:
    def __del__(self):
        os.kill(os.getpid(), {number})
        time.sleep(0.1)
def run(**_):
    Deleted()
    time.sleep(20)
"""
IN_IMPORT = """
def run(**_):
    try:
        os.kill(os.getpid(), {number})
        time.sleep(20)
    except BaseException as error:
        raise {error}("initialization failed")
"""
STOPS = [(signal.SIGTERM, 143), (signal.SIGINT, 130)]


def test_an_error_caused_by_code_that_exits_is_no_signal() -> None:
    run = """
from dragoman.errors import UserError
def run(**_):
    try:
        raise SystemExit(0)
    except SystemExit as error:
        raise UserError("the model exits") from error
"""
    ended = subprocess.run(
        [sys.executable, "-c", "\n".join((LOST, run, "cli.app = run", "cli.main()"))], capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (2, "dragoman: the model exits\n")


@pytest.mark.parametrize(("number", "code"), STOPS)
@pytest.mark.parametrize(
    "script", [IN_DEL, *(IN_IMPORT.replace("{error}", name) for name in ("ImportError", "RuntimeError", "OSError"))]
)
def test_signals_that_python_or_a_library_catches_end_the_program(script: str, number: int, code: int) -> None:
    lines = (LOST, script.format(number=int(number)), "cli.app = run", "cli.main()")
    ended = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (code, "interrupted\n")
