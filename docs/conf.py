"""The website of `make site`, which Sphinx builds from the pages that are read on GitHub, too.

The navigation is that of docs/README.md. A link to a file that is no page, such as code, becomes a download of it.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

project = "dragoman"
root_doc = "README"
extensions = ["myst_parser"]
include_patterns = [
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/*.md"),
    *("course/*.md", "course/chapters/*.md", "benchmarks/history/*.md"),
]
myst_heading_anchors = 4
myst_disable_syntax = ["footnote_ref", "footnote_inline"]  # the tables have regular expressions, such as [^x]
nitpicky = True

html_theme = "furo"
html_title = "dragoman"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False


def navigation() -> dict[str, list[str]]:
    """The pages by kind, in the order of docs/README.md, without their suffix."""
    text = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    kinds: dict[str, list[str]] = {}
    for section in text.split("\n## ")[1:]:
        heading, _, content = section.partition("\n")
        links = re.findall(r"\]\(([^)#]+)\.md\)", content)
        kinds[heading] = [(ROOT / "docs" / link).resolve().relative_to(ROOT).as_posix() for link in links]
    return kinds


def _toctree(pages: list[str], caption: str = "") -> str:
    lines = [":hidden:", *([f":caption: {caption}"] if caption else []), "", *(f"/{page}" for page in pages)]
    return "\n\n```{toctree}\n" + "\n".join(lines) + "\n```\n"


def add_navigation(app: Any, name: str, source: list[str]) -> None:
    """Add the navigation to the first page, and the chapters to that of the course; folders have no page to link to."""
    source[0] = re.sub(r"\[([^\]]+)\]\([^):]*/\)", r"\1", source[0])
    if name == root_doc:
        kinds = navigation().items()
        source[0] += _toctree(["docs/README"]) + "".join(_toctree(pages, kind) for kind, pages in kinds)
    if name == "course/README":
        chapters = sorted(f"course/chapters/{path.stem}" for path in (ROOT / "course" / "chapters").glob("*.md"))
        source[0] += _toctree([*chapters, "course/answers"])


def write_index(app: Any, error: Exception | None) -> None:
    """The first page is also the one that opens for a directory."""
    if error is None:
        output = Path(app.outdir)
        shutil.copyfile(output / f"{root_doc}.html", output / "index.html")


def setup(app: Any) -> None:
    """Register the functions of this file."""
    app.connect("source-read", add_navigation)
    app.connect("build-finished", write_index)
