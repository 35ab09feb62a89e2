"""What to examine, by its name on the command line: a bundle, or a function that makes a model."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.model.examine import examine
from dragoman.errors import UserError, nearest

_FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def examine_named(name: str, *, overfit: bool) -> list[Finding]:
    """Examine a bundle, a run directory that holds one, or what ``package.module:factory`` returns.

    The factory is called without arguments and returns a mapping: ``forward`` and the keyword arguments of
    `examine`. Its module is looked for in the current directory too.

    Args:
        name: The path, or the module and the function.
        overfit: Also let the model learn a small batch by heart.

    Raises:
        UserError: There is no such bundle or factory, or it returns something else.
    """
    if not Path(name).exists() and _FACTORY.fullmatch(name):
        return examine(**(_call(name) | {"overfit": overfit}))
    return examine(**_of_bundle(Bundle.load(Path(name))), overfit=overfit)


def _of_bundle(bundle: Bundle) -> dict[str, Any]:
    source, target = bundle.source.vocabulary, bundle.target.vocabulary
    assert (source.pad, source.eos) == (target.pad, target.eos), "tokenizers give the specials the same ids"
    return {
        "forward": bundle.model,
        "vocabulary_size": len(target),
        "source_vocabulary_size": len(source),
        "pad_id": target.pad,
        "bos_id": target.bos,
        "eos_id": target.eos,
        "parameters": bundle.model.named_parameters(),
        "max_length": bundle.recipe.model.max_length,
        "fresh": False,
    }


def _call(name: str) -> dict[str, Any]:
    module_name, _, function_name = name.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever somebody's module does
        raise UserError(f"{name}: {module_name} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(os.getcwd())
    factory = getattr(module, function_name, None)
    if not callable(factory):
        raise UserError(
            f"{name}: {module_name} has no function {function_name!r}{nearest(function_name, vars(module))}"
        )
    try:
        made = factory()
    except Exception as error:
        raise UserError(f"{name}: the factory fails: {type(error).__name__}: {error}") from error
    return _checked(name, made)


def _checked(name: str, made: Any) -> dict[str, Any]:
    if not isinstance(made, Mapping):
        raise UserError(f"{name}: must return a mapping with forward, vocabulary_size, …, not {type(made).__name__}")
    known = inspect.signature(examine).parameters
    problems = [f"unknown key {key!r}{nearest(str(key), known)}" for key in made if key not in known]
    problems += [f"{key!r} is missing" for key, one in known.items() if one.default is one.empty and key not in made]
    if not callable(made.get("forward", examine)):
        problems.append("'forward' must be a model, or a function of source and target ids")
    sizes = ("vocabulary_size", "source_vocabulary_size", "pad_id", "bos_id", "eos_id", "max_length")
    problems += [f"{key!r} must be a whole number" for key in sizes if not isinstance(made.get(key, 0), int | None)]
    if problems:
        raise UserError("\n  ".join([f"{name}: what it returns does not fit", *problems]))
    return dict(made)
