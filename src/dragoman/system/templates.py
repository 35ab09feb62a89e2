"""The Jinja environment of pages and README files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_SHARED = Path(__file__).parent / "translation_page"


@cache  # an environment keeps its compiled templates
def template_environment(directory: Path, *, html: bool = True) -> Environment:
    """The environment for the templates of a directory; a name that a template does not know is an error.

    They may include `colors.css`, the colors of all pages.

    Args:
        directory: The directory that contains the templates.
        html: Whether values are escaped for HTML.
    """
    return Environment(
        loader=FileSystemLoader([directory, _SHARED]),
        autoescape=html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not html,
    )
