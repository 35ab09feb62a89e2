"""Code of users, such as learners' models: how it is loaded, where it fails, and the separate process to run it in.

Such code may raise anything, end its process, print, start other processes, or not end. Therefore `run_apart` runs one
of our functions, which loads the code, in a new process, and yields what the function yields. This file is also the
program of that process.
"""

from __future__ import annotations

import builtins
import faulthandler
import importlib
import importlib.util
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import sysconfig
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from types import ModuleType
from typing import IO, Any, Literal, NoReturn

from dragoman.errors import UserError, shortened_in_the_middle, shown_name
from dragoman.system.cpu import limit_spinning
from dragoman.system.files import read_bytes, temporary_directory

SHOWN_LINES = 4
"""Line numbers in a message; a recursion passes few lines, but often."""
SHOWN_FAILURE = 400
"""Maximum length of what an exception says; it may contain whole tensors."""
SIGNAL_SECONDS = 2.0
"""How long a process may take to say where it is."""


# ---- loading, and what an exception says ----


def load_file(path: Path) -> ModuleType:
    """Run a Python file as a module, which other modules can import.

    The file can import others of its directory, also later.

    Raises:
        UserError: The file does not exist, is not text, or fails.
    """
    name = shown_name(path)
    if not path.is_file():
        raise UserError(f"{name}: no such file")
    content = read_bytes(path)
    if b"\0" in content:
        line = content[: content.index(0)].count(b"\n") + 1
        raise UserError(f"{name}: contains a byte with the value 0 in line {line}; save it again in UTF-8")
    try:
        text = importlib.util.decode_source(content)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(f"{name}: line {line} is not UTF-8; save the file again in UTF-8") from error
    except SyntaxError as error:
        raise UserError(f"{name}: is not UTF-8; save it again in UTF-8") from error
    sys.path.insert(0, str(path.resolve().parent))
    return module_from_text(text, str(path.resolve()), name, registered=True)


def module_from_text(text: str, origin: str, name: str = "", *, registered: bool = False) -> ModuleType:
    """Run text as a module.

    Args:
        text: Python.
        origin: The name of its file, in which exceptions are.
        name: What messages call it, if not as its file.
        registered: Whether other modules can import it, unless there is another module of that name.

    Raises:
        UserError: It fails.
    """
    specification = importlib.util.spec_from_loader(Path(origin).stem, loader=None, origin=origin)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    module.__file__ = origin
    if registered:
        sys.modules.setdefault(module.__name__, module)
    with blamed(f"{name or origin}: cannot be imported"):
        exec(compile(text, origin, "exec", dont_inherit=True), module.__dict__)
    return module


