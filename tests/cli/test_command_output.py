"""Output of commands: files are complete or unchanged, and failures to write end a command without a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Command, SmallDisk


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\nb\n\xff\xff\n", "line 3: not valid UTF-8"),
        (b"a\nb\nc\x00\n", "line 3: control character U+0000"),
        (
            "T\xfcr\n".encode("cp1252"),
            "line 1: not valid UTF-8 (byte 0xfc at position 2); the file looks like Windows-1252; "
            "convert it: iconv -f cp1252 -t utf-8 FILE > NEW",
        ),
    ],
)
def test_output_file_is_complete_or_unchanged(
    data: bytes, message: str, finished_run: Path, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "in").write_bytes(data)
    (tmp_path / "out").write_text("precious")
    for name in ("out", "new"):
        outcome = command("translate", finished_run, "--input", tmp_path / "in", "--output", tmp_path / name)
        assert outcome.code == 2
        assert f"{tmp_path}/in {message}" in outcome.error
    assert (tmp_path / "out").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    outcome = command("translate", finished_run, stdin=data)
    assert outcome.code == 2
    assert f"standard input {message}" in outcome.error


def test_control_characters_are_translated_as_spaces(finished_run: Path, command: Command, tmp_path: Path) -> None:
    """A line of crawled text with a form feed must not end the translation of a large file."""
    (tmp_path / "in").write_bytes(b"Ein Hund l\xc3\xa4uft.\nEin\x0cHund\xc2\x85l\xc3\xa4uft.\n")
    for outcome in (
        command("translate", finished_run, "--input", tmp_path / "in"),
        command("translate", finished_run, stdin=(tmp_path / "in").read_bytes()),
    ):
        assert outcome.code == 0
        first, second = outcome.out.splitlines()
        assert first == second


@pytest.mark.parametrize("arguments", [("data", "list"), ("--help",), ("translate", "RUN", "--input", "SOURCE")])
def test_closed_pipe_is_not_an_error(arguments: tuple[str, ...], finished_run: Path, corpus: Path) -> None:
    """As under ``| head -1``, which exits after the first line; here the reader has exited before."""
    reader, writer = os.pipe()
    os.close(reader)
    paths = {"RUN": str(finished_run), "SOURCE": str(corpus / "test.de")}
    full = [sys.executable, "-m", "dragoman", *(paths.get(argument, argument) for argument in arguments)]
    completed = subprocess.run(full, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert completed.stderr == ""
    assert completed.returncode == 141


def test_full_disk_under_standard_output_is_an_error(finished_run: Path, small_disk: SmallDisk) -> None:
    small_disk.resize(4)
    (small_disk.path / "filler").write_bytes(b"x" * 4096)
    command = [sys.executable, "-m", "dragoman", "info", str(finished_run)]
    with (small_disk.path / "out").open("w") as out:
        completed = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True)
    assert completed.returncode == 2
    assert completed.stderr == "dragoman: standard output: No space left on device\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is needed")
def test_progress_is_shown_in_a_terminal(finished_run: Path, corpus: Path, tmp_path: Path) -> None:
    import pty

    arguments = ["translate", finished_run, "--input", corpus / "test.de", "--output", tmp_path / "out"]
    reader, terminal = pty.openpty()
    subprocess.run([sys.executable, "-m", "dragoman", *map(str, arguments)], stderr=terminal, check=True)
    os.close(terminal)
    shown = os.read(reader, 100_000).decode()
    os.close(reader)
    assert "30 lines" in shown
    assert len((tmp_path / "out").read_text("utf-8").splitlines()) == 30


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell is needed")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_messages_that_cannot_be_written_are_lost(finished_run: Path) -> None:
    command = '"$0" -m dragoman translate "$1" "Ein Hund läuft." --verbose 2>/dev/full'
    done = subprocess.run(["sh", "-c", command, sys.executable, str(finished_run)], capture_output=True, check=False)
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell is needed")
@pytest.mark.parametrize("closed", ["<&-", "2>&-"])
def test_closed_streams_are_no_error(closed: str, finished_run: Path) -> None:
    command = f'"$0" -m dragoman translate "$1" "Ein Hund läuft." {closed}'
    completed = subprocess.run(["sh", "-c", command, sys.executable, str(finished_run)], capture_output=True, text=True)
    assert (completed.returncode, completed.stderr) == (0, "")
    assert completed.stdout.strip()


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell is needed")
@pytest.mark.parametrize("arguments", ['translate "$1" "Ein Hund läuft."', 'info "$1"', "--version"])
def test_a_lost_result_is_an_error(arguments: str, finished_run: Path) -> None:
    command = f'"$0" -m dragoman {arguments} >&-'
    completed = subprocess.run(["sh", "-c", command, sys.executable, str(finished_run)], capture_output=True, text=True)
    assert (completed.returncode, completed.stderr) == (2, "dragoman: standard output: Bad file descriptor\n")


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell is needed")
def test_a_deleted_current_directory_is_reported(finished_run: Path, tmp_path: Path) -> None:
    command = 'cd "$2" && rmdir "$2" && "$0" -m dragoman translate "$1" Hund'
    arguments = ["sh", "-c", command, sys.executable, str(finished_run), str(tmp_path)]
    completed = subprocess.run(arguments, capture_output=True, text=True)
    assert completed.returncode == 2
    assert completed.stderr == "dragoman: the current directory was deleted; change to another one\n"


def test_output_is_utf8_in_every_locale() -> None:
    environment = os.environ | {
        "LC_ALL": "C",
        "PYTHONIOENCODING": "ascii",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
    }
    command = [sys.executable, "-m", "dragoman", "settings"]
    completed = subprocess.run(command, env=environment, capture_output=True)
    assert (completed.returncode, completed.stderr) == (0, b"")
    assert not completed.stdout.isascii()
    completed.stdout.decode()
