"""Entries of a build cache are built once, and built again if they are damaged."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import UserError
from dragoman.system.resumable import ABOUT, BuildCache, Entry, digest

IDENTITY = {"from": ["this", 1]}


class Builder:
    """Builds entries of a cache, and counts how often."""

    def __init__(self, root: Path) -> None:
        self.calls = 0
        self.messages: list[str] = []
        self.cache = BuildCache(root, self.messages.append)
        self.path = self.cache.path("numbers", IDENTITY)

    def get(self, identity: Any = IDENTITY) -> Entry:
        return self.cache.get("numbers", identity, self._build)

    def _build(self, directory: Path) -> dict[str, Any]:
        self.calls += 1
        (directory / "data").write_bytes(bytes(range(200)))
        (directory / "more").write_text("more")
        return {"number": 3}


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    return Builder(tmp_path)


def test_an_entry_is_built_once(builder: Builder) -> None:
    entry = Entry(builder.path, {"number": 3})
    assert builder.get() == builder.get() == entry
    assert builder.calls == 1
    assert builder.messages == []
    assert (entry.path / "data").read_bytes() == bytes(range(200))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "data: damaged or truncated": lambda path: (path / "data").write_bytes(bytes(range(199))),
    "data: damaged or trunc": lambda path: (path / "data").write_bytes(bytes(range(199)) + b"x"),
    "more: No such file": lambda path: (path / "more").unlink(),
    f"{ABOUT}: No such file": lambda path: (path / ABOUT).unlink(),
    f"{ABOUT}: not valid JSON": lambda path: (path / ABOUT).write_text("{"),
    f"{ABOUT}: damaged": lambda path: (path / ABOUT).write_text('{"identity": {"from": ["this", 1]}}'),
    f"{ABOUT}: dam": lambda path: (path / ABOUT).write_text(
        json.dumps(json.loads((path / ABOUT).read_text()) | {"facts": [3]})
    ),
    f"{ABOUT}: describes something else": lambda path: (path / ABOUT).write_text("{}"),
}


@pytest.mark.parametrize("message", DAMAGES)
def test_a_damaged_entry_is_named_and_built_again(
    message: str, builder: Builder, digests: Callable[[Path], dict[str, str]]
) -> None:
    builder.get()
    intact = digests(builder.path)
    DAMAGES[message](builder.path)
    builder.get()
    assert digests(builder.path) == intact
    (logged,) = builder.messages
    assert logged.startswith(f"{builder.path}/{message}")
    assert logged.endswith("; building it again")
    builder.get()
    assert builder.calls == 2


def test_entries_differ_by_kind_and_identity(builder: Builder) -> None:
    other = builder.get(identity={"from": ["that", 1]})
    assert other.path != builder.get().path != builder.cache.path("letters", IDENTITY)
    assert builder.calls == 2


def test_leftovers_of_a_killed_process_are_deleted(builder: Builder, tmp_path: Path) -> None:
    (tmp_path / f".{builder.path.name}.tmp-1").mkdir()
    (tmp_path / ".other.tmp-1").mkdir()
    builder.get()
    assert {path.name for path in tmp_path.iterdir()} == {builder.path.name, ".other.tmp-1"}


def test_entries_that_nobody_uses_are_deleted_when_another_is_built(builder: Builder, tmp_path: Path) -> None:
    month, dead = time.time() - 31 * 24 * 60 * 60, 999_999_999
    used, unused = (builder.get(identity=name).path for name in ("used", "unused"))
    leftover, running = (tmp_path / f".numbers-1.tmp-{process}" for process in (dead, os.getppid()))
    recent = tmp_path / f".numbers-2.tmp-{dead}"
    for directory in (leftover, running, recent):
        directory.mkdir()
    for path in (used, unused):
        os.utime(path, (month, month))
    for path in (leftover, running):
        os.utime(path, (time.time() - 2 * 24 * 60 * 60,) * 2)
    builder.get(identity="used")
    assert unused.exists(), "finding an entry deletes nothing"
    builder.get()
    assert set(tmp_path.iterdir()) == {builder.path, used, running, recent}


def test_an_entry_that_was_being_replaced_is_not_built_again(builder: Builder, tmp_path: Path) -> None:
    entry = builder.get()
    builder.path.rename(tmp_path / f".{builder.path.name}.old-999999999")
    (tmp_path / f".{builder.path.name}.tmp-1").mkdir()
    assert builder.get() == entry
    assert builder.calls == 1


def test_a_digest_depends_on_every_value() -> None:
    assert digest({"a": 1, "b": [2, None]}) == digest({"b": [2, None], "a": 1})
    assert len({digest({"a": 1, "b": rest}) for rest in ([2], [2, None], None, "2", 2)}) == 5


def test_a_lock_waits_for_another_process(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from dragoman.system.resumable import BuildCache
with BuildCache(Path(sys.argv[1]), print).lock("this"):
    print("held", flush=True)
    sys.stdin.read()
"""
    root, messages = tmp_path / "new", []
    with subprocess.Popen(
        [sys.executable, "-c", code, root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        assert other.stdin
        assert other.stdout.readline() == "held\n"
        (path,) = root.iterdir()
        with path.open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

        def release(message: str) -> None:
            messages.append(message)
            assert other.stdin
            other.stdin.close()

        cache = BuildCache(root, release)
        with cache.lock("that"):
            assert messages == [], "another identity has another lock"
        with cache.lock("this"):
            assert other.wait() == 0
    assert messages == ["waiting for another process that prepares the same data"]


def test_a_cache_that_cannot_be_written_to_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(UserError, match=r"cannot be used: .*set XDG_CACHE_HOME"),
        BuildCache(tmp_path / "file", print).lock("this"),
    ):
        pass
