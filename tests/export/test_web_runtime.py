"""The package of npm: from the cache without a network, and clear messages if it is missing or wrong."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from dragoman.errors import UserError
from dragoman.export.web import exporter

FILES = {exporter.SCRIPT: b"script", exporter.PROGRAM: b"program"}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the package belongs, in an empty cache without a network; its checksum is that of `archive`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(exporter, "SHA256", hashlib.sha256(archive()).hexdigest())

    def fail(*_: object) -> None:
        raise ConnectionError("no network")

    monkeypatch.setattr(exporter, "download", fail)
    path = tmp_path / "dragoman" / "npm" / exporter.ARCHIVE
    path.parent.mkdir(parents=True)
    return path


def archive() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as written:
        for name, data in FILES.items():
            member = tarfile.TarInfo(f"package/dist/{name}")
            member.size = len(data)
            written.addfile(member, io.BytesIO(data))
    return content.getvalue()


def test_the_files_are_read_from_the_cache(package: Path) -> None:
    package.write_bytes(archive())
    assert exporter.read_runtime() == FILES


def test_without_a_network_the_message_states_what_to_do(package: Path) -> None:
    with pytest.raises(UserError) as caught:
        exporter.read_runtime()
    assert str(caught.value).startswith(f"cannot download {exporter.URL} (no network)")
    assert f"npm pack {exporter.NAME}@{exporter.VERSION}" in str(caught.value)
    assert str(package) in str(caught.value)


def test_another_content_is_refused(package: Path) -> None:
    package.write_bytes(archive() + b"\0")
    with pytest.raises(UserError, match=r"wrong content: expected sha256 .*\nDelete the file to download it again"):
        exporter.read_runtime()
