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


def test_users_without_a_home_have_a_temporary_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    assert cache_directory().parent == tmp_path
