"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_directory() -> Path:
    """The local mirror of the named corpora; tests that need it are skipped where there is none."""
    directory = Path(os.environ.get("DRAGOMAN_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not directory.is_dir():
        pytest.skip(f"no corpora in {directory}; DRAGOMAN_DATA names their directory")
    return directory.resolve()
