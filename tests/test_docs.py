"""README.md and docs/ are correct: commands parse, settings and files exist, Python code and the walkthrough run."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from dragoman.cli import app
from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.pair import Pair
from dragoman.corpus.synthetic.captions import captions
from dragoman.corpus.writers import write_corpus
from dragoman.errors import UserError
from dragoman.recipe import build_recipe, builtin_recipes, load_recipe
from dragoman.serving.config import load_serving
from dragoman.settings import Recipe
from dragoman.settings.recipe import field_at
from dragoman.settings.serving import Serving

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
OTHER_COMMANDS = {".", "cp", "curl", "echo", "head", "mkdir"}
COPIED_RECIPES = {"my-recipe": "own-data"}
"""Recipes that the reader makes -> the built-in recipe to copy."""

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="the commands need bash")

SMALL = "training.steps=60 training.validations=2 training.log_every=10 training.warmup_steps=10 decoding.max_length=20"
SMALL += " text.vocabulary_size=600 model.d_model=32 model.heads=2 model.d_ff=64 model.encoder_layers=1"
SMALL += " model.decoder_layers=1"


class Block(NamedTuple):
    """A fenced block of a page, or one command in it."""

    page: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(language: str) -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            found.append(Block(page, text[: match.start()].count("\n") + 2, match[1]))
    return found


def commands() -> list[Block]:
    """Every command of the sh blocks, pipelines split into commands, and every dragoman command between backticks."""
    found = []
    for page, first, text in blocks("sh"):
        for number, line in enumerate(text.splitlines(), start=first):
            words = shlex.shlex(line, posix=True, punctuation_chars=True)
            words.whitespace_split = True
            without_redirection = re.sub(r" '>' \S+", "", shlex.join(words))
            for command in without_redirection.replace("'|'", "\n").replace("'&&'", "\n").splitlines():
                found.append(Block(page, number, command))
    for page in PAGES:
        if page.name == "command-line.md":  # names commands in its text, without their arguments
            continue
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for match in re.finditer(r"`(dragoman [a-z]+\s[^`]+)`", text):
            found.append(Block(page, 0, match[1].replace("\n", " ")))
    return found


@cache
def command_line() -> Any:
    """The parser of the command line, which takes longer to build than to parse a command."""
    return typer.main.get_command(app)


def parse(arguments: list[str]) -> tuple[str, dict[str, Any]]:
    """The name and the parameters of a command, parsed by the command line but not run."""
    command = command_line()
    name = "dragoman"
    while hasattr(command, "commands") and arguments != ["--help"]:
        name, *arguments = arguments
        command = command.commands[name]
    if arguments == ["--help"]:
        return name, {}
    return name, command.make_context(name, arguments).params


def find_recipe(path: Path, overrides: list[str]) -> Recipe:
    """The recipe that a page names: a file, a built-in recipe, the recipe of a run, or a copy of a built-in recipe."""
    name = path.parent.name if path.name == "recipe.toml" else path.stem
    if path.parts[0] == "recipes":
        assert (ROOT / path).is_file()
    return load_recipe(Path(COPIED_RECIPES.get(name, name)), overrides)


@pytest.mark.parametrize("command", commands(), ids=str)
def test_commands_parse(command: Block) -> None:
    name, *arguments = shlex.split(command.text)
    if name == "dragoman":
        name, parameters = parse(arguments)
        overrides = parameters.get("overrides") or []
        if name == "train":
            (first, *files) = parameters["recipe"]
            if not files and (first.endswith(".toml") or first in builtin_recipes()):
                find_recipe(Path(first), overrides)
                given = {name for name, value in parameters.items() if value}
                assert given <= {"recipe", "output", "overrides", "minutes", "resume", "data_dir"}
        elif name == "info" and parameters["path"].suffix == ".toml":
            find_recipe(parameters["path"], overrides)
        elif name == "serve":
            decoding = [each for each in overrides if each.startswith("decoding.")]
            load_serving(None, [each for each in overrides if each not in decoding])
            load_recipe(Path("quickstart"), decoding)
        else:
            assert name == "distill" or all(override.startswith("decoding.") for override in overrides)
            load_recipe(Path("quickstart"), overrides)
    elif name == "make":
        assert re.search(rf"^{arguments[0]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    elif name == "pip":
        assert arguments == ["install", "-c", "constraints.txt", ".[serving]"]
    else:
        assert name in OTHER_COMMANDS
    for word in arguments:
        if word.startswith(("recipes/", "examples/", "docs/", "src/", "constraints")):
            assert (ROOT / word).exists()


def test_settings_in_the_text_exist() -> None:
    sections = "|".join(Recipe.model_fields)
    for page in PAGES:
        if page.name == "python.md":  # there, `model.eval` is not a setting
            continue
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(rf"`(?:--set )?((?:{sections})\.(?!safetensors)[\w.]+)[^`]*`", text):
            assert field_at(tuple(match[1].split("."))), f"{page.name}: {match[1]}"
        for match in re.finditer(r"`--set ((?!SECTION|serving)[^`]+)`", text):
            load_recipe(Path("own-data"), [match[1]])


@pytest.mark.parametrize("block", blocks("toml"), ids=str)
def test_toml_blocks_are_recipes_or_settings(block: Block) -> None:
    part = tomllib.loads(block.text)
    if "serving" in part:
        Serving(**part["serving"])
        return
    whole = tomllib.loads(builtin_recipes()["own-data"].read_text(encoding="utf-8"))
    if not set(part) >= {"name", "data", "training"}:
        part = {
            name: {**section, **part.get(name, {})} if isinstance(section, dict) else section
            for name, section in whole.items()
        }
    build_recipe(part, origin=str(block))


def headings(page: Path) -> set[str]:
    """The anchors that GitHub creates for the headings of a page."""
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


def test_generated_reference_is_up_to_date() -> None:
    written = runpy.run_path(str(ROOT / "docs" / "generate_reference.py"))
    for name, render in (("command-line.md", "command_line"), ("python.md", "python_page")):
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == written[render](), "run make docs"


def test_what_the_pages_import_is_on_the_python_page() -> None:
    """How it works and the notes on kernels show the inside of the package."""
    documented = runpy.run_path(str(ROOT / "docs" / "generate_reference.py"))["documented_names"]()
    inside = {"how-it-works.md", "performance.md"}
    code = "\n".join(block.text for block in blocks("python") if block.page.name not in inside)
    used = set(re.findall(r"dragoman\.([A-Z]\w+|load)\b", code))
    for names in re.findall(r"^from dragoman[\w.]* import (.+)$", code, re.MULTILINE):
        used |= set(re.findall(r"\w+", names))
    assert used <= documented


GLOSSARY = {
    *("encoder", "decoder", "embedding", "position encoding", "attention", "head", "mask", "residual connection"),
    *("layer norm", "logits", "softmax", "token", "vocabulary", "batch, step", "epoch", "loss, nats", "beam search"),
    *("recipe", "run", "bundle", "engine", "checkpoint", "BLEU", "chrF"),
}


def test_the_glossary_explains_each_word_once() -> None:
    page = (ROOT / "docs" / "words.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)
    words = [word for word, _ in rows if word not in ("word", "---")]
    assert set(words) >= GLOSSARY
    single = [each.strip() for word in words for each in word.split(",")]
    assert len(single) == len(set(single))


WORDS = 50_000
GENERATED = {"recipes.md", "command-line.md", "python.md", "findings.md"}


def test_the_documentation_is_short() -> None:
    """Settings in serving.md and own-data.md count, too; they are a small part."""
    pages = [page for page in [*PAGES, ROOT / "CHANGELOG.md"] if page.name not in GENERATED]
    counts = {page.relative_to(ROOT).as_posix(): len(page.read_text(encoding="utf-8").split()) for page in pages}
    assert counts["README.md"] <= 900
    assert sum(counts.values()) <= WORDS, counts


INVALID_FILES: dict[str, dict[str, bytes]] = {
    "files of different length": {"train.de": b"a\nb\n", "train.en": b"a\nb\nc\n"},
    "not UTF-8": {"train.de": "gut\nschön\n".encode("latin-1"), "train.en": b"a\nb\n"},
    "UTF-16": {"pairs.tsv": "gut\tgood\n".encode("utf-16")},
    "empty file": {"train.de": b"", "train.en": b""},
    "only empty lines": {"train.de": b"\n\n", "train.en": b"a\nb\n"},
    "line too long": {"train.de": b"x" * 1_000_000, "train.en": b"a\n"},
    "binary data": {"train.de": b"a\0b\n", "train.en": b"a\n"},
    "control characters": {"train.de": b"a\n" * 6 + b"a\x0bb\n", "train.en": b"a\n" * 7},
    "too many columns": {"pairs.tsv": b"a\tb\nc\td\te\n"},
    "more columns": {"pairs.csv": b"1;Hund;dog\n2;Katze;cat\n"},
    "header row": {"pairs.csv": b"de,en\nHund,dog\n"},
    "keys or tags in the lines": {"train.de": b"a: Hund\nb: Katze\n", "train.en": b"a: dog\nb: cat\n"},
    "quotation marks of Excel": {"pairs.tsv": b'"a ""b"""\tc\n'},
    "invalid JSON": {"pairs.jsonl": b'{"de": "a", "en": "b"}\n{"de": "a", "en": }\n'},
    "wrong keys": {"pairs.jsonl": b'{"text": "a", "label": "b"}\n'},
    "truncated": {"pairs.tmx": b"<tmx>\n<body>\n"},
    "other languages": {"pairs.tmx": b"<tmx><tu><tuv xml:lang='fr'><seg>a</seg></tuv></tu></tmx>"},
    "mistyped path": {"trains.de": b"a\n", "trains.en": b"a\n"},
}


