"""The directory for data that can be downloaded or computed again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """``dragoman`` in ``$XDG_CACHE_HOME``, by default in ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dragoman"
