"""Odd paths and texts as every argument of every command: a message and an exit code, never a traceback."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Command

ODD = {
    "surrogate": "x\udcff",
    "unknown user": "~nosuchuser/x",
    "loop": "loop",
    "long name": "a" * 300,
    "long path": "a/" * 3000 + "a",
    "empty": "",
    "stars": "**a**",
}
"""By what is odd about them; `loop` is a symbolic link to itself."""

PLACES = {
    "quickstart": ["--output ODD"],
    "train": [
        "ODD",
        "RECIPE --output ODD",
        "RECIPE --set ODD",
        "RECIPE --data-dir ODD",
        "RECIPE --resume --output ODD",
    ],
    "translate": [
        *("ODD text", "RUN ODD", "RUN --input ODD", "RUN text --output ODD", "RUN --input SOURCE --output ODD"),
        *("RUN text --set ODD", "RUN text --set name=ODD", "RUN text --set decoding.beam_size=ODD"),
        *("RUN text --ensemble ODD", "RUN text --prefixes ODD", "RUN text --engine ODD", "RUN text --device ODD"),
    ],
    "evaluate": ["ODD FILES", "RUN --source ODD --reference REFERENCE", "RUN --source SOURCE --reference ODD"],
    "compare": ["ODD RUN FILES", "RUN ODD FILES", "RUN RUN --source ODD --reference REFERENCE"],
    "score": [
        *("ODD --source SOURCE --target REFERENCE", "RUN --source ODD --target REFERENCE"),
        *("RUN --source SOURCE --target ODD", "RUN --source SOURCE --target REFERENCE --output ODD"),
    ],
    "inspect": ["ODD text", "RUN ODD", "RUN text --output ODD", "RUN text --set ODD"],
    "info": ["ODD", "RECIPE --set ODD", "RECIPE --data-dir ODD"],
    "settings": ["ODD"],
    "data fetch": ["ODD"],
    "data show": ["ODD", "multi30k --data-dir ODD"],
    "export": [
        *("ODD out --to ctranslate2", "RUN ODD --to ctranslate2 --compute-type int8", "RUN out --to ODD"),
        *("RUN out --to ctranslate2 --source ODD", "RUN out --to ctranslate2 --source SOURCE --reference ODD"),
        "RUN ODD --to ctranslate2",
    ],
    "import huggingface": ["ODD out", "SOURCE ODD"],
    "doctor model": ["ODD", "RUN --device ODD"],
    "doctor data": [
        *("ODD", "SOURCE ODD", "ODD REFERENCE", "SOURCE REFERENCE --write ODD", "SOURCE REFERENCE --test SOURCE ODD"),
        "RECIPE --data-dir ODD",
    ],
    "doctor output": ["ODD FILES", "RUN --source ODD --reference REFERENCE", "RUN FILES --set ODD"],
}
"""By command, its arguments in several combinations, each with one odd argument."""


@pytest.fixture
def words(finished_run: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What replaces the capital words in PLACES; the current directory is empty except for a recipe and a loop."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    recipe = (finished_run / "recipe.toml").read_text("utf-8").replace(str(corpus), str(tmp_path / "no-corpus"))
    (tmp_path / "recipe.toml").write_text(recipe, "utf-8")
    source, reference = str(corpus / "test.de"), str(corpus / "test.en")
    return {
        "RUN": [str(finished_run)],
        "RECIPE": ["recipe.toml"],
        "SOURCE": [source],
        "REFERENCE": [reference],
        "FILES": ["--source", source, "--reference", reference],
    }


def cases() -> list[tuple[str, str]]:
    """Commands and odd arguments, except those with which `quickstart` would train."""
    trained = [("quickstart", "unknown user"), ("quickstart", "stars")]
    return [(name, odd) for name in PLACES for odd in ODD if (name, odd) not in trained]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "odd"), cases())
def test_odd_arguments_are_no_tracebacks(name: str, odd: str, words: dict[str, list[str]], command: Command) -> None:
    for place in PLACES[name]:
        arguments: list[str] = []
        for word in place.split():
            arguments += words.get(word, [word.replace("ODD", ODD[odd])])
        outcome = command(*name.split(), *arguments)
        assert outcome.code in (0, 1, 2), place
        assert "Traceback" not in outcome.error, place
        if outcome.code == 2:
            assert "dragoman: " in outcome.error or "Usage: " in outcome.error, place
        if odd == "surrogate":
            assert outcome.code == 2, place
            assert r"'x\udcff': not valid UTF-8" in outcome.error or r"=x\udcff': not valid UTF-8" in outcome.error


def make_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("bundle/bundle.json", "{}")


FOREIGN: dict[str, Callable[[Path], object]] = {
    "directory": Path.mkdir,
    "text": lambda path: path.write_text("Ein Hund läuft.\n", "utf-8"),
    "zip": make_zip,
    "device": lambda path: path.symlink_to("/dev/null"),
    "empty": Path.touch,
    "directory of directories": lambda path: (path / "bundle.json").mkdir(parents=True),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize(
    "arguments",
    [
        *("translate BUNDLE text", "translate RUN text --ensemble BUNDLE", "evaluate BUNDLE FILES", "info BUNDLE"),
        *("score BUNDLE --source SOURCE --target REFERENCE", "compare BUNDLE RUN FILES", "compare RUN BUNDLE FILES"),
        *("inspect BUNDLE text", "export BUNDLE out --to ctranslate2", "doctor model BUNDLE"),
        "doctor output BUNDLE FILES",
    ],
)
def test_foreign_files_are_no_bundles(
    arguments: str, kind: str, words: dict[str, list[str]], command: Command, tmp_path: Path
) -> None:
    FOREIGN[kind](tmp_path / "foreign")
    given = [each for word in arguments.split() for each in words.get(word, [word.replace("BUNDLE", "foreign")])]
    outcome = command(*given)
    assert (outcome.code, outcome.out) == (2, "")
    assert len(outcome.error.splitlines()) == 1
    recipe = arguments == "info BUNDLE" and "directory" not in kind  # it describes recipes too
    assert ("expected a recipe" if recipe else "foreign: not a dragoman bundle") in outcome.error


def test_invalid_bytes_in_a_text_are_rejected(finished_run: Path) -> None:
    arguments: list[str | bytes] = [sys.executable, "-m", "dragoman", "translate", str(finished_run), b"caf\xe9"]
    finished = subprocess.run(arguments, capture_output=True, text=True)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr == (
        "dragoman: argument 3, 'caf\\udce9': not valid UTF-8; check the encoding of the terminal and of file names\n"
    )


def test_control_characters_in_messages_are_escaped(command: Command, tmp_path: Path) -> None:
    """They could change what the terminal shows."""
    bundle = tmp_path / "\u202ebundle"
    bundle.mkdir()
    (bundle / "bundle.json").write_text('{"format": "dragoman-bundle", "version": "\\u001b[2J\\u2066"}')
    outcome = command("info", bundle)
    assert outcome.code == 2
    assert f"{tmp_path}/\\u202ebundle/bundle.json: bundle format \\x1b[2J\\u2066 is" in outcome.error
    assert outcome.error.removesuffix("\n").isprintable()
