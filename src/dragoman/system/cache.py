"""The directory for data that can be downloaded or computed again."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_directory() -> Path:
    """``dragoman`` in ``$XDG_CACHE_HOME``, by default in ``~/.cache``; a temporary one if there is no writable home."""
    if directory := os.environ.get("XDG_CACHE_HOME"):
        return Path(directory) / "dragoman"
    try:
        directory_of_user = Path.home() / ".cache" / "dragoman"
    except RuntimeError:  # as in a container that runs with the id of an unknown user
        return _temporary()
    nearest = next(
        path for path in (directory_of_user, *directory_of_user.parents) if os.path.exists(path)
    )  # the method of Path raises PermissionError
    return directory_of_user if os.access(nearest, os.W_OK) else _temporary()


def _temporary() -> Path:
    return Path(tempfile.gettempdir()) / f"dragoman-{os.getuid()}"
