"""The documentation is correct: commands parse, settings and files exist, Python blocks and the walkthrough run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from dragoman.cli import app
from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.synthetic.captions import captions
from dragoman.errors import UserError
from dragoman.recipe import build_recipe, builtin_recipes, load_recipe
from dragoman.settings import Recipe
from dragoman.settings.recipe_errors import field_at

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
OTHER_COMMANDS = {".", "cp", "echo", "head"}
COPIES = {"my-recipe": "own-data"}
SMALL = "training.steps=60 training.validations=2 training.log_every=10 training.warmup_steps=10 decoding.max_length=20"
SMALL += " text.vocabulary_size=600 model.d_model=32 model.heads=2 model.d_ff=64 model.encoder_layers=1"
SMALL += " model.decoder_layers=1"


class Block(NamedTuple):
    """A fenced block, or a command from one."""

    page: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(kind: str) -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(rf"^```{kind}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            found.append(Block(page, text[: match.start()].count("\n") + 2, match[1]))
    return found


def commands() -> list[Block]:
    """Every command of the sh blocks, each part of a pipe separately, and every dragoman command between backticks."""
    found = []
    for page, first, text in blocks("sh"):
        for number, line in enumerate(text.splitlines(), start=first):
            words = shlex.shlex(line, posix=True, punctuation_chars=True)
            words.whitespace_split = True
            without_redirection = re.sub(r" '>' \S+", "", shlex.join(words))
            for command in without_redirection.replace("'|'", "\n").replace("'&&'", "\n").splitlines():
                found.append(Block(page, number, command))
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for match in re.finditer(r"`(dragoman [a-z]+\s[^`]+)`", text):
            found.append(Block(page, 0, match[1].replace("\n", " ")))
    return found


def parse(arguments: list[str]) -> tuple[str, dict[str, Any]]:
    """The command and its parameters, parsed by the real command line; nothing is run."""
    command: Any = typer.main.get_command(app)
    verb = "dragoman"
    while hasattr(command, "commands") and arguments != ["--help"]:
        verb, *arguments = arguments
        command = command.commands[verb]
    if arguments == ["--help"]:
        return verb, {}
    return verb, command.make_context(verb, arguments).params


def recipe_of(path: Path, overrides: list[str]) -> Recipe:
    """The recipe that a page names: a file, a built-in recipe, the recipe of a run, or a reader's copy of own-data."""
    name = path.parent.name if path.name == "recipe.toml" else path.stem
    if path.parts[0] == "recipes":
        assert (ROOT / path).is_file()
    return load_recipe(Path(COPIES.get(name, name)), overrides)


