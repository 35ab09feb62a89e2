"""The files that the server's page and the exported web page share: their look, and the names of languages.

`colors.css` has the colors of these and of all other pages.
"""

from __future__ import annotations

from pathlib import Path

SHARED_FILES = sorted(path for path in Path(__file__).parent.iterdir() if path.suffix in (".css", ".js", ".svg"))
