"""onnxruntime for web pages: a package of npm, of a fixed version and with a fixed content."""

from __future__ import annotations

import tarfile
from pathlib import Path

from dragoman.corpus.download import download
from dragoman.errors import UserError
from dragoman.system.cache import cache_directory
from dragoman.system.files import sha256

NAME, VERSION = "onnxruntime-web", "1.30.0"
ARCHIVE = f"{NAME}-{VERSION}.tgz"
URL = f"https://registry.npmjs.org/{NAME}/-/{ARCHIVE}"
SHA256 = "d2228df7e4616bc3348bf504ee888f3bec43789a273f0a63f3e68d203ce3bf71"

SCRIPT, PROGRAM = "ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"
"""The files that a page needs: a JavaScript module and the compiled runtime."""


def read_runtime() -> dict[str, bytes]:
    """The content of `SCRIPT` and `PROGRAM`; the package is downloaded once and then read from the cache.

    Raises:
        UserError: The package cannot be downloaded, or has another content.
    """
    path = cache_directory() / "npm" / ARCHIVE
    if not path.is_file():
        try:
            download(URL, path, SHA256)
        except (OSError, ValueError) as error:
            raise UserError(f"cannot download {URL} ({error})\n{_manual_steps(path)}") from None
    if (found := sha256(path)) != SHA256:
        problem = f"{path}: wrong content: expected sha256 {SHA256}, found {found}"
        raise UserError(f"{problem}\nDelete the file to download it again.\n{_manual_steps(path)}")
    with tarfile.open(path) as archive:
        return {name: _read(archive, f"package/dist/{name}") for name in (SCRIPT, PROGRAM)}


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    member = archive.extractfile(name)
    assert member is not None, "the checksum determines the content"
    return member.read()


def _manual_steps(path: Path) -> str:
    return f"Put the package there yourself, on a computer with npm: npm pack {NAME}@{VERSION}\n  {path}"
