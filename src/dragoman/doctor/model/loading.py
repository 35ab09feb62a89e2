"""Examine models that the command line names: a bundle, a function that creates a model, a file, or many files."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event
from typing import Any, Literal

import torch

from dragoman.bundle import Bundle
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.model.examine import examine
from dragoman.errors import UserError, nearest
from dragoman.system.files import read_json_with, temporary_directory

_FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_FILE = re.compile(r"(.+\.py)(?::([A-Za-z_]\w*))?")
DEFAULT_FUNCTION = "translator"


def examine_by_name(name: str, *, overfit: bool, device: torch.device) -> list[Finding]:
    """Examine a bundle, a run directory that contains one, or the model that ``package.module:factory`` returns.

    The factory is called without arguments and returns a mapping: ``forward`` and the keyword arguments of `examine`.
    Its module may be in the current directory, or a file: ``FILE.py:factory``, or ``FILE.py`` for `DEFAULT_FUNCTION`
    or, if there is none, for ``Transformer(source_size, target_size)`` with the constants PAD, BOS and EOS.

    Args:
        name: The path, or the module or file and the function.
        overfit: Also train the model on a small batch.
        device: Where to examine a bundle; the model of a factory stays where it is.

    Raises:
        UserError: There is no such bundle or factory, or the factory returns something else.
    """
    is_file = _FILE.fullmatch(name) and not Path(name).is_dir()
    if is_file or (not Path(name).exists() and _FACTORY.fullmatch(name)):
        return examine(**(_call_factory(name) | {"overfit": overfit}))
    return _examine_bundle(Bundle.load(Path(name)), overfit, device)


def _examine_bundle(bundle: Bundle, overfit: bool, device: torch.device) -> list[Finding]:
    source, target = bundle.source.vocabulary, bundle.target.vocabulary
    assert (source.pad, source.eos) == (target.pad, target.eos), "special tokens have the same ids on both sides"
    model = bundle.model.to(device)
    return examine(
        model,
        vocabulary_size=len(target),
        source_vocabulary_size=len(source),
        pad_id=target.pad,
        bos_id=target.bos,
        eos_id=target.eos,
        parameters=model.named_parameters(),
        max_length=bundle.recipe.model.max_length,
        fresh=False,
        overfit=overfit,
    )


def _call_factory(name: str) -> dict[str, Any]:
    if path := _FILE.fullmatch(name):
        module_name, function_name = path[1], path[2] or DEFAULT_FUNCTION
        module = _import_file(Path(module_name))
    else:
        module_name, _, function_name = name.partition(":")
        module = _import_module(name, module_name)
    factory = getattr(module, function_name, None)
    if factory is None and path and not path[2] and hasattr(module, "Transformer"):
        factory = partial(_from_class, module)
    if not callable(factory):
        raise UserError(
            f"{name}: module {module_name} has no function {function_name!r}{nearest(function_name, vars(module))}"
        )
    try:
        arguments = factory()
    except Exception as error:  # the user's function may raise anything
        raise UserError(f"{name}: the function fails: {type(error).__name__}: {error}") from error
    return _check_arguments(name, arguments)


SIZE = 40
"""The vocabulary of models that are made from a class."""


def _from_class(module: Any) -> dict[str, Any]:
    """The arguments of `examine` for a file like that of the course: a class `Transformer`, and PAD, BOS and EOS."""
    model = module.Transformer(SIZE, SIZE).eval()
    return {"forward": model, "vocabulary_size": SIZE, "pad_id": module.PAD, "bos_id": module.BOS, "eos_id": module.EOS}


def _import_module(name: str, module_name: str) -> Any:
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(module_name)
    except Exception as error:  # the user's module may raise anything
        raise UserError(f"{name}: cannot import {module_name}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(os.getcwd())


def _import_file(path: Path) -> Any:
    """Run a file as a module; it may import other files of its directory."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    sys.path.insert(0, str(path.resolve().parent))
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # the user's file may raise anything
        raise UserError(f"{path}: cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _check_arguments(name: str, arguments: Any) -> dict[str, Any]:
    """The arguments of `examine` that a factory returned, all problems reported together."""
    if not isinstance(arguments, Mapping):
        raise UserError(
            f"{name}: the function must return a mapping with forward, vocabulary_size and so on, not "
            f"{type(arguments).__name__}"
        )
    known = inspect.signature(examine).parameters
    required = [key for key, parameter in known.items() if parameter.default is parameter.empty]
    problems = [f"unknown key {key!r}{nearest(str(key), known)}" for key in arguments if key not in known]
    problems += [f"{key!r} is missing" for key in required if key not in arguments]
    if problems:
        raise UserError(
            "\n  ".join([f"{name}: the function returns a mapping that examine does not accept", *problems])
        )
    return dict(arguments)


@dataclass(frozen=True)
class Grade:
    """The result of one file of a directory.

    Attributes:
        name: The path of the file in the directory.
        result: Whether it has no errors, has errors, or could not be examined.
        summary: The codes of the findings, or why it could not be examined.
        findings: The findings, as in JSON.
    """

    name: str
    result: Literal["right", "wrong", "failed"]
    summary: str
    findings: list[dict[str, Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def is_directory_of_models(name: str) -> bool:
    """Whether a directory contains Python files, and is no run or bundle."""
    path = Path(name)
    return bool(name) and path.is_dir() and not any(path.rglob("*.safetensors")) and bool(_files(path))


def _files(directory: Path) -> list[Path]:
    """The Python files of a directory, without those that only help others; their names start with _ or test."""
    found = (path for path in directory.rglob("*.py") if not path.name.startswith(("_", "test", ".")))
    return sorted(path for path in found if not {"__pycache__", ".venv", "site-packages"} & set(path.parts))


def grade_directory(directory: Path, seconds: float, overfit: bool, device: str) -> Generator[Grade, None, None]:
    """Examine each Python file of a directory in a process, as many at once as there are processors.

    Args:
        directory: The directory, in whose files a function `DEFAULT_FUNCTION` returns the arguments of `examine`.
        seconds: The longest time for a file.
        overfit: Also train each model on a small batch.
        device: The device, as on the command line.
    """
    files = _files(directory)
    options = [*(["--overfit"] if overfit else []), "--device", device]
    stopped = Event()
    with ThreadPoolExecutor(max_workers=min(len(files), os.cpu_count() or 1)) as pool:
        try:
            yield from pool.map(lambda path: _grade(directory, path, seconds, options, stopped), files)
        finally:
            stopped.set()  # at Ctrl-C, so that the pool does not wait for running files


def _grade(directory: Path, path: Path, seconds: float, options: list[str], stopped: Event) -> Grade:
    name = path.relative_to(directory).as_posix()
    # A separate file, because what a model prints is no finding. For the messages, a pipe would wait for processes
    # that a model starts.
    with temporary_directory() as place, TemporaryFile() as messages:
        findings_file = place / "findings.json"
        command = [sys.executable, "-m", "dragoman", "doctor", "model", str(path.resolve())]
        process = subprocess.Popen(
            [*command, "--findings-file", str(findings_file), *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=messages,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        deadline = time.monotonic() + seconds
        try:
            while (code := process.poll()) is None and time.monotonic() < deadline:
                if stopped.wait(0.05):
                    break
        finally:
            _end(process)
        if code is None:
            return Grade(name, "failed", f"not finished after {seconds:g} s")
        try:
            findings = read_json_with(findings_file, {"findings"})["findings"]
        except UserError:
            findings = None
        messages.seek(0)
        lines = messages.read().decode(errors="replace").strip().splitlines()
    if findings is None or code not in (0, 1):
        lines = lines or [f"exit code {code}"]
        messages_of_ours = [line for line in lines if re.match("dragoman: (?!warning: )", line)]
        reason = (messages_of_ours or lines[-1:])[0]
        return Grade(name, "failed", reason.removeprefix("dragoman: "))
    codes = [
        each["code"] if each["severity"] == "error" else f"{each['code']} ({each['severity']})" for each in findings
    ]
    is_wrong = any(each["severity"] == "error" for each in findings)
    return Grade(name, "wrong" if is_wrong else "right", ", ".join(dict.fromkeys(codes)), findings)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
