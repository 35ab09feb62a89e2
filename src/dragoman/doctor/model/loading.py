"""Examine models that the command line names: a bundle, a function that creates a model, or a file."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.model.examine import examine
from dragoman.doctor.model.grading import DEFAULT_FUNCTION, FILE
from dragoman.errors import UserError, nearest, shown_name
from dragoman.system.device import choose_device
from dragoman.system.user_code import blamed, load_file


def examine_bundle(path: Path, *, overfit: bool, device: str) -> list[Finding]:
    """Examine a bundle, or a run directory that contains one.

    Args:
        path: The directory.
        overfit: Also train the model on a small batch.
        device: Where to examine it.

    Raises:
        UserError: There is no such bundle.
    """
    bundle = Bundle.load(path)
    source, target = bundle.source.vocabulary, bundle.target.vocabulary
    assert (source.pad, source.eos) == (target.pad, target.eos), "special tokens have the same ids on both sides"
    model = bundle.model.to(choose_device(device))
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


def examine_code(name: str, overfit: bool, device: str) -> Iterator[dict[str, Any]]:
    """Examine the model of a user's module or file; yields the findings as in JSON.

    This loads the code of the user: `grading` calls it in a separate process.

    Args:
        name: ``package.module:function``, whose module may be in the current directory; ``FILE.py:function``; or
            ``FILE.py`` for the function `DEFAULT_FUNCTION` or, if there is none, for
            ``Transformer(source_size, target_size)`` with the constants PAD, BOS and EOS. The function is called
            without arguments and returns a mapping: ``forward`` and the keyword arguments of `examine`.
        overfit: Also train the model on a small batch.
        device: A device that must exist; the model stays where the function has put it.

    Raises:
        UserError: There is no such device or function, or it returns something else, or the model cannot be examined.
    """
    choose_device(device)
    for finding in examine(**(_call_factory(name) | {"overfit": overfit})):
        yield finding.to_dict()


WANTED = (
    'def translator(): return {"forward": model.eval(), "vocabulary_size": …, "pad_id": …, "bos_id": …, "eos_id": …}'
)


def _call_factory(name: str) -> dict[str, Any]:
    shown = shown_name(name)
    if path := FILE.fullmatch(name):
        module, function_name = load_file(Path(path[1])), path[2] or DEFAULT_FUNCTION
    else:
        module_name, _, function_name = name.partition(":")
        sys.path.insert(0, os.getcwd())
        with blamed(f"{shown}: cannot import {module_name}"):
            module = importlib.import_module(module_name)
    factory = getattr(module, function_name, None)
    if factory is None and path and not path[2]:
        return _arguments_of_class(shown, module)
    if factory is None:
        raise UserError(f"{shown}: the module has no function {function_name!r}{nearest(function_name, vars(module))}")
    if not callable(factory):
        raise UserError(f"{shown}: {function_name} must be a function, not {type(factory).__name__}: {WANTED}")
    with blamed(f"{shown}: the function fails"):
        arguments = factory()
    return _check_arguments(shown, arguments)


SIZE = 40
"""The vocabulary of models that are made from a class."""


def _arguments_of_class(name: str, module: Any) -> dict[str, Any]:
    """The arguments of `examine` for a file like that of the course: a class `Transformer`, and PAD, BOS and EOS."""
    missing = [wanted for wanted in ("Transformer", "PAD", "BOS", "EOS") if not hasattr(module, wanted)]
    if missing:
        rest = f"; missing: {', '.join(missing)}" if "Transformer" not in missing else ""
        raise UserError(
            f"{name}: has no function {DEFAULT_FUNCTION!r}; write one: {WANTED}; or a class "
            f"Transformer(source_size, target_size), with the constants PAD, BOS and EOS{rest}"
        )
    remedy = f"; if your class takes other arguments, write a function: {WANTED}"
    with blamed(f"{name}: Transformer({SIZE}, {SIZE}) fails", remedy):
        model = module.Transformer(SIZE, SIZE).eval()
    return {
        "forward": model,
        "vocabulary_size": SIZE,
        "pad_id": module.PAD,
        "bos_id": module.BOS,
        "eos_id": module.EOS,
    }


def _check_arguments(name: str, arguments: Any) -> dict[str, Any]:
    """The arguments of `examine` that a factory returned, all problems reported together."""
    if not isinstance(arguments, Mapping):
        raise UserError(
            f"{name}: the function must return a mapping with forward, vocabulary_size and so on, not "
            f"{type(arguments).__name__}: {WANTED}"
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