def documented_errors() -> dict[str, str]:
    """The table of errors in formats.md: each problem with its message."""
    section = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8").partition("## Error messages")[2]
    return dict(re.findall(r"^\| ([^|`]+) \| `(.+?)` \|", section, re.MULTILINE))


def test_documented_errors_are_those_of_the_tests() -> None:
    assert documented_errors().keys() == INVALID_FILES.keys()


@pytest.mark.parametrize("problem", INVALID_FILES)
def test_errors_in_corpora_are_documented(problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my").mkdir()
    files = INVALID_FILES[problem]
    for name, content in files.items():
        (tmp_path / "my" / name).write_bytes(content)
    reference = next((f"my/{name}" for name in files if name.startswith("pairs")), "my/train.{lang}")
    with pytest.raises(UserError) as error:
        list(read_corpus(reference, source_language="de", target_language="en"))
    assert str(error.value) == documented_errors()[problem]


def test_errors_in_recipes_are_documented() -> None:
    (example,) = (block.text for block in blocks("text") if "4 problems" in block.text)
    wrong = ["model.d_modle=256", "model.heads=3", "training.learning_rate=-1"]
    document = tomllib.loads(builtin_recipes()["own-data"].read_text(encoding="utf-8"))
    with pytest.raises(UserError) as error:
        build_recipe(document, wrong, origin="my-recipe.toml")
    assert f"dragoman: {error.value}\n" == example


@needs_bash
def test_convert_commands_run(tmp_path: Path) -> None:
    """The examples of formats.md, with files that fit them."""
    (tmp_path / "my").mkdir()
    sentences = captions("train")[:300]
    write_corpus((Pair(*texts) for texts in sentences), f"{tmp_path}/my/memory.tmx", ("de", "en"))
    rows = ["Deutsch;English", *(f"{source};{target}" for source, target in sentences)]
    (tmp_path / "my" / "terms.csv").write_text("\n".join(rows), encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "my" / "de-en.txt.zip", "w") as archive:
        for language, texts in zip(("de", "en"), zip(*sentences, strict=True), strict=True):
            archive.writestr(f"Corpus.de-en.{language}", "\n".join(texts))
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    script = page.partition("```sh\n")[2].partition("```")[0]
    assert run(tmp_path, "bash", "-euo", "pipefail", "-c", script).count(": 300 pairs") == 3


@pytest.fixture(scope="module")
def walkthrough(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which the walkthrough of own-data.md was run with 300 pairs and a tiny model."""
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
    assert "dragoman train" in script
    small = " ".join(f"--set {setting}" for setting in SMALL.split())
    script = re.sub(r"^(dragoman train .*)$", rf"\1 {small}", script, flags=re.MULTILINE)
    run(directory, "bash", "-euo", "pipefail", "-c", script)
    (directory / "runs" / "quickstart").symlink_to("own-data")  # the run of other pages
    return directory


def run(directory: Path, *command: str) -> str:
    """The standard output of a command that must succeed, with this environment's dragoman, on one core."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"}
    completed = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=300)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


@needs_bash
def test_walkthrough_writes_the_files_that_the_page_describes(walkthrough: Path) -> None:
    lines = [(walkthrough / "my" / name).read_text("utf-8").splitlines() for name in ("test.de", "translated.en")]
    assert len(lines[0]) == len(lines[1])
    scores = json.loads((walkthrough / "my" / "scores.json").read_text(encoding="utf-8"))
    assert scores["sentences"] == len(lines[0])
    assert "BLEU" in (walkthrough / "runs" / "own-data" / "report.html").read_text(encoding="utf-8")
    metrics = (walkthrough / "runs" / "own-data" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    losses = [line["loss"] for line in map(json.loads, metrics) if line["kind"] == "train"]
    assert losses[-1] < losses[0]


@needs_bash
@pytest.mark.parametrize("page", {block.page: None for block in blocks("python")}, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, walkthrough: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(walkthrough)
    namespace: dict[str, Any] = {}
    for block in blocks("python"):
        if block.page == page:
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), namespace)


@needs_bash
def test_translate_example_runs(walkthrough: Path) -> None:
    script = str(ROOT / "examples" / "translate.py")
    printed = run(walkthrough, sys.executable, script, "runs/quickstart", "Ein Hund.", "")
    assert printed.count("(end)") == 1, "the empty text has an empty translation"
    assert printed.endswith("\n\n")


def test_train_example_runs(tmp_path: Path) -> None:
    few = ['data.train=["captions:test"]', "data.validation=[]", "data.validation_pairs=20"]
    overrides = [*SMALL.split(), *few, "training.steps=4", "training.validation_sentences=4"]
    run(tmp_path, sys.executable, str(ROOT / "examples" / "train.py"), "run", *overrides)
    assert (tmp_path / "run" / "bundle" / "bundle.json").is_file()
