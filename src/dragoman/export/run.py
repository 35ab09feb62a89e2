"""Export a bundle: check that the format supports it, write it, and check that the result computes the same."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from dragoman.bundle import Bundle, each_direction, require_direction
from dragoman.errors import UserError, nearest
from dragoman.export.parity import Parity, Sample, measure_parity
from dragoman.export.protocol import Exporter, without_masking
from dragoman.system.files import atomic_directory, follow_links, is_unused, read_json, remove_leftovers, write_json
from dragoman.system.progress import Log, no_log

PARITY_FILE = "parity.json"

LITTER = (".DS_Store", "Thumbs.db", "desktop.ini")
"""Files that file managers create in every directory."""


def export(
    bundle: Bundle,
    name: str,
    directory: Path,
    compute_type: str | None = None,
    sample: Sample | None = None,
    log: Log = no_log,
) -> Parity:
    """Write a bundle in another format, and check that it still computes the same.

    Args:
        bundle: What to export: all directions of a model with several, unless it is in one of them.
        name: One of `FORMATS`.
        directory: Where to write; it is created, or replaced if it contains an earlier export.
        compute_type: 'float32', or 'int8' if the format has it: a quarter of the size, slightly less exact. By default
            the first of the format's `COMPUTE_TYPES`.
        sample: Sentences whose translations are compared; without it, sentences of random tokens.
        log: Receives messages before steps that can take a minute.

    Returns:
        The differences between the export and the bundle.

    Raises:
        UserError: The format does not support the bundle (all reasons are listed), the parity check failed, or the
            directory contains something else. Then nothing is written.
    """
    exporter = load_exporter(name)
    views = each_direction(bundle)
    if not views:
        require_direction(bundle)
    if sample and sample.languages:
        views.sort(key=lambda view: view.recipe.data.languages != sample.languages)
        if views[0].recipe.data.languages != sample.languages:
            raise UserError(
                f"{bundle.recipe.name} was not trained from {' to '.join(sample.languages)}; choose other files"
            )
    first, *others = map(without_masking, views)
    if name != "argos":  # which has a model for each direction; elsewhere, only the token of a language differs
        others = []
    compute_type = compute_type or exporter.COMPUTE_TYPES[0]
    _require_support(name, exporter, bundle, compute_type)
    _refuse_other_files(directory)
    place = follow_links(directory)
    remove_leftovers(place.parent, place.name, locked=False)
    with atomic_directory(directory) as unfinished:
        if compute_type != "float32":  # quantization hides small errors, so the float32 model is checked first
            log(f"checking {name} in float32 …")
            with TemporaryDirectory(dir=unfinished) as temporary:
                exporter.write(bundle, Path(temporary), "float32")
                exact = exporter.load(first, Path(temporary), "float32")
                checked = measure_parity(name, first, exact, Sample())
            checked.require()
            log(str(checked))
        log(f"writing the model for {name} …")
        exporter.write(bundle, unfinished, compute_type)
        direction = f" from {' to '.join(first.recipe.data.languages)}" if bundle.is_undecided else ""
        log(f"comparing it with the bundle{direction} …")
        exported = exporter.load(first, unfinished, compute_type)
        measured = measure_parity(name, first, exported, sample or Sample(), compute_type)
        parity = replace(measured, masking=bundle.source.masking is not None)
        parity.require()
        for other in others:
            of_other = exporter.load(other, unfinished, compute_type)
            measure_parity(name, other, of_other, Sample(), compute_type).require()
        write_json(unfinished / PARITY_FILE, {**parity.to_dict(), "files": _list_files(unfinished)})
        _refuse_other_files(directory)  # somebody may have put files there in the meantime
    return parity


def _refuse_other_files(directory: Path) -> None:
    """Check that a directory can be replaced: it is missing or empty, or contains an earlier export and nothing else.

    Exports of older versions do not list their files.
    """
    if os.path.exists(directory) and not os.path.isdir(directory):
        raise UserError(f"{directory}: is a file, not a directory")
    if is_unused(directory):
        return
    if not (directory / PARITY_FILE).is_file():
        raise UserError(f"{directory}: already exists and is not an earlier export; choose another directory")
    listed = read_json(directory / PARITY_FILE).get("files")
    if not isinstance(listed, list):
        return
    own = {PARITY_FILE, *map(str, listed)}
    others = sorted(file for file in _list_files(directory) if file not in own and Path(file).name not in LITTER)
    if others:
        shown = ", ".join(others[:3]) + " …" * (len(others) > 3)
        raise UserError(
            f"{directory}: contains other files than the earlier export, which would be deleted: {shown}; choose "
            "another directory"
        )


def _list_files(directory: Path) -> list[str]:
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if not path.is_dir())


def _require_support(name: str, exporter: Exporter, bundle: Bundle, compute_type: str) -> None:
    reasons = exporter.unsupported(bundle)
    if compute_type not in exporter.COMPUTE_TYPES:
        allowed = " or ".join(exporter.COMPUTE_TYPES)
        reasons = [f"--compute-type {compute_type}: must be {allowed}", *reasons]
    if reasons:
        raise UserError("\n  ".join([f"{name} does not support this bundle:", *reasons]))


FORMATS = {
    "ctranslate2": "dragoman.export.ctranslate2.exporter",
    "huggingface": "dragoman.export.huggingface.exporter",
    "onnx": "dragoman.export.onnx.exporter",
    "web": "dragoman.export.web.exporter",
    "argos": "dragoman.export.argos.exporter",
}
"""The formats of `dragoman export --to`, each with the module that is its `Exporter`. To add one, write a module and
add a line."""


def load_exporter(name: str) -> Exporter:
    """The exporter of a format.

    Raises:
        UserError: There is no such format, or a package that it needs is not installed.
    """
    if name not in FORMATS:
        raise UserError(f"--to {name}: no such format; there are {', '.join(FORMATS)}{nearest(name, FORMATS)}")
    try:
        return cast(Exporter, import_module(FORMATS[name]))
    except ImportError as error:
        if error.name is None or error.name.startswith("dragoman"):
            raise
        raise UserError(f"export to {name} needs {error.name}: pip install '.[{name}]'") from None
