"""README.md of an export, from the template next to its exporter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def write_readme(directory: Path, template: Path, values: Mapping[str, Any]) -> None:
    """Fill in a template and write it as README.md into a directory."""
    environment = Environment(
        loader=FileSystemLoader(template.parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    text = environment.get_template(template.name).render(values)
    (directory / "README.md").write_text(text, encoding="utf-8")
