"""Files are complete or absent, even if writing them is interrupted."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.errors import UserError
from dragoman.system.files import (
    atomic_directory,
    atomic_file,
    is_leftover,
    is_unused,
    read_json,
    remove_leftovers,
    restore_replaced,
    sha256,
    write_json,
    write_text,
)

if TYPE_CHECKING:
    from conftest import FileLimit, SmallDisk

Digests = Callable[[Path], dict[str, str]]


class InjectedError(Exception):
    """An error while files are written."""


def write_directory(path: Path, text: str) -> None:
    with atomic_directory(path) as directory:
        (directory / "one").write_text(text)
        (directory / "two").write_text(text)


def fail_in_directory(path: Path, error: type[BaseException]) -> None:
    with atomic_directory(path) as directory:
        (directory / "one").write_text("half")
        raise error


def fail_in_file(path: Path, error: type[BaseException]) -> None:
    with atomic_file(path) as file:
        file.write("half")
        raise error


WRITERS = pytest.mark.parametrize("write", [write_text, write_directory])


def content(path: Path) -> str:
    return ((path / "two") if path.is_dir() else path).read_text()


@WRITERS
def test_writing_replaces_the_old_content(write: Callable[[Path, str], None], tmp_path: Path) -> None:
    for text in ("old", "new ÄÖ"):
        write(tmp_path / "x", text)
        assert content(tmp_path / "x") == text
        assert [path.name for path in tmp_path.iterdir()] == ["x"]


@WRITERS
@pytest.mark.parametrize("exists", [True, False])
def test_the_target_of_a_link_is_replaced(exists: bool, write: Callable[[Path, str], None], tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there/x")
    if exists:
        write(tmp_path / "there" / "x", "old")
    write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert content(tmp_path / "there" / "x") == "new"
    assert sorted(path.name for path in tmp_path.rglob("*") if path.name not in ("one", "two")) == [
        "link",
        "there",
        "x",
    ]


def test_a_link_to_a_missing_place_is_reported(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("missing/x")
    with pytest.raises(UserError, match=r"link: could not be saved: there is no directory .*missing"):
        write_directory(tmp_path / "link", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


@pytest.mark.parametrize("error", [InjectedError, KeyboardInterrupt])
def test_an_incomplete_directory_never_appears(error: type[BaseException], tmp_path: Path, digests: Digests) -> None:
    write_directory(tmp_path / "old", "old")
    before = digests(tmp_path)
    for name in ("old", "new"):
        with pytest.raises(error):
            fail_in_directory(tmp_path / name, error)
    assert digests(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


KILLED = """
import os, signal, sys
from pathlib import Path
from dragoman.system.files import atomic_directory

left = int(sys.argv[2])

def kill(event, arguments):
    global left
    if event == "os.rename":
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(kill)
with atomic_directory(Path(sys.argv[1])) as directory:
    (directory / "one").write_text("new")
    (directory / "two").write_text("new")