@contextmanager
def blamed(message: str, remedy: str = "") -> Iterator[None]:
    """Raise a UserError, with the exception as its cause, for anything that the code of a user raises in the block.

    Ctrl-C is raised as usual.

    Args:
        message: What fails.
        remedy: What to do, at the end of the message.

    Raises:
        UserError: The code fails.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise UserError(f"{message}: {describe_exception(error)}{remedy}") from error


def describe_exception(error: BaseException) -> str:
    """What the code of a user raised, and where: ``TypeError in model.py, lines 150, 27: an integer is required``."""
    place = place_of(error)
    where = f" in {place}" if place else ""
    text = _text_of(error)
    if isinstance(error, SystemExit):
        return f"SystemExit{where}: the code ends the program{f' ({text})' if error.code is not None else ''}"
    return f"{shown_name(type(error).__name__)}{where}{': ' if text else ''}{text}"


def _text_of(error: BaseException) -> str:
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:  # a class of the user
        return ""
    return shortened_in_the_middle(text.strip(), SHOWN_FAILURE)


def place_of(error: BaseException) -> str:
    """The file of the user's code at which an exception arose, and the lines of it that it passed, outermost first.

    Empty if it passed no code of the user.
    """
    if isinstance(error, SyntaxError) and error.lineno and error.filename and not _is_library(error.filename):
        return _shown_place(error.filename, [error.lineno])
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [(file, line) for file, line in frames if not _is_library(file)]
    return _shown_place(own[-1][0], [line for file, line in own if file == own[-1][0]]) if own else ""


def _shown_place(file: str, lines: list[int]) -> str:
    numbers = list(dict.fromkeys(lines))
    left_out = "…, " if len(numbers) > SHOWN_LINES else ""
    listed = ", ".join(map(str, numbers[-SHOWN_LINES:]))
    return f"{shown_name(Path(file).name)}, line{'s' if len(numbers) > 1 else ''} {left_out}{listed}"


def _is_library(file: str) -> bool:
    """Whether a file is a part of Python, torch, NumPy or dragoman."""
    in_python = file.startswith(_PYTHON) and "site-packages" not in file
    return file.startswith("<") or in_python or file.startswith(_LIBRARIES)


_PYTHON = sysconfig.get_path("stdlib")
_LIBRARIES = tuple(
    f"{Path(found.origin).parent}{os.sep}"
    for name in ("dragoman", "numpy", "torch")
    if (found := importlib.util.find_spec(name)) and found.origin
)


# ---- a separate process ----

Output = Literal["discarded", "on standard error", "as it is"]
"""Where the process prints."""

_MARK = "DRAGOMAN_APART"
"""An environment variable that the process and those that it starts inherit."""


def run_apart(
    function: str,
    arguments: Mapping[str, Any],
    output: Output,
    seconds: float | None = None,
    stopped: Event | None = None,
) -> Iterator[Any]:
    """Call a function of ours in a new process and yield what it yields; close this to end the process.

    With its output discarded, the process also has no input and no terminal. When it ends, so do the processes that it
    started, on Linux even if they left its group. It ends itself if this process is killed, except on Windows.

    Args:
        function: ``package.module:name`` of a generator function that loads the code of a user, and yields JSON.
        arguments: What it is called with, as JSON.
        output: Where the process prints.
        seconds: How long it may take.
        stopped: Ends the process when it is set.

    Raises:
        UserError: The function raises one, or fails; or the code of the user ends the process; or it takes too long.
        OSError: The process cannot print.
        KeyboardInterrupt: Ctrl-C; the text says where the process was.
    """
    mark = secrets.token_hex(16)
    with temporary_directory() as directory:
        results, crash = directory / "results", directory / "crash"
        for path in (results, crash):
            path.touch()
        is_quiet = output == "discarded"
        unused = subprocess.DEVNULL if is_quiet else None
        process = subprocess.Popen(
            # -P: a file of the current directory must not replace a module of Python
            [sys.executable, "-P", "-m", __name__, str(directory), function, json.dumps(dict(arguments))],
            env={**os.environ, _MARK: mark, "PYTHONIOENCODING": "utf-8:backslashreplace"},
            start_new_session=is_quiet,
            stdin=unused,
            stdout=2 if output == "on standard error" else unused,
            stderr=unused,
        )
        try:
            with results.open(encoding="utf-8") as file:
                try:
                    yield from _read_results(process, file, crash, seconds, stopped)
                except KeyboardInterrupt:
                    raise KeyboardInterrupt(_interrupt(process, file)) from None
        finally:
            _end(process, mark, has_group=is_quiet)


def _read_results(
    process: subprocess.Popen[bytes], file: IO[str], crash: Path, seconds: float | None, stopped: Event | None
) -> Iterator[Any]:
    """What the function yields, as soon as it does; raises as `run_apart` does."""
    started, rest = time.monotonic(), ""
    while True:
        code = process.poll()
        *lines, rest = (rest + file.read()).split("\n")
        for line in lines:
            kind, value = json.loads(line)
            if kind == "value":
                yield value
            elif kind == "error":
                raise UserError(value)
            elif kind == "output error":
                raise OSError(*value)
            else:
                return
        if code is not None:
            raise UserError(_describe_end(code, crash))
        if stopped is not None and stopped.is_set():
            raise UserError("stopped")
        if seconds is not None and time.monotonic() - started > seconds:
            raise UserError(f"not finished after {seconds:g} s{_running_at(process, crash)}")
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)


def _describe_end(code: int, crash: Path) -> str:
    """How the code of a user ended the process."""
    place = _place_in(crash)
    where = f" in {place}" if place else ""
    if code >= 0:
        return f"the code ends the program{where} (exit code {code})"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    causes = {"SIGKILL": ", probably because it needs too much memory", "SIGSEGV": ", often by a recursion without end"}
    return f"the program was ended by {name}{where}{causes.get(name, '')}"


def _interrupt(process: subprocess.Popen[bytes], file: IO[str]) -> str:
    """Interrupt the process, which the terminal may have done already, and say where it was: " in model.py, line 3"."""
    with suppress(OSError, ValueError, subprocess.TimeoutExpired):
        process.send_signal(signal.SIGINT)
        process.wait(1)
    reports = [json.loads(line) for line in file.read().splitlines() if line.startswith('["error"')]
    return str(reports[-1][1]).removeprefix("KeyboardInterrupt") if reports else ""


def _running_at(process: subprocess.Popen[bytes], crash: Path) -> str:
    """Where the process is just now, if the system can tell: ``; it was in model.py, line 3``."""
    if not hasattr(faulthandler, "register"):
        return ""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGUSR1)
    until = time.monotonic() + SIGNAL_SECONDS
    while crash.stat().st_size == 0 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.02)  # the rest of what it writes
    place = _place_in(crash)
    return f"; it was in {place}" if place else ""


def _place_in(crash: Path) -> str:
    """The innermost place of the user's code in what `faulthandler` wrote."""
    text = crash.read_text(encoding="utf-8", errors="replace")
    frames = re.findall(r'^  File "(.*)", line (\d+) in ', text, re.MULTILINE)
    return next((_shown_place(file, [int(line)]) for file, line in frames if not _is_library(file)), "")


