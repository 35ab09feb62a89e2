"""Directories made once: used again if whole, made again if not."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import UserError
from dragoman.system.build_cache import ABOUT, digest, locked, sealed


class Maker:
    """Fills a directory, and counts how often."""

    def __init__(self) -> None:
        self.calls = 0
        self.notes: list[str] = []

    def __call__(self, directory: Path) -> dict[str, Any]:
        self.calls += 1
        (directory / "data").write_bytes(bytes(range(200)))
        (directory / "more").write_text("more")
        return {"number": 3}

    def seal(self, path: Path, identity: Any = "this") -> dict[str, Any]:
        return sealed(path, identity, self, self.notes.append)


@pytest.fixture
def maker() -> Maker:
    return Maker()


def test_a_directory_is_made_once(maker: Maker, tmp_path: Path) -> None:
    assert maker.seal(tmp_path / "it") == maker.seal(tmp_path / "it") == {"number": 3}
    assert maker.calls == 1
    assert maker.notes == []


DAMAGES: dict[str, Callable[[Path], object]] = {
    "data: damaged or truncated": lambda path: (path / "data").write_bytes(bytes(range(199))),
    "data: damaged or trunc": lambda path: (path / "data").write_bytes(bytes(range(199)) + b"x"),
    "more: No such file": lambda path: (path / "more").unlink(),
    f"{ABOUT}: No such file": lambda path: (path / ABOUT).unlink(),
    f"{ABOUT}: not valid JSON": lambda path: (path / ABOUT).write_text("{"),
    f"{ABOUT}: damaged": lambda path: (path / ABOUT).write_text('{"identity": "this"}'),
    f"{ABOUT}: tells of something else": lambda path: (path / ABOUT).write_text("{}"),
}


@pytest.mark.parametrize("message", DAMAGES)
def test_a_damaged_directory_is_named_and_made_again(
    message: str, maker: Maker, tmp_path: Path, digests: Callable[[Path], dict[str, str]]
) -> None:
    maker.seal(tmp_path / "it")
    whole = digests(tmp_path / "it")
    DAMAGES[message](tmp_path / "it")
    maker.seal(tmp_path / "it")
    assert digests(tmp_path / "it") == whole
    (note,) = maker.notes
    assert f"{tmp_path / 'it'}/{message}" in note
    maker.seal(tmp_path / "it")
    assert maker.calls == 2


def test_what_was_made_from_something_else_is_made_again(maker: Maker, tmp_path: Path) -> None:
    maker.seal(tmp_path / "it")
    maker.seal(tmp_path / "it", identity="that")
    assert maker.calls == 2


def test_what_a_killed_process_left_behind_is_cleared_away(maker: Maker, tmp_path: Path) -> None:
    (tmp_path / ".it.tmp-1").mkdir()
    (tmp_path / ".other.tmp-1").mkdir()
    maker.seal(tmp_path / "it")
    assert {path.name for path in tmp_path.iterdir()} == {"it", ".other.tmp-1"}


def test_a_digest_depends_on_every_value() -> None:
    assert digest({"a": 1, "b": [2, None]}) == digest({"b": [2, None], "a": 1})
    assert len({digest({"a": 1, "b": rest}) for rest in ([2], [2, None], None, "2", 2)}) == 5


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from dragoman.system.build_cache import locked
with locked(Path(sys.argv[1]), print):
    print("held", flush=True)
    sys.stdin.read()
"""
    path, notes = tmp_path / "new" / "lock", []
    with subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        assert other.stdin
        assert other.stdout.readline() == "held\n"
        with path.open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

        def release(note: str) -> None:
            notes.append(note)
            assert other.stdin
            other.stdin.close()

        with locked(path, release):
            assert other.wait() == 0
    assert notes == ["waiting for another process that prepares the same text"]


def test_a_place_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be made"), locked(tmp_path / "file" / "lock", print):
        pass