"""


@pytest.mark.parametrize("recover", ["restore", "clean", "write"])
@pytest.mark.parametrize(("renames", "expected"), [(0, "old"), (1, "old"), (2, "new"), (3, "new")])
def test_a_process_killed_at_any_rename_leaves_one_version(
    renames: int, expected: str, recover: str, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    write_directory(path, "old")
    killed = subprocess.run([sys.executable, "-c", KILLED, path, str(renames)])
    assert killed.returncode == (-signal.SIGKILL if renames < 3 else 0)
    if recover == "restore":
        restore_replaced(path)
    elif recover == "clean":
        remove_leftovers(tmp_path)
        assert [left.name for left in tmp_path.iterdir()] == ["x"]
    else:
        with pytest.raises(InjectedError):
            fail_in_directory(path, InjectedError)
    assert {(path / name).read_text() for name in ("one", "two")} == {expected}


@pytest.mark.parametrize("error", [InjectedError, KeyboardInterrupt])
def test_an_incomplete_file_never_appears(error: type[BaseException], tmp_path: Path) -> None:
    write_text(tmp_path / "old", "old")
    for name in ("old", "new"):
        with pytest.raises(error):
            fail_in_file(tmp_path / name, error)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert content(tmp_path / "old") == "old"


@WRITERS
def test_a_full_disk_leaves_the_old_content(
    write: Callable[[Path, str], None], small_disk: SmallDisk, digests: Digests
) -> None:
    write(small_disk.path / "x", "old")
    before = digests(small_disk.path)
    with pytest.raises(UserError, match="x: could not be saved: No space left on device"):
        write(small_disk.path / "x", "new" * 100_000)
    assert digests(small_disk.path) == before
    assert [path.name for path in small_disk.path.iterdir()] == ["x"]


@WRITERS
def test_a_file_that_becomes_too_large_leaves_the_old_content(
    write: Callable[[Path, str], None], tmp_path: Path, files_limited_to: FileLimit, digests: Digests
) -> None:
    write(tmp_path / "x", "old")
    before = digests(tmp_path)
    with files_limited_to(1000), pytest.raises(UserError, match="x: could not be saved: File too large"):
        write(tmp_path / "x", "new" * 1000)
    assert digests(tmp_path) == before


@WRITERS
def test_paths_that_cannot_be_written_to_are_reported(write: Callable[[Path, str], None], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="file/x: could not be saved: Not a directory"):
        write(tmp_path / "file" / "x", "text")


def test_pipes_and_devices_are_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_directory_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="could not be saved: Is a directory"):
        write_text(tmp_path, "text")


def test_a_file_is_not_replaced_by_a_directory(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("old")
    with pytest.raises(UserError, match="could not be saved: it is not a directory"):
        write_directory(tmp_path / "x", "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("x", "old")]


def test_a_directory_can_be_written_only_to_an_unused_place(tmp_path: Path) -> None:
    new, empty, full, file, link = (tmp_path / name for name in ("new", "empty", "full", "file", "link"))
    empty.mkdir()
    write_directory(full, "old")
    file.touch()
    link.symlink_to(empty)
    (tmp_path / "nowhere").symlink_to(new)
    assert all(map(is_unused, (new, empty, link, tmp_path / "nowhere")))
    assert not any(map(is_unused, (full, file)))
    with pytest.raises(UserError, match="File name too long"):
        write_directory(tmp_path / ("x" * 300), "new")


def test_a_directory_that_cannot_be_renamed_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digests: Digests
) -> None:
    write_directory(tmp_path / "x", "old")
    before = digests(tmp_path)
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if ".tmp-" in self.name:
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(UserError, match="Permission denied"):
        write_directory(tmp_path / "x", "new")
    assert digests(tmp_path) == before


def test_text_is_utf8(tmp_path: Path) -> None:
    write_json(tmp_path / "x", {"ü": ["हिन्दी"]})
    assert "ü" in (tmp_path / "x").read_bytes().decode("utf-8")
    assert read_json(tmp_path / "x") == {"ü": ["हिन्दी"]}


def test_files_have_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_text(tmp_path / "x", "")
    assert stat.S_IMODE(os.stat(tmp_path / "x").st_mode) == stat.S_IMODE(os.stat(tmp_path / "plain").st_mode)


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.write_text("old")
    private.chmod(0o600)
    with atomic_file(private) as file:
        file.write("new")
        (temporary,) = tmp_path.glob(".private.tmp-*")
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
    assert (private.read_text(), stat.S_IMODE(private.stat().st_mode)) == ("new", 0o600)


def test_a_replaced_file_keeps_its_group_and_gets_no_special_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.write_text("old")
    try:
        os.chown(shared, -1, shared.stat().st_gid + 1)
    except PermissionError:
        pytest.skip("this user has one group")
    shared.chmod(0o4664)
    group = shared.stat().st_gid
    write_text(shared, "new")
    assert (shared.stat().st_gid, stat.S_IMODE(shared.stat().st_mode)) == (group, 0o664)

    def refuse(*arguments: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chown", refuse)
    write_text(shared, "newer")
    assert stat.S_IMODE(shared.stat().st_mode) == 0o604, "another group may read nothing"


@pytest.mark.skipif(getattr(os, "geteuid", lambda: -1)() != 0, reason="only root can give files to others")
def test_a_file_that_root_replaces_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    os.chown(path, 1234, 1235)
    path.chmod(0o640)
    write_text(path, "new")
    about = path.stat()
    assert (about.st_uid, about.st_gid, stat.S_IMODE(about.st_mode)) == (1234, 1235, 0o640)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "No such file"),
        (b"", "not valid JSON"),
        (b'{"a": 1', "not valid JSON"),
        (b'{"a": "\xff"}', "not valid JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"a":' * 100_000, "not valid JSON"),
    ],
)
def test_invalid_json_is_reported_with_the_file(data: bytes | None, message: str, tmp_path: Path) -> None:
    if data is not None:
        (tmp_path / "x.json").write_bytes(data)
    with pytest.raises(UserError, match=rf"x\.json: {message}"):
        read_json(tmp_path / "x.json")


def test_huge_json_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{}")
    assert read_json(path, limit=2) == {}
    with pytest.raises(UserError, match=r"x\.json: damaged \(larger than 1 bytes\)"):
        read_json(path, limit=1)
    os.truncate(path, 100_000_000_000)
    with pytest.raises(UserError, match="larger than 100,000,000 bytes"):
        read_json(path)


def test_sha256_equals_that_of_the_bytes(tmp_path: Path) -> None:
    data = os.urandom(300_000)
    (tmp_path / "x").write_bytes(data)
    assert sha256(tmp_path / "x") == hashlib.sha256(data).hexdigest()


def test_only_temporary_files_and_directories_are_removed(tmp_path: Path) -> None:
    for name in ("x", "y"):
        with atomic_file(tmp_path / name) as file, atomic_directory(tmp_path / f"{name}-directory") as directory:
            shutil.copy(file.name, tmp_path / "copy")  # as if the process were killed here
            shutil.copytree(directory, tmp_path / "directory copy")
        (tmp_path / "copy").rename(file.name)
        (tmp_path / "directory copy").rename(directory)
    (tmp_path / ".hidden").write_text("")
    in_use = tmp_path / f".x.tmp-{os.getppid()}"  # of a process that still runs
    in_use.mkdir()
    assert sum(map(is_leftover, tmp_path.iterdir())) == 5
    remove_leftovers(tmp_path, "x", locked=False)
    in_use.rmdir()
    assert sum(map(is_leftover, tmp_path.iterdir())) == 3, "not those of x-directory"
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hidden", "x", "x-directory", "y", "y-directory"]


def test_writing_a_file_deletes_what_a_killed_process_left_of_it(tmp_path: Path) -> None:
    ended, running = (tmp_path / f".x.tmp-{process}" for process in (999_999_999, os.getppid()))
    other = tmp_path / ".x.y.tmp-999999999"
    for path in (ended, running, other):
        path.write_text("unfinished")
    write_text(tmp_path / "x", "done")
    assert sorted(tmp_path.iterdir()) == sorted([running, other, tmp_path / "x"])


def test_a_directory_that_another_process_is_replacing_is_left_alone(tmp_path: Path) -> None:
    running, ended = (tmp_path / f".bundle.old-{process}" for process in (os.getppid(), 999_999_999))
    running.mkdir()
    restore_replaced(tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()
    running.rename(ended)
    restore_replaced(tmp_path / "bundle")
    assert (tmp_path / "bundle").exists()


def test_a_directory_that_another_process_is_replacing_is_awaited(tmp_path: Path) -> None:
    running, path = tmp_path / f".bundle.old-{os.getppid()}", tmp_path / "bundle"
    running.mkdir()
    second = threading.Timer(0.05, running.rename, [path])
    second.start()
    restore_replaced(path)
    assert path.exists()
    second.join()


def test_a_directory_that_a_process_of_the_same_number_left_is_restored(tmp_path: Path) -> None:
    (tmp_path / f".bundle.old-{os.getpid()}").mkdir()
    restore_replaced(tmp_path / "bundle")
    assert (tmp_path / "bundle").exists()


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"page\.html: could not be saved: there is no directory .*missing"):
        write_text(tmp_path / "missing" / "page.html", "")