def _end(process: subprocess.Popen[bytes], mark: str, *, has_group: bool) -> None:
    """End a process and those that it started."""
    process.kill()
    if has_group and hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    for _ in range(100):
        if not (found := _marked(mark)):
            break
        for number in found:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        time.sleep(0.01)
    process.wait()


def _marked(mark: str) -> list[int]:
    """The running processes that inherited an environment, also those that left its group; on Linux only."""
    wanted = f"{_MARK}={mark}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if wanted in path.read_bytes():
                found.append(int(path.parent.name))
    return found


# ---- the program of the process ----


def _main() -> NoReturn:
    """Call the function that the arguments name, and report what it yields and raises."""
    directory, function, arguments = sys.argv[1:]
    sys.argv = [sys.argv[0]]  # the user's code may read them
    report = _Report(Path(directory))
    Thread(target=_end_with, args=(os.getppid(), report.exit), daemon=True).start()
    usual = dict(vars(builtins))
    signal.signal(signal.SIGINT, _raise_once)
    try:
        limit_spinning()
        module, _, name = function.partition(":")
        for value in getattr(importlib.import_module(module), name)(**json.loads(arguments)):
            report.write("value", value)
        _flush_output()
        report.write("end", None)
    except UserError as error:
        report.write("error", str(error))
    except OSError as error:
        report.write("output error", [error.errno, error.strerror, error.filename])
    except BaseException as error:
        replaced = [name for name, value in usual.items() if vars(builtins).get(name) is not value]
        if not replaced and not place_of(error) and not isinstance(error, KeyboardInterrupt):
            traceback.print_exc()  # a fault of ours
        cause = f"; the code replaces {', '.join(replaced)} of Python, which dragoman needs" if replaced else ""
        report.write("error", f"{describe_exception(error)}{cause}")
    with suppress(Exception):
        _flush_output()
    report.exit(0)  # without waiting for threads


def _end_with(parent: int, end: Callable[[int], NoReturn], wait: Callable[[float], None] = time.sleep) -> None:
    """End this process soon after its parent, which cannot do so if it is killed or its terminal is closed."""
    while os.getppid() == parent:
        wait(1)
    end(1)


def _raise_once(number: int, frame: object) -> NoReturn:
    """Raise the exception of Ctrl-C; a second one must not stop the report."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _flush_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()


class _Report:
    """Writes results. The code of a user can end only its own copy of the process, which then writes nothing."""

    def __init__(self, directory: Path) -> None:
        self._process = os.getpid()
        self._results = os.open(directory / "results", os.O_WRONLY | os.O_APPEND)
        self._crash = (directory / "crash").open("w")
        faulthandler.enable(self._crash, all_threads=False)
        if hasattr(faulthandler, "register"):
            faulthandler.register(signal.SIGUSR1, self._crash, all_threads=False)
        self.exit: Callable[[int], NoReturn] = os._exit
        os._exit = self._exit_with_place
        with suppress(OSError):  # on Linux, if memory runs out, this process ends and not another one
            Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")

    def write(self, kind: str, value: Any) -> None:
        """Report one thing, unless this is a copy of the process."""
        if os.getpid() != self._process:
            self.exit(1)
        os.write(self._results, f"{json.dumps([kind, value])}\n".encode())

    def _exit_with_place(self, status: int) -> NoReturn:
        """What the code of a user gets as ``os._exit``: an exception, which names the place of the call."""
        if os.getpid() != self._process:
            self.exit(status)
        raise SystemExit(status)


if __name__ == "__main__":
    _main()
