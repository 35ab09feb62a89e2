"""The command line: one function per command, which parses options, calls the library and prints.

- Text and training: `init`, `train`, `synthesize`, `distill`, `convert`, `data`, `corrections`
- Translators: `translate`, `evaluate`, `compare`, `score`, `inspect`, `info`, `doctor`
- The course: `learn`
- Other programs: `serve`, `serve_key`, `export`, `importing`
- The files that commands read: `text_files` (options), `text_references` (corpora), `training_texts` (a recipe for
  them), `glossary_file`
- Teachers behind an address: `teachers`
- What all commands share: `options`, `output`, `suggestions`

`COMMANDS` is their table.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from dragoman.cli.compare import compare
from dragoman.cli.convert import convert
from dragoman.cli.data import data_app
from dragoman.cli.distill import distill
from dragoman.cli.doctor import doctor_app
from dragoman.cli.evaluate import evaluate
from dragoman.cli.export import export_bundle
from dragoman.cli.importing import import_app
from dragoman.cli.info import info, settings
from dragoman.cli.init import init
from dragoman.cli.inspect import inspect
from dragoman.cli.learn import learn_app
from dragoman.cli.score import score
from dragoman.cli.serve import serve
from dragoman.cli.serve_key import serve_key_app
from dragoman.cli.suggestions import SuggestingCommand, corrected_command
from dragoman.cli.synthesize import synthesize
from dragoman.cli.text_files import TextFilesCommand
from dragoman.cli.train import TrainCommand, quickstart, train
from dragoman.cli.translate import translate
from dragoman.errors import UserError, escape_controls
from dragoman.system.cpu import limit_spinning
from dragoman.system.discard import discard
from dragoman.system.memory import is_out_of_memory
from dragoman.system.run_paths import NoBundleError
from dragoman.system.signals import send_again

_OUTPUT_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EBADF)
"""Errors of writing; without a file name, they are those of standard output."""

TERMINATED = 128 + signal.SIGTERM
"""The exit code of a command that SIGTERM has ended."""

_lost: list[int] = []
"""Signals whose exceptions Python ignored."""

app = typer.Typer(
    help="Train a Transformer translator from parallel text, and translate with it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
COMMANDS: dict[str, Callable[..., None]] = {
    "quickstart": quickstart,
    "init": init,
    "train": train,
    "translate": translate,
    "synthesize": synthesize,
    "distill": distill,
    "evaluate": evaluate,
    "score": score,
    "info": info,
    "settings": settings,
    "export": export_bundle,
    "inspect": inspect,
    "compare": compare,
    "convert": convert,
    "serve": serve,
}
CLASSES = {"train": TrainCommand, "init": TextFilesCommand, "convert": TextFilesCommand}
for name, command in COMMANDS.items():
    app.command(name, cls=CLASSES.get(name, SuggestingCommand))(command)
app.add_typer(data_app, name="data")
app.add_typer(import_app, name="import")
app.add_typer(doctor_app, name="doctor")
app.add_typer(learn_app, name="learn")
app.add_typer(serve_key_app, name="serve-key")


def main() -> None:
    """Run the command line; a UserError becomes a message and exit code 2."""
    _listen_for_signals()
    limit_spinning()
    warnings.showwarning = _show_warnings_once()
    _prepare_streams()
    try:
        _require_usable(sys.argv[1:])
        _run()
    except KeyboardInterrupt as error:
        print(f"interrupted{escape_controls(str(error))}", file=sys.stderr)  # it may say where
        sys.exit(130)
    except SystemExit as error:
        if error.code == TERMINATED:
            print("interrupted", file=sys.stderr)
        raise
    except Exception as error:
        sys.exit(_report(error))


def _report(error: Exception) -> int:
    """Print an error that a user can understand, and return the exit code; raise any other error again."""
    if isinstance(error, UserError):
        code = _print_error(error)
        if isinstance(error, NoBundleError) and (command := corrected_command(sys.argv[1:], error)):
            print(f"  try: {command}", file=sys.stderr)
        return code
    if isinstance(error, BrokenPipeError):  # the reader of our output has exited, as head does
        _discard_output()
        return 141
    if isinstance(error, OSError):
        if error.filename is None and error.errno in _OUTPUT_ERRORS:
            _discard_output()
            error.filename = "standard output"
        return _print_error(error)
    if is_out_of_memory(error):
        reason = str(error).partition("\n")[0] or "no more is available"
        return _print_error(UserError(f"out of memory: {reason}; use a smaller model or smaller batches"))
    raise error


def _run() -> None:
    """Run the command; when it ends, what it printed has been written."""
    try:
        app(standalone_mode=True)
    except SystemExit as error:
        # typer replaces these two by exit codes
        if error.code and (cause := _find_cause(error, BrokenPipeError, KeyboardInterrupt)):
            raise cause from None
        sys.stdout.flush()
        raise
    except Exception as error:
        if stop := _stop_behind(error):
            raise stop from None
        raise


def _prepare_streams() -> None:
    """Use UTF-8 in every locale, and replacements of streams that the caller has closed.

    Standard error is discarded. What is written to standard output would be lost, which is an error.
    """
    for name, mode, flags in (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode, encoding="utf-8"))
    if sys.stderr is sys.__stderr__:  # and not replaced above, or by a test
        sys.stderr = io.TextIOWrapper(io.BufferedWriter(_Messages(2, "w", closefd=False)), line_buffering=True)
    for stream, errors in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


class _Messages(io.FileIO):
    """Standard error without write errors: a command continues if the pipe is closed or the disk is full."""

    def write(self, data: Any, /) -> int:
        """Write bytes, or lose them."""
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in (*_OUTPUT_ERRORS, errno.EPIPE):
                raise
            return len(memoryview(data))


def _require_usable(arguments: Sequence[str]) -> None:
    """Refuse arguments that cannot be printed or written, and to work in a deleted directory.

    Python replaces invalid bytes of arguments by lone surrogates. Libraries would end the process in such a directory.
    """
    for number, argument in enumerate(arguments, start=1):
        try:
            argument.encode()
        except UnicodeEncodeError:
            expected = "check the encoding of the terminal and of file names"
            raise UserError(f"argument {number}, {argument!a}: not valid UTF-8; {expected}") from None
    try:
        os.getcwd()
    except FileNotFoundError:
        raise UserError("the current directory was deleted; change to another one") from None


def _print_error(error: Exception) -> int:
    message = str(error)
    if isinstance(error, OSError) and error.filename and error.strerror:
        message = f"{error.filename}: {error.strerror}"
    print(f"dragoman: {escape_controls(message)}", file=sys.stderr)
    return 2


def _discard_output() -> None:
    """Send the remaining output nowhere; otherwise Python would fail on it again when it exits."""
    discard([sys.stdout.fileno()])


def _show_warnings_once() -> Callable[..., None]:
    """A function that prints warnings, each of them once, because files may be read several times."""
    shown: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if (text := str(message)) not in shown:
            shown.add(text)
            print(f"dragoman: warning: {escape_controls(text)}", file=sys.stderr)

    return show


def _listen_for_signals() -> None:
    """End the command with SIGTERM as with Ctrl-C, so that unfinished files are deleted."""
    signal.signal(signal.SIGTERM, _terminate)
    sys.unraisablehook = _repeat_lost_signal


def _stop_behind(error: BaseException) -> BaseException | None:
    """The exception of a signal of which an error is only a consequence; None if there was no signal.

    An import that is stopped raises another error, and some libraries go on as if a check had failed.
    """
    if _find_cause(error, KeyboardInterrupt) or signal.SIGINT in _lost:
        return KeyboardInterrupt()
    if _lost or signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:  # by `_terminate`
        return SystemExit(TERMINATED)
    return None


def _find_cause(error: BaseException, *kinds: type[BaseException]) -> BaseException | None:
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


@app.callback(invoke_without_command=True)
def _version(show: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if show:
        from dragoman.system.version import __version__

        print(f"dragoman {__version__}")
        raise typer.Exit
