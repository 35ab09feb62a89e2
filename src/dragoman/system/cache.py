"""The directory for data that can be downloaded or computed again."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_directory() -> Path:
    """``dragoman`` in ``$XDG_CACHE_HOME``, by default in ``~/.cache``; for users without a home, a temporary one."""
    if directory := os.environ.get("XDG_CACHE_HOME"):
        return Path(directory) / "dragoman"
    try:
        return Path.home() / ".cache" / "dragoman"
    except RuntimeError:  # as in a container that runs with the id of an unknown user
        return Path(tempfile.gettempdir()) / f"dragoman-{os.getuid()}"
