"""The table of export formats."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from dragoman.errors import UserError, nearest
from dragoman.export.protocol import Exporter

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