@pytest.mark.parametrize("command", commands(), ids=str)
def test_commands_exist(command: Block) -> None:
    name, *arguments = shlex.split(command.text)
    if name == "dragoman":
        verb, parameters = parse(arguments)
        overrides = parameters.get("overrides") or []
        if "recipe" in parameters:
            recipe_of(parameters["recipe"], overrides)
        elif verb == "info" and parameters["path"].suffix == ".toml":
            recipe_of(parameters["path"], overrides)
        else:
            assert all(override.startswith("decoding.") for override in overrides)
            load_recipe(Path("quickstart"), overrides)
    elif name == "make":
        assert re.search(rf"^{arguments[0]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    elif name == "pip":
        assert arguments == ["install", "-c", "constraints.txt", "."]
    else:
        assert name in OTHER_COMMANDS
    for word in arguments:
        if word.startswith(("recipes/", "examples/", "docs/", "src/", "constraints")):
            assert (ROOT / word).exists()


def test_settings_named_in_the_text_exist() -> None:
    sections = "|".join(Recipe.model_fields)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(rf"`(?:--set )?((?:{sections})\.(?!safetensors)[\w.]+)[^`]*`", text):
            assert field_at(tuple(match[1].split("."))), f"{page.name}: {match[1]}"
        for match in re.finditer(r"`--set ((?!SECTION)[^`]+)`", text):
            load_recipe(Path("own-data"), [match[1]])


@pytest.mark.parametrize("block", blocks("toml"), ids=str)
def test_toml_is_a_recipe_or_part_of_one(block: Block) -> None:
    part = tomllib.loads(block.text)
    whole = tomllib.loads(builtin_recipes()["own-data"].read_text(encoding="utf-8"))
    if not set(part) >= {"name", "data", "training"}:
        part = {
            name: {**section, **part.get(name, {})} if isinstance(section, dict) else section
            for name, section in whole.items()
        }
    build_recipe(part, origin=str(block))


def headings(page: Path) -> set[str]:
    """Anchors as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_link_targets_exist(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not link.startswith("https://"):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), link
            assert not anchor or anchor in headings(target), link


BAD: dict[str, dict[str, bytes]] = {
    "files of different length": {"train.de": b"a\nb\n", "train.en": b"a\nb\nc\n"},
    "not UTF-8": {"train.de": "gut\nschön\n".encode("latin-1"), "train.en": b"a\nb\n"},
    "empty file": {"train.de": b"", "train.en": b""},
    "only empty lines": {"train.de": b"\n\n", "train.en": b"a\nb\n"},
    "line too long": {"train.de": b"x" * 1_000_000, "train.en": b"a\n"},
    "control characters": {"train.de": b"a\0b\n", "train.en": b"a\n"},
    "too many columns": {"pairs.tsv": b"a\tb\nc\td\te\n"},
    "invalid JSON": {"pairs.jsonl": b'{"de": "a", "en": "b"}\n{"de": "a", "en": }\n'},
    "wrong keys": {"pairs.jsonl": b'{"de": "a", "fr": "b"}\n'},
    "mistyped path": {"trains.de": b"a\n", "trains.en": b"a\n"},
}


def documented_messages() -> dict[str, str]:
    """Each problem in the table of own-data.md with its message."""
    section = (ROOT / "docs" / "own-data.md").read_text(encoding="utf-8").partition("## Error messages")[2]
    return dict(re.findall(r"^\| ([^|`]+) \| `(.+?)` \|", section, re.MULTILINE))


@pytest.mark.parametrize("problem", documented_messages())
def test_messages_for_bad_input_are_those_of_the_page(
    problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my").mkdir()
    for name, content in BAD[problem].items():
        (tmp_path / "my" / name).write_bytes(content)
    reference = next((f"my/{name}" for name in BAD[problem] if name.startswith("pairs")), "my/train.{lang}")
    with pytest.raises(UserError) as caught:
        list(read_corpus(reference, source_language="de", target_language="en"))
    assert str(caught.value) == documented_messages()[problem]


def test_messages_for_a_bad_recipe_are_those_of_the_page() -> None:
    (example,) = (block.text for block in blocks("text") if "3 problems" in block.text)
    wrong = ["model.d_modle=256", "model.heads=3", "training.learning_rate=-1"]
    document = tomllib.loads(builtin_recipes()["own-data"].read_text(encoding="utf-8"))
    with pytest.raises(UserError) as caught:
        build_recipe(document, wrong, origin="my-recipe.toml")
    assert f"dragoman: {caught.value}\n" == example


@pytest.fixture(scope="module")
def walkthrough(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which the walkthrough of own-data.md was run, with 300 pairs and a tiny model."""
    directory = tmp_path_factory.mktemp("walkthrough")
    (directory / "my").mkdir()
    (directory / "recipes").symlink_to(ROOT / "recipes")
    for split, count in (("train", 300), ("test", 12)):
        for language, sentences in zip(("de", "en"), zip(*captions(split)[:count], strict=True), strict=True):
            text = "".join(sentence + "\n" for sentence in sentences)
            (directory / "my" / f"{split}.{language}").write_text(text, encoding="utf-8")
    page = (ROOT / "docs" / "own-data.md").read_text(encoding="utf-8")
    section = page.partition("## Walkthrough")[2].partition("\n## ")[0]
    script = "".join(re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE))
    small = " ".join(f"--set {setting}" for setting in SMALL.split())
    script = re.sub(r"^(dragoman train .*)$", rf"\1 {small}", script, flags=re.MULTILINE)
    run(directory, "bash", "-euo", "pipefail", "-c", script)
    (directory / "runs" / "quickstart").symlink_to("own-data")  # the run of the other pages
    return directory


def run(directory: Path, *command: str) -> str:
    """Standard output of a command that must succeed, with this environment's dragoman, on one core."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="the walkthrough needs bash")
def test_the_walkthrough_translates_and_scores(walkthrough: Path) -> None:
    lines = [
        (walkthrough / "my" / name).read_text(encoding="utf-8").splitlines() for name in ("test.de", "translated.en")
    ]
    assert len(lines[0]) == len(lines[1])
    scores = json.loads((walkthrough / "my" / "scores.json").read_text(encoding="utf-8"))
    assert scores["sentences"] == len(lines[0])
    assert "BLEU" in (walkthrough / "runs" / "own-data" / "report.html").read_text(encoding="utf-8")
    metrics = (walkthrough / "runs" / "own-data" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    losses = [line["loss"] for line in map(json.loads, metrics) if line["kind"] == "train"]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("page", {block.page: None for block in blocks("python")}, ids=lambda page: page.name)
def test_python_runs(page: Path, walkthrough: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(walkthrough)
    namespace: dict[str, Any] = {}
    for block in blocks("python"):
        if block.page == page:
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), namespace)


def test_example_translates(walkthrough: Path) -> None:
    program = str(ROOT / "examples" / "translate.py")
    printed = run(walkthrough, sys.executable, program, "runs/quickstart", "Ein Hund.", "")
    assert printed.count("(end)") == 1  # the empty text needs no search
    assert printed.endswith("\n\n")


def test_example_trains(tmp_path: Path) -> None:
    overrides = [*SMALL.split(), "training.steps=4", "training.validation_sentences=4"]
    run(tmp_path, sys.executable, str(ROOT / "examples" / "train.py"), "run", *overrides)
    assert (tmp_path / "run" / "bundle" / "bundle.json").is_file()
