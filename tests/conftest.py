"""Fixtures that the tests of several packages share."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import hypothesis
import pytest

if TYPE_CHECKING:
    from running_server import Running, StartServer

    from dragoman.dataset.prepare import Dataset
    from dragoman.settings import Recipe
    from dragoman.training.loop.trainer import Trainer
    from dragoman.translator import Translator

if "PYTEST_XDIST_WORKER" in os.environ:  # set before torch is imported, also by the processes that tests start
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads of several workers would wait for each other's cores

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in background jobs of a shell
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the processes that tests start and interrupt

# The tests also run on busy machines, and often, each time with other examples.
hypothesis.settings.register_profile("any speed", deadline=None, max_examples=50)
hypothesis.settings.load_profile("any speed")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of `make crash-test` and `make robustness`."""
    parser.addoption("--kills", type=int, default=20, help="how often test_crashes kills a run")
    parser.addoption("--process-kills", type=int, default=1, help="how often test_killed_processes kills a command")
    parser.addoption("--damages", type=int, default=30, help="how many damaged runs test_damaged_runs resumes")
    parser.addoption("--kill-seed", type=int, default=1, help="seed of the random times at which it kills")
    parser.addoption("--bundles", type=int, default=60, help="number of mutated bundles")
    parser.addoption("--strings", type=int, default=300, help="number of strange texts")
    parser.addoption("--recipes", type=int, default=40, help="number of mutated recipes")
    parser.addoption("--requests", type=int, default=150, help="number of requests that test_fuzz sends to a server")
    parser.addoption("--case-seed", type=int, default=1, help="seed of the mutations and the texts")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the fastest tests first under mutmut, which stops at the first failure."""
    if (statistics := Path("mutmut-stats.json")).is_file():
        seconds = json.loads(statistics.read_text("utf-8"))["duration_by_test"]
        items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))


@pytest.fixture(scope="session")
def data_directory() -> Path:
    """The local mirror of the corpora in the catalog; tests that need it are skipped if there is none."""
    directory = Path(os.environ.get("DRAGOMAN_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not directory.is_dir():
        pytest.skip(f"no corpora in {directory}; set DRAGOMAN_DATA to their directory")
    return directory.resolve()


@cache
def fixed_captions(split: str) -> tuple[tuple[str, str], ...]:
    """Captions of an earlier grammar, so that changes of the grammar do not change what tiny and random models do."""
    lines = Path(__file__).with_name("captions.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines)
    return tuple((german, english) for name, german, english in rows if name == split)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with captions in line-aligned files: 400 lines for training, 30 each for validation and test."""
    directory = tmp_path_factory.mktemp("corpus")
    for split, size in (("train", 400), ("validation", 30), ("test", 30)):
        pairs = fixed_captions(split)[:size]
        for language, texts in zip(("de", "en"), zip(*pairs, strict=True), strict=True):
            directory.joinpath(f"{split}.{language}").write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return directory


TINY: dict[str, Any] = {
    "name": "tiny",
    "data": {"source_language": "de", "target_language": "en"},
    "text": {"vocabulary_size": 400},
    "model": {"d_model": 32, "heads": 2, "d_ff": 64, "encoder_layers": 1, "decoder_layers": 1, "max_length": 130},
    "training": {
        "steps": 120,
        "batch_tokens": 512,
        "length_groups": 1,
        "learning_rate": 1e-2,
        "schedule": "cosine",
        "warmup_steps": 10,
        "validations": 8,
        "validation_sentences": 5,
        "average": 2,
        "precision": "float32",
        "device": "cpu",
        "threads": 1,
        "log_every": 1,
    },
    "decoding": {"beam_size": 3, "max_length": 40},
}
"""The tiny recipe without corpora; training it takes a few seconds."""


class RecipeMaker(Protocol):
    """Makes tiny recipes."""

    def __call__(self, *overrides: str) -> Recipe:
        """The tiny recipe with overrides, ``SECTION.KEY=VALUE`` each."""
        ...


@pytest.fixture(scope="session")
def recipe_document(corpus: Path) -> dict[str, Any]:
    """The tiny recipe as plain data, with the corpora of `corpus`."""
    corpora = {split: [f"{corpus}/{split}.{{lang}}"] for split in ("train", "validation", "test")}
    return TINY | {"data": TINY["data"] | corpora}


@pytest.fixture(scope="session")
def make_recipe(recipe_document: dict[str, Any]) -> RecipeMaker:
    """Makes tiny recipes."""
    from dragoman.recipe import build_recipe

    def make(*overrides: str) -> Recipe:
        return build_recipe(recipe_document, overrides)

    return make


