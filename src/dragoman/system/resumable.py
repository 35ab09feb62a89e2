"""Long work that continues where it stopped: results that are kept under the name of what they are made from.

- `BuildCache` keeps whole results: directories that are built once, checked whenever they are used, and deleted if
  nobody has used them for a month.
- `run_blocks` computes a long result block by block, in this process or in several. With a `BlockStore`, each block is
  written as soon as it is finished, so that a process that is killed at any moment loses at most the blocks that are
  being computed, and the next process continues after the others.
- `only_writer` gives the blocks of an output a directory next to it until the output is complete.

What a name stands for is plain data, its identity. Other text or other settings have another name, so that a result is
never used for them.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, Generic, TypeVar

from filelock import FileLock, Timeout

from dragoman.errors import UserError
from dragoman.system.cpu import usable_cores
from dragoman.system.files import (
    atomic_directory,
    is_in_use,
    is_leftover,
    read_json,
    remove_leftovers,
    restore_replaced,
    sha256,
    write_json,
)
from dragoman.system.locks import wait_for_lock
from dragoman.system.progress import Log, Meter, no_log

ABOUT = "about.json"
"""File of each entry of a cache with its identity, its facts and the checksums of its other files."""
DAY = 24 * 60 * 60
MAX_AGE = 30 * DAY  # since an entry was used
MAX_BUILD = DAY  # of an entry

MAX_PROCESSES = 8
"""Where nothing else is said: reading the items of the blocks, in one process, is not faster than this many."""

Items = TypeVar("Items", bound=Sized)
Item = TypeVar("Item")
Result = TypeVar("Result")


def digest(identity: Any) -> str:
    """A short name for an identity, which is plain data."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Entry:
    """A directory of the cache, and the facts that were stored with it."""

    path: Path
    facts: dict[str, Any]


@dataclass(frozen=True)
class BuildCache:
    """Directories below `root`, checked whenever they are used; `log` receives messages."""

    root: Path
    log: Log

    def path(self, kind: str, identity: Any) -> Path:
        """Where the entry of this kind and identity is, or would be."""
        return self.root / f"{kind}-{digest(identity)}"

    def get(self, kind: str, identity: Any, build: Callable[[Path], dict[str, Any]]) -> Entry:
        """Return an entry, after building it if it does not exist or is damaged.

        Building an entry deletes those that were not used for 30 days.

        Args:
            kind: First part of the directory's name.
            identity: Everything that decides the content, as plain data.
            build: Fills an empty directory with files, and returns facts to store with them.

        Raises:
            UserError: The disk is full, or the directory cannot be written to.
        """
        path = self.path(kind, identity)
        restore_replaced(path)
        if path.exists():
            problem = _find_problem(path, identity)
            if problem is None:
                with suppress(OSError):  # of another user
                    os.utime(path)  # for `_remove_old`
                return Entry(path, read_json(path / ABOUT)["facts"])
            self.log(f"{problem}; building it again")
        remove_leftovers(path.parent, path.name)
        _remove_old(path.parent)
        with atomic_directory(path) as directory:
            facts = build(directory)
            checksums = {file.name: sha256(file) for file in sorted(directory.iterdir())}
            write_json(directory / ABOUT, {"identity": identity, "facts": facts, "sha256": checksums})
        return Entry(path, facts)

    @contextmanager
    def lock(self, identity: Any) -> Iterator[None]:
        """Wait until no other process holds the lock of this identity, then hold it. A killed process releases it.

        Raises:
            UserError: The cache cannot be written to.
        """
        path = self.root / f"{digest(identity)}.lock"
        with ExitStack() as stack:
            try:
                self.root.mkdir(parents=True, exist_ok=True)
                stack.enter_context(wait_for_lock(path, "prepares the same data", self.log))
            except OSError as error:
                problem = f"the cache {self.root} cannot be used: {error.strerror}"
                raise UserError(f"{problem}; set XDG_CACHE_HOME to a directory that can be written to") from error
            yield


def _remove_old(root: Path) -> None:
    """Delete entries that were not used for long, and what killed processes left behind.

    A process of another machine that shares the directory looks like a killed one, so it gets some time.
    """
    now = time.time()
    for path in root.iterdir():
        with suppress(OSError):  # another process deletes it too
            age = now - path.stat().st_mtime
            if path.is_dir() and (age > MAX_AGE or (age > MAX_BUILD and is_leftover(path) and not is_in_use(path))):
                shutil.rmtree(path)


