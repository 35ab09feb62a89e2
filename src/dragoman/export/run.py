"""Export from end to end: refuse, write, check, and only then give the directory its name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from dragoman.bundle import Bundle
from dragoman.errors import UserError, nearest
from dragoman.export import parity
from dragoman.export.parity import Exported, Parity, Sample
from dragoman.system.files import atomic_directory, write_json

FORMATS = ("ctranslate2", "huggingface", "onnx", "argos")
"""Formats by name; the module of that name in this room is a `Format`."""

PARITY_FILE = "parity.json"


class Format(Protocol):
    """What a module that writes a format offers."""

    COMPUTE_TYPES: tuple[str, ...]

    def refusals(self, bundle: Bundle) -> list[str]:
        """What the format cannot express of this bundle, by the setting that causes it."""
        ...

    def write(self, bundle: Bundle, directory: Path, compute_type: str) -> None:
        """Write the format's files into a directory that is there."""
        ...

    def reopen(self, bundle: Bundle, directory: Path, compute_type: str) -> Exported:
        """What was written, opened by the program that it is for."""
        ...


def export(
    bundle: Bundle, name: str, directory: Path, compute_type: str = "float32", sample: Sample | None = None
) -> Parity:
    """Write a bundle in another format, and check that it is still the same translator.

    Args:
        bundle: What to export.
        name: One of FORMATS.
        directory: Where to; made, or replaced if it is an earlier export.
        compute_type: 'float32', or 'int8' where the format has it: a quarter of the size, and a little less exact.
        sample: Sentences to compare translations of; without any, those of random tokens.

    Raises:
        UserError: The format cannot express the bundle (all reasons together), the export is not the same translator,
            or the directory holds something else. Then nothing is written.
    """
    form = load_format(name)
    if reasons := refuse(form, bundle, compute_type):
        raise UserError(f"{name} cannot express this bundle:\n" + "\n".join(f"  {reason}" for reason in reasons))
    if directory.exists() and not (directory / PARITY_FILE).is_file() and any(directory.iterdir()):
        raise UserError(f"{directory}: is there already, and is no earlier export")
    sample = sample or Sample()
    if compute_type != "float32":  # what must be exact is checked before it is made smaller
        with TemporaryDirectory() as temporary:
            form.write(bundle, Path(temporary), "float32")
            parity.require(parity.compare(name, bundle, form.reopen(bundle, Path(temporary), "float32"), Sample()))
    with atomic_directory(directory) as unfinished:
        form.write(bundle, unfinished, compute_type)
        exported = form.reopen(bundle, unfinished, compute_type)
        measured = parity.compare(name, bundle, exported, sample, compute_type)
        parity.require(measured)
        write_json(unfinished / PARITY_FILE, measured.to_dict())
    return measured


def refuse(form: Format, bundle: Bundle, compute_type: str) -> list[str]:
    """Every reason not to export."""
    reasons = [] if compute_type in form.COMPUTE_TYPES else [f"--compute-type {compute_type}: it has float32 only"]
    return reasons + form.refusals(bundle)


def load_format(name: str) -> Format:
    """The module that writes a format.

    Raises:
        UserError: There is none of this name, or what it needs is not installed.
    """
    if name not in FORMATS:
        raise UserError(f"--to {name}: no such format; there are {', '.join(FORMATS)}{nearest(name, FORMATS)}")
    try:
        return import_module(f"dragoman.export.{name}.exporter")
    except ImportError as error:
        raise UserError(f"export to {name} needs {error.name}: pip install dragoman[{name}]") from None
