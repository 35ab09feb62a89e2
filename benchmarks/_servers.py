"""Servers that benchmarks start: ours, and LibreTranslate with the same weights."""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from dragoman.bundle import Bundle
from dragoman.corpus.corpus import read_corpus

UNLIMITED = "serving.requests_per_minute=100000000"
BEAM = "decoding.beam_size=4"
TUNED = {"ARGOS_INTRA_THREADS": "1", "ARGOS_INTER_THREADS": "2"}


def server_parser(description: str | None) -> argparse.ArgumentParser:
    """The arguments that benchmarks of the server have in common."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--corpus", default="multi30k:val")
    parser.add_argument("--compute-type", default="int8", choices=["int8", "float32"])
    parser.add_argument("--engine", default="ctranslate2")
    parser.add_argument("--port", type=int, default=5071, help="and the next ones, for other servers")
    return parser


def read_sentences(options: argparse.Namespace) -> tuple[list[str], tuple[str, str]]:
    """The sources of the corpus, and the languages of the bundle."""
    data = Bundle.load(options.bundle).recipe.data
    pairs = read_corpus(options.corpus, source_language=data.source_language, target_language=data.target_language)
    return [pair.source for pair in pairs], (data.source_language, data.target_language)


@dataclass(frozen=True)
class Server:
    """A running server."""

    url: str
    process: subprocess.Popen[bytes]

    @property
    def cpu_seconds(self) -> float:
        """Processor time that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> int:
        """Resident bytes."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def our_server(bundle: Path, engine: str, compute_type: str, port: int) -> Iterator[Server]:
    """`dragoman serve`, without a limit of requests."""
    settings = ["--set", UNLIMITED, "--set", BEAM]
    choice = ["--engine", engine, "--compute-type", compute_type, "--port", str(port)]
    command = [sys.executable, "-m", "dragoman", "serve", str(bundle), *choice, *settings]
    with _running(command, port, dict(os.environ)) as server:
        yield server


def prepare_libretranslate(bundle: Path, languages: tuple[str, str], directory: Path) -> None:
    """Fill the home directory of LibreTranslate with what it needs to start without a network.

    It wants a second package in the other direction, which is the same one with another name, and a splitter into
    sentences for each language, which our packages contain.
    """
    exported = directory / "export"
    command = [sys.executable, "-m", "dragoman", "export", str(bundle), str(exported), "--to", "argos"]
    subprocess.run([*command, "--compute-type", "int8"], check=True, stdout=subprocess.DEVNULL)
    (package,) = exported.glob("*.argosmodel")
    installed = directory / "data/argos-translate/packages"
    with zipfile.ZipFile(package) as archive:
        archive.extractall(installed)
    (forth,) = installed.iterdir()
    back = shutil.copytree(forth, installed / "back")
    metadata = json.loads((back / "metadata.json").read_text())
    for side, language in zip(("from", "to"), reversed(languages), strict=True):
        metadata |= {f"{side}_code": language, f"{side}_name": language}
    (back / "metadata.json").write_text(json.dumps(metadata))
    (splitters := directory / "data/argos-translate/minisbd").mkdir()
    for language in languages:
        shutil.copy(forth / "minisbd/rules.onnx", splitters / f"{language}.onnx")


@contextlib.contextmanager
def libretranslate(python: Path, directory: Path, tuned: bool, port: int) -> Iterator[Server]:
    """LibreTranslate of an environment of Python, with a home directory that is prepared."""
    places = SimpleNamespace(data=directory / "data", other=directory / ("tuned" if tuned else "defaults"))
    places.other.mkdir()
    ours = ("OMP_", "ARGOS_", "LT_", "CT2_")  # settings that would change its speed
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment |= {"HOME": str(places.other), "XDG_DATA_HOME": str(places.data), **(TUNED if tuned else {})}
    environment |= {name: str(places.other) for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME")}
    threads = ["--threads", "16"] if tuned else []
    command = [str(python / "bin/libretranslate"), "--host", "127.0.0.1", "--port", str(port), "--disable-web-ui"]
    with _running([*command, *threads], port, environment, places.other) as server:
        yield server


@contextlib.contextmanager
def _running(
    command: list[str], port: int, environment: dict[str, str], directory: Path | None = None
) -> Iterator[Server]:
    with socket.socket() as free:  # otherwise an old server would be measured
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", port))
    process = subprocess.Popen(
        command, env=environment, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while True:
            with contextlib.suppress(OSError):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                connection.request("GET", "/health")
                connection.getresponse()
                break
            if process.poll() is not None:
                raise SystemExit(f"{command[0]} ended with status {process.returncode}")
            time.sleep(0.1)
        yield Server(f"http://127.0.0.1:{port}", process)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
