"""Examine a model that the command line names: a bundle, or a function that creates a model."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from dragoman.bundle import Bundle
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.model.examine import examine
from dragoman.errors import UserError, nearest

_FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def examine_by_name(name: str, *, overfit: bool, device: torch.device) -> list[Finding]:
    """Examine a bundle, a run directory that contains one, or the model that ``package.module:factory`` returns.

    The factory is called without arguments and returns a mapping: ``forward`` and the keyword arguments of `examine`.
    Its module may be in the current directory.

    Args:
        name: The path, or the module and the function.
        overfit: Also train the model on a small batch.
        device: Where to examine a bundle; the model of a factory stays where it is.

    Raises:
        UserError: There is no such bundle or factory, or the factory returns something else.
    """
    if not Path(name).exists() and _FACTORY.fullmatch(name):
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
    module_name, _, function_name = name.partition(":")
    module = _import_module(name, module_name)
    factory = getattr(module, function_name, None)
    if not callable(factory):
        raise UserError(
            f"{name}: module {module_name} has no function {function_name!r}{nearest(function_name, vars(module))}"
        )
    try:
        arguments = factory()
    except Exception as error:  # the user's function may raise anything
        raise UserError(f"{name}: the function fails: {type(error).__name__}: {error}") from error
    return _check_arguments(name, arguments)


def _import_module(name: str, module_name: str) -> Any:
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(module_name)
    except Exception as error:  # the user's module may raise anything
        raise UserError(f"{name}: cannot import {module_name}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(os.getcwd())


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
