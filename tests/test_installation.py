"""The Containerfile and the README, followed in a fresh environment.

The steps of the Containerfile run here, without a container: they build the wheel and install it in an environment that
contains nothing else. Where torch is a build for GPUs, of some gigabytes, this environment has links to the packages
that the wheel requires. The README's commands and the service then run in this environment, outside the repository.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PathDistribution, distribution
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import torch
from packaging.requirements import Requirement

from dragoman.corpus.synthetic.captions import captions

ROOT = Path(__file__).parents[1]
BASE_BYTES = 130e6
"""Size of the base image, python:3.13-slim, unpacked."""
SMALL = (
    "training.steps=40 training.validations=1 training.warmup_steps=10 training.validation_sentences=20 "
    "text.vocabulary_size=600 model.d_model=32 model.heads=2 model.d_ff=64 model.encoder_layers=1 "
    "model.decoder_layers=1 decoding.max_length=20"
)
NOT_ROOT = (
    "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps +dac_read_search --ambient-caps +dac_read_search"
)
"""Runs a command as another user, who may read everything: the interpreter can be in the directory of root."""


class Instruction(NamedTuple):
    """One instruction of the Containerfile, such as RUN, and what follows it."""

    name: str
    text: str


def stages() -> list[list[Instruction]]:
    """The instructions of the Containerfile by stage."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    lines = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    found: list[list[Instruction]] = []
    for line in filter(str.strip, lines):
        name, _, rest = line.strip().partition(" ")
        if name == "FROM":
            found.append([])
        found[-1].append(Instruction(name, rest.strip()))
    return found


def texts(stage: list[Instruction], name: str) -> list[str]:
    return [instruction.text for instruction in stage if instruction.name == name]


def test_the_container_is_not_root_and_has_only_what_the_first_stage_made() -> None:
    build, service = stages()
    assert {instruction.name for instruction in build} == {"FROM", "ARG", "WORKDIR", "COPY", "RUN"}
    names = [instruction.name for instruction in service]
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert texts(service, "USER") == ["dragoman"]
    assert texts(service, "COPY") == ["--from=build /opt/dragoman /opt/dragoman"]
    (before, _, _), after = texts(build, "FROM")[0].split(), texts(service, "FROM")[0]
    assert after == f"{before}-slim", "the same interpreter, without compilers"


def copied_files() -> list[str]:
    """The files that the build gets: those of the repository that .dockerignore does not leave out."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    kept = [line[1:] for line in lines if line.startswith("!")]
    assert "*" in lines
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.splitlines() if name.split("/")[0] in kept]


class Installed(NamedTuple):
    """A directory in which the first stage was run; `directory` stands for the root of the container."""

    directory: Path

    def localize(self, text: str) -> str:
        """A command of the Containerfile with the paths of this directory."""
        return re.sub(r"(?<![\w.])/(opt|wheels|state|model)\b", rf"{self.directory}/\1", text)

    @property
    def environment(self) -> dict[str, str]:
        """Variables of a shell in which the environment is active, and the repository is not on the path."""
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        path = f"{self.directory}/opt/dragoman/bin{os.pathsep}{os.environ['PATH']}"
        return kept | {"PATH": path, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": f"{self.directory}/cache"}

    def run(self, command: str, directory: Path, **variables: str) -> str:
        """Standard output of a shell command that must succeed."""
        completed = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=directory,
            env=self.environment | variables,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert completed.returncode == 0, f"{command}\n{completed.stdout[-2000:]}\n{completed.stderr[-2000:]}"
        return completed.stdout


IS_SMALL = torch.version.cuda is None and torch.version.hip is None and shutil.which("strip") is not None
"""Whether all steps can run: pip finds the same torch again, without packages for GPUs."""


@pytest.fixture(scope="module")
def installed() -> Iterator[Installed]:
    """The environment that the first stage of the Containerfile makes; another user may read it."""
    directory = Path(tempfile.mkdtemp(prefix="dragoman-installed-"))
    directory.chmod(0o755)
    environment = Installed(directory)
    source = directory / "source"
    for name in copied_files():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name, follow_symlinks=False)
    make_wheel, make_environment, *install = texts(stages()[0], "RUN")
    if not IS_SMALL:
        install = ["python3 -m pip --python /opt/dragoman install --no-deps /wheels/*.whl"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in (make_wheel, make_environment, *install):
        environment.run(environment.localize(command), source, PATH=path, TORCH_INDEX="https://pypi.org/simple")
    if not IS_SMALL:
        link_required(next(directory.glob("opt/dragoman/lib/python3*/site-packages")))
    shutil.rmtree(source)
    yield environment
    shutil.rmtree(directory)


def link_required(packages: Path) -> None:
    """Link the packages that the installed wheel requires for serving to those of this environment."""
    wheel = PathDistribution(next(packages.glob("dragoman-*.dist-info")))
    pending = [(text, {"", "serving"}) for text in wheel.requires or []]
    seen = set()
    while pending:
        text, extras = pending.pop()
        requirement = Requirement(text)
        is_needed = requirement.marker is None or any(requirement.marker.evaluate({"extra": each}) for each in extras)
        if not is_needed or str(requirement) in seen:
            continue
        seen.add(str(requirement))
        found = distribution(requirement.name)
        for name in {file.parts[0] for file in found.files or []} - {"..", "__pycache__"}:
            if not (packages / name).exists():
                (packages / name).symlink_to(str(found.locate_file(name)))
        pending += [(text, {"", *requirement.extras}) for text in found.requires or []]


def size_of(directory: Path) -> int:
    return sum(file.lstat().st_size for file in directory.rglob("*") if not file.is_dir())


@pytest.mark.slow
@pytest.mark.skipif(not IS_SMALL, reason="torch is a build for GPUs, or strip (binutils) is not installed")
def test_the_image_has_less_than_one_gigabyte(installed: Installed) -> None:
    assert not list(installed.directory.glob("opt/dragoman/lib/python3*/site-packages/nvidia")), "torch is a GPU build"
    assert BASE_BYTES + size_of(installed.directory / "opt") < 1e9


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def readme_commands() -> list[str]:
    """The commands of the README without those of make and of the environment, the installation first."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    commands = [line for block in blocks for line in block.splitlines()]
    install = [line for line in commands if line.startswith(("pip install", "dragoman quickstart"))]
    assert len(install) == 2, "pip install and dragoman quickstart"
    others = [line for line in commands if line not in install and not line.startswith(("make ", ". "))]
    return [*install[1:], *others]