@pytest.fixture(scope="session")
def finished_run(make_recipe: RecipeMaker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a finished run of the tiny recipe. Tests must not change it."""
    from dragoman.training.run.run import train

    directory = tmp_path_factory.mktemp("runs") / "tiny"
    assert train(make_recipe(), directory)
    return directory


@pytest.fixture(scope="module")
def unchecked_text() -> Iterator[None]:
    """In the rest of the module, runs do not check their corpora, which takes longer than a few steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dragoman.doctor.training_checks.MAX_PAIRS", 0)
        yield


@pytest.fixture(scope="module")
def bare_runs(unchecked_text: None) -> Iterator[None]:
    """In the rest of the module, runs neither check their corpora nor draw charts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dragoman.training.report.report.draw_charts", lambda *metrics: [])
        yield


@pytest.fixture(scope="session")
def translator(finished_run: Path) -> Translator:
    """The translator of the tiny run."""
    import dragoman

    return dragoman.load(finished_run)


def is_running(number: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


class Outcome(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    error: str


class Command(Protocol):
    """Runs the command line."""

    def __call__(self, *arguments: str | Path, stdin: bytes = b"") -> Outcome:
        """Run ``dragoman ARGUMENTS``."""
        ...


@pytest.fixture(scope="session")
def build_once() -> Callable[..., Any]:
    """Builds the parser of the command line the first time only, because that takes longer than many commands."""
    import typer

    return cache(typer.main.get_command)


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], build_once: Callable[..., Any]
) -> Command:
    """Runs the command line in this process, which is faster than in a new one."""
    from dragoman.cli import main

    monkeypatch.setattr("typer.main.get_command", build_once)
    # They would apply to all later tests of this process, which would keep the memory that any of them frees.
    monkeypatch.setattr("dragoman.system.memory.keep_freed_memory", lambda: None)
    monkeypatch.setattr("dragoman.system.memory.exempt_from_collection", lambda: None)

    def run(*arguments: str | Path, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["dragoman", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_info:
            main()
        printed = capsys.readouterr()
        return Outcome(int(exit_info.value.code or 0), printed.out, printed.err)

    return run


@pytest.fixture(scope="session")
def process() -> Command:
    """Runs the command line in a new process."""

    def run(*arguments: str | Path, stdin: bytes = b"") -> Outcome:
        completed = subprocess.run(
            [sys.executable, "-m", "dragoman", *map(str, arguments)], input=stdin, capture_output=True
        )
        return Outcome(completed.returncode, completed.stdout.decode(), completed.stderr.decode())

    return run


@pytest.fixture(scope="session")
def digests() -> Callable[[Path], dict[str, str]]:
    """Computes the SHA-256 of every file below a directory, by its relative path."""
    from dragoman.system.files import sha256

    def compute(directory: Path) -> dict[str, str]:
        return {str(path.relative_to(directory)): sha256(path) for path in directory.rglob("*") if path.is_file()}

    return compute


class SmallDisk(NamedTuple):
    """A small file system."""

    path: Path

    def resize(self, kilobytes: int) -> None:
        """Change the size of the file system."""
        subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", self.path], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A small file system in memory; tests that need it are skipped if it cannot be mounted."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "small", str(path)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a file system needs Linux and root")
    yield SmallDisk(path)
    subprocess.run(["umount", "--lazy", path], check=True)


FileLimit = Callable[[int], AbstractContextManager[None]]


@pytest.fixture
def files_limited_to() -> FileLimit:
    """A context in which no file can become larger than a number of bytes, to imitate a full disk without root.

    Keep the context short: it limits all files that this process writes, also those of pytest.
    """
    resource = pytest.importorskip("resource")

    @contextmanager
    def limited_to(limit: int) -> Iterator[None]:
        _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited_to


class TrainerMaker(Protocol):
    """Makes trainers of the tiny recipe."""

    def __call__(self, *overrides: str, run: Path | None = None) -> Trainer:
        """A trainer before its first step; by default it has a new run directory."""
        ...


@pytest.fixture(scope="session")
def prepared(make_recipe: RecipeMaker) -> Dataset:
    """The dataset of the tiny recipe, with what only `training.augmentation.fuzzy_matches` needs."""
    from dragoman.dataset.prepare import prepare

    return prepare(make_recipe("training.augmentation.fuzzy_matches=0.3"), None, None, print)


@pytest.fixture
def make_trainer(make_recipe: RecipeMaker, prepared: Dataset, tmp_path: Path) -> Iterator[TrainerMaker]:
    """Makes trainers of the tiny recipe."""
    import torch

    from dragoman.system.progress import ProgressLine
    from dragoman.training.loop.state import build_state
    from dragoman.training.loop.trainer import Trainer
    from dragoman.training.run.log import MetricsFile, RunLog

    made: list[Trainer] = []

    def make(*overrides: str, run: Path | None = None) -> Trainer:
        recipe = make_recipe(*overrides)
        run = run or tmp_path / f"trainer-{len(made)}"
        run.mkdir(exist_ok=True)
        state = build_state(recipe, prepared, torch.device("cpu"))
        log = RunLog(ProgressLine(""), MetricsFile(run / "metrics.jsonl", after_step=0))
        torch.manual_seed(recipe.training.seed)
        made.append(Trainer(recipe, run, prepared, state, log))
        return made[-1]

    yield make
    for trainer in made:
        trainer.log.metrics.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, controlled by playwright; tests that need it are skipped if it is missing, except in `.ci/run`."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        assert "REQUIRE_BROWSER" not in os.environ, "Chromium is not installed"
        pytest.skip("Chromium is not installed")
    arguments = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with playwright.sync_playwright() as browsers:
        launched = browsers.chromium.launch(executable_path=executable, args=arguments)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def web_runtime() -> None:
    """onnxruntime for web pages; tests that need it are skipped if it cannot be downloaded, except in `.ci/run`."""
    from dragoman.errors import UserError
    from dragoman.export.web.exporter import read_runtime

    try:
        read_runtime()
    except UserError:
        if "REQUIRE_NODE" in os.environ:
            raise
        pytest.skip("onnxruntime-web is neither in the cache nor can it be downloaded")


@pytest.fixture(scope="module")
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartServer]:
    """Starts servers with fake translators."""
    from running_server import Servers

    servers = Servers(tmp_path_factory.mktemp("state"))
    yield servers.start
    servers.stop()


@pytest.fixture(scope="module")
def server(start_server: StartServer) -> Running:
    """A server with default settings."""
    return start_server()
