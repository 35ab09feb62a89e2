"""Where the cache directory is."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.system.cache import cache_directory


def test_the_environment_decides_and_the_home_directory_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cache_directory() == tmp_path / "cache" / "dragoman"
    for unset in ("", None):
        monkeypatch.setenv("XDG_CACHE_HOME", unset) if unset is not None else monkeypatch.delenv("XDG_CACHE_HOME")
        assert cache_directory() == tmp_path / "home" / ".cache" / "dragoman"
