"""README.md of an export, from the template next to its exporter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.system.templates import template_environment


def write_readme(directory: Path, template: Path, values: Mapping[str, Any]) -> None:
    """Fill in a template and write it as README.md into a directory."""
    text = template_environment(template.parent, html=False).get_template(template.name).render(values)
    (directory / "README.md").write_text(text, encoding="utf-8")