def _find_problem(path: Path, identity: Any) -> str | None:
    """What is wrong with an entry, or None."""
    try:
        about = read_json(path / ABOUT)
        if digest(about.get("identity")) != digest(identity):
            return f"{path / ABOUT}: describes something else"
        for name, checksum in about["sha256"].items():
            if sha256(path / name) != checksum:
                return f"{path / name}: damaged or truncated (its SHA-256 is not the one in {ABOUT})"
        return None if isinstance(about["facts"], dict) else f"{path / ABOUT}: damaged"
    except UserError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    except (KeyError, AttributeError):
        return f"{path / ABOUT}: damaged"


def unfinished_directory(output: str | Path) -> Path:
    """Where the blocks of an output are until it is complete: ``synthetic.tsv.partial``, or ``run.partial`` for
    the pattern ``run.{lang}``.
    """
    return Path(f"{str(output).removesuffix('.{lang}')}.partial")


def delete_unfinished(output: str | Path) -> None:
    """Delete the blocks of an output that is complete, if there are any."""
    shutil.rmtree(unfinished_directory(output), ignore_errors=True)


@contextmanager
def only_writer(output: str | Path) -> Iterator[Path]:
    """Create the directory of an output, and let no other process write the same output until it ends or is killed.

    If nothing is in it at the end, it is deleted.

    Raises:
        UserError: Another process is writing it, or the directory cannot be created.
    """
    directory = unfinished_directory(output)
    try:
        directory.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"{directory}: {error.strerror}; choose another place for the output") from error
    lock = FileLock(directory / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError(
            f"{output}: another process is writing it; wait until it has finished, or choose another output"
        ) from None
    try:
        yield directory
    finally:
        if {each.name for each in directory.glob("*")} <= {".lock"}:
            delete_unfinished(output)  # before the next process can write there
        lock.release()


@dataclass(frozen=True)
class BlockStore(Generic[Result]):
    """Where finished blocks are kept, one file each.

    Attributes:
        directory: Of the files. It exists.
        identity: Everything that decides what is made of given items, as plain data.
        save: Writes a result to a file, completely or not at all.
        load: Reads it again; None if the file is damaged.
        suffix: Of the files.
        log: Receives a message if a file is damaged.
    """

    directory: Path
    identity: Any
    save: Callable[[Path, Result], object]
    load: Callable[[Path], Result | None]
    suffix: str = ".json"
    log: Log = no_log

    def path(self, number: int, items: Any) -> Path:
        """The file of a block, whose name depends on its number, its items, which are plain data, and the identity."""
        return self.directory / f"{number:06}-{digest([self.identity, items])}{self.suffix}"

    def find(self, path: Path) -> Result | None:
        """The result in a file, or None if there is none, or if it is damaged: a disk may have lost a part of it."""
        if not path.is_file():
            return None
        result = self.load(path)
        if result is None:
            self.log(f"{path}: damaged; computing it again")
        return result


@dataclass(frozen=True)
class FinishedBlock(Generic[Items, Result]):
    """A finished block.

    Attributes:
        items: What it is made of.
        result: What was made of them.
        path: Where it is stored, if there is a store.
        stored: Whether an earlier process has made it.
    """

    items: Items
    result: Result
    path: Path | None = None
    stored: bool = False


def grouped(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Consecutive items in lists of a size; the last one may be shorter.

    If an item cannot be read, the error is raised after the items before it.
    """
    remaining = iter(items)
    error: UserError | None = None
    while error is None:
        group: list[Item] = []
        try:
            group.extend(islice(remaining, size))
        except UserError as caught:
            error = caught
        if group:
            yield group
        elif error is None:
            return
    raise error


def run_blocks(
    function: Callable[[Items], Result],
    blocks: Iterable[Items],
    *,
    store: BlockStore[Result] | None = None,
    processes: int | None = 1,
    meter: Meter | None = None,
    advice: str = "",
) -> Generator[FinishedBlock[Items, Result], None, None]:
    """Call a function with the items of each block, and yield the blocks in order, as soon as they are finished.

    Closing the generator ends the processes at once; blocks that they are computing are lost.

    Args:
        function: What is made of the items. If it is called in other processes, it depends on nothing but the items,
            and changes nothing: processes are forked, so that it and what it refers to are shared and not copied.
        blocks: The items of each block, read when they are needed. They and the results are sent between processes.
        store: Where finished blocks are kept. Those that are there already are not computed again.
        processes: How many processes compute; 1 for this one; None for as many as are useful. Without the means to fork
            processes, it is this one.
        meter: Receives the number of items of each block.
        advice: What the user can do if a process was killed, for the error.

    Raises:
        UserError: A process was killed.
        Exception: What the function raises, in this process or in another one.
    """
    waiting: deque[_Started[Items, Result]] = deque()
    count = min(MAX_PROCESSES, usable_cores()) if processes is None else processes
    can_fork = "fork" in multiprocessing.get_all_start_methods() and not multiprocessing.current_process().daemon
    pool = _Pool(function, count, advice) if can_fork and count > 1 else None

    def finish(started: _Started[Items, Result]) -> FinishedBlock[Items, Result]:
        if not (finished := started.finished):
            assert pool
            result = pool.receive(started.worker)
            finished = _store(FinishedBlock(started.items, result, started.path), store)
        if meter:
            meter.advance(len(finished.items), skipped=finished.stored)
        return finished

    try:
        for number, items in enumerate(blocks):
            path = store.path(number, items) if store else None
            known = store.find(path) if store and path else None
            if known is not None:
                waiting.append(_Started(items, path, FinishedBlock(items, known, path, stored=True)))
            elif not pool:
                waiting.append(_Started(items, path, _store(FinishedBlock(items, function(items), path), store)))
            else:
                while pool.is_busy:
                    yield finish(waiting.popleft())
                waiting.append(_Started(items, path, worker=pool.send(items)))
            while waiting and (waiting[0].finished or len(waiting) > 2 * count):
                yield finish(waiting.popleft())
        while waiting:
            yield finish(waiting.popleft())
    finally:
        if pool:
            pool.end()


@dataclass(frozen=True)
class _Started(Generic[Items, Result]):
    """A block that is finished, or that a process computes."""

    items: Items
    path: Path | None
    finished: FinishedBlock[Items, Result] | None = None
    worker: int = -1


def _store(block: FinishedBlock[Items, Result], store: BlockStore[Result] | None) -> FinishedBlock[Items, Result]:
    if store and block.path:
        store.save(block.path, block.result)
    return block


class _Pool(Generic[Items, Result]):
    """Forked processes that call a function with the items of one block after another.

    Each has its own pipe, so that one that is killed does not leave the others waiting for a shared lock. They have the
    same random hashes of texts.
    """

    def __init__(self, function: Callable[[Items], Result], count: int, advice: str) -> None:
        self._function, self._count, self._advice = function, count, advice
        self._workers: list[tuple[Any, Connection]] = []
        self._idle: list[int] = []

    @property
    def is_busy(self) -> bool:
        """Whether all processes compute."""
        return not self._idle and len(self._workers) == self._count

    def send(self, items: Items) -> int:
        """Let a process compute that is idle or new; returns its number."""
        if not self._idle:
            self._idle.append(len(self._workers))
            self._workers.append(_fork(self._function))
        worker = self._idle.pop()
        try:
            self._workers[worker][1].send(items)
        except OSError as error:
            raise self._killed() from error
        return worker

    def receive(self, worker: int) -> Result:
        """Wait for the result of a process, which is idle then."""
        try:
            result, error = self._workers[worker][1].recv()
        except (EOFError, OSError) as problem:
            raise self._killed() from problem
        if error is not None:
            raise error
        self._idle.append(worker)
        return result  # type: ignore[no-any-return]

    def end(self) -> None:
        """Stop all processes at once: they change nothing that must be complete."""
        for process, _ in self._workers:
            process.kill()
        for process, connection in self._workers:
            process.join()
            connection.close()

    def _killed(self) -> UserError:
        return UserError(f"a worker process was killed, perhaps because the memory was full{self._advice}")


_TOKENIZERS = "TOKENIZERS_PARALLELISM"


def _fork(function: Callable[[Any], Any]) -> tuple[Any, Connection]:
    """Start a process, and return it with the connection to it."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(function, theirs), daemon=True)
    parallelism = os.environ.get(_TOKENIZERS)
    os.environ[_TOKENIZERS] = "false"  # threads of the library do not exist in a forked process, and one is enough
    # Ctrl-C reaches all processes of a terminal. The parent process ends the others, which never see it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with warnings.catch_warnings():
            # Other threads do not exist in a forked process, and their locks stay held. The functions use none of them.
            warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
            process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if parallelism is None:
            del os.environ[_TOKENIZERS]
        else:
            os.environ[_TOKENIZERS] = parallelism
    theirs.close()  # so that reading ends if the process is killed
    return process, ours


def _work(function: Callable[[Any], Any], connection: Connection) -> None:
    """Answer items with results until this process is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        items = connection.recv()
        try:
            connection.send((function(items), None))
        except Exception as error:
            error.add_note(traceback.format_exc())  # the traceback itself cannot be sent
            try:
                ForkingPickler.loads(ForkingPickler.dumps(error))
            except Exception:  # not every error can be sent, but its message can
                error = RuntimeError("".join(traceback.format_exception(error)))
            connection.send((None, error))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "this process was forked"
    wait([parent.sentinel])
    os._exit(1)
