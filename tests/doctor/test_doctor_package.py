"""The public names of the package, and that importing it is cheap."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dragoman.doctor


def test_dir_lists_the_public_names() -> None:
    assert dir(dragoman.doctor) == dragoman.doctor.__all__
    assert all(getattr(dragoman.doctor, name) for name in dir(dragoman.doctor))
    with pytest.raises(AttributeError, match="no attribute 'examin'"):
        _ = dragoman.doctor.examin


@pytest.mark.parametrize(
    ("module", "unused"), [("dragoman.doctor", {"torch", "numpy"}), ("dragoman.doctor.data.check", {"torch"})]
)
def test_importing_loads_nothing_heavy(module: str, unused: set[str]) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert module in loaded
    assert not unused & set(loaded)