@pytest.mark.slow
def test_the_commands_of_the_readme_run(installed: Installed, tmp_path: Path) -> None:
    """With tiny models in place of those of some minutes."""
    sys.path.insert(0, str(ROOT / "tests" / "documents" / "formats"))
    from office_files import docx

    port = free_port()
    small = "".join(f" --set {setting}" for setting in SMALL.split())
    (tmp_path / "my").mkdir()
    for split, count in (("train", 300), ("test", 10)):
        for language, sentences in zip(("de", "en"), zip(*captions(split)[:count], strict=True), strict=True):
            lines = "".join(sentence + "\n" for sentence in sentences)
            (tmp_path / "my" / f"{split}.{language}").write_text(lines, encoding="utf-8")
    (tmp_path / "brief.docx").write_bytes(docx())
    server: subprocess.Popen[bytes] | None = None
    try:
        for command in readme_commands():
            line = command.partition("#")[0].replace("127.0.0.1:5000", f"127.0.0.1:{port}")
            line = line.replace("dragoman quickstart", "dragoman train quickstart --set data.test=[]" + small)
            line = re.sub(r"(?<=train\.en) --minutes \d+", small, line)
            if " serve " in line:
                words = [*shlex.split(line), "--port", str(port)]
                server = subprocess.Popen(words, cwd=tmp_path, env=installed.environment, stderr=subprocess.DEVNULL)
                wait_until_ready(port, server)
            elif "learn" not in line:
                installed.run(line, tmp_path)
    finally:
        if server:
            server.terminate()
            server.wait(60)
    assert (tmp_path / "inspect.html").stat().st_size > 10_000
    assert (tmp_path / "letter.docx").is_file()
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert installed.run(f"python -c {shlex.quote(''.join(blocks))}", tmp_path).count("\n") == 2
    assert "1-attention" in installed.run("dragoman learn start --directory my-course && ls my-course", tmp_path)


def wait_until_ready(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(6000):
        assert server.poll() is None, "the server has exited"
        try:
            with urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server does not become ready")


@contextmanager
def container(installed: Installed, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The service as the last stage of the Containerfile starts it."""
    service = stages()[1]
    (entry,), (options,), (variables,) = (texts(service, name) for name in ("ENTRYPOINT", "CMD", "ENV"))
    command = json.loads(installed.localize(entry)) + json.loads(installed.localize(options))
    user = NOT_ROOT.split() if os.geteuid() == 0 else []
    server = subprocess.Popen(
        [*user, *command, "--port", str(port)],
        env={"PATH": os.environ["PATH"], **dict(each.split("=") for each in installed.localize(variables).split())},
        cwd="/",
    )
    try:
        yield server
    finally:
        server.kill()
        server.wait()


@pytest.mark.slow
def test_the_service_of_the_container_is_healthy_and_translates(installed: Installed, finished_run: Path) -> None:
    model, state = installed.directory / "model", installed.directory / "state"
    shutil.copytree(finished_run / "bundle", model, ignore=shutil.ignore_patterns("ctranslate2-*"))
    state.mkdir()
    if os.geteuid() == 0:
        os.chown(state, 65534, 65534)
    port = free_port()
    (check,) = texts(stages()[1], "HEALTHCHECK")
    words = json.loads(installed.localize(check.partition("CMD ")[2]).replace(":5000", f":{port}"))
    assert subprocess.run(words, stderr=subprocess.DEVNULL).returncode != 0
    with container(installed, port) as server:
        wait_until_ready(port, server)
        assert subprocess.run(words).returncode == 0
        query = urlencode({"q": "ein hund läuft", "source": "de", "target": "en"}).encode()
        with urlopen(f"http://127.0.0.1:{port}/translate", data=query, timeout=30) as reply:
            assert json.load(reply)["translatedText"]
        if os.geteuid() == 0:
            assert state.stat().st_uid == 65534
            assert all(file.stat().st_uid == 65534 for file in state.rglob("*"))
        assert not list(model.glob("ctranslate2-*")), "the model is mounted to be read only"
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
