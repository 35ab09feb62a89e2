"""Temporary files and directories that killed processes leave behind, see `dragoman.system.files`."""

from __future__ import annotations

import glob
import os
import re
import shutil
import time
from pathlib import Path

_MAX_WAITS = 20  # of 10 ms


def follow_links(path: Path) -> Path:
    """What a symbolic link points to, which may be missing; every other path is returned unchanged."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else path


def restore_replaced(path: Path) -> None:
    """Bring back a directory if a process was killed while replacing it, after the first of the two renames.

    If another running process is between them, this waits for the second one, but not for long: the process may be
    another one with the same number.

    Raises:
        OSError: The old version cannot be renamed.
    """
    path = follow_links(path)
    for _ in range(_MAX_WAITS):
        if path.exists() or not path.parent.is_dir():
            return
        names = (each for each in path.parent.iterdir() if each.name.startswith(f".{path.name}.old-"))
        versions = list(filter(is_leftover, names))
        left = next((each for each in versions if not is_in_use(each)), None)
        if left:
            left.rename(path)
        if left or not versions:
            return
        time.sleep(0.01)


def is_in_use(leftover: Path) -> bool:
    """Whether the process that made a temporary file is another one that still runs."""
    process = int(leftover.name.rpartition("-")[2])
    try:
        os.kill(process, 0)  # sends nothing
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return process != os.getpid()  # in containers, the successor of a killed process often has the same number


def is_leftover(path: Path) -> bool:
    """Whether the name is that of a temporary file or directory, which only a killed process leaves behind."""
    return bool(re.fullmatch(r"\..+\.(tmp|old)-\d+", path.name))


def remove_leftovers(directory: Path, name: str = "", *, locked: bool = True) -> None:
    """Delete the temporary files and directories of killed processes; only those of the file `name`, if given.

    If the caller has not locked the place, those of running processes are kept. A lock is better: in containers, other
    processes often have the numbers of killed ones.

    A directory that such a process was replacing is restored first.
    """
    found = [path for path in directory.glob(f".{glob.escape(name)}*") if is_leftover(path)]
    for path in [path for path in found if locked or not is_in_use(path)]:
        original = re.sub(r"^\.|\.(tmp|old)-\d+$", "", path.name)
        if name and original != name:
            continue
        restore_replaced(directory / original)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
