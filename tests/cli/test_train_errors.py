"""Errors of `dragoman train`: a clear message, exit code 2, no traceback, and no changed or leftover files."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import tomli_w

from dragoman.recipe import save_recipe
from dragoman.system.files import sha256

if TYPE_CHECKING:
    from conftest import Command, Outcome, RecipeMaker

Digests = Callable[[Path], dict[str, str]]

GOOD = b"one\ntwo\nthree\n"
ALIGNED: dict[str, tuple[bytes, bytes, str]] = {
    "different length": (GOOD, b"one\n", "x.de has 3 lines, {at}/x.en has 1 line; from line 2 on"),
    "longer target": (GOOD, GOOD + b"four\n", "x.de has 3 lines, {at}/x.en has 4 lines; from line 4 on"),
    "invalid UTF-8": (b"one\n\xfc\n3\n", GOOD, "x.de line 2: not valid UTF-8 (byte 0xfc at position 1)"),
    "UTF-16": ("one\ntwo\n3\n".encode("utf-16"), GOOD, "x.de line 1: not valid UTF-8"),
    "empty file": (b"", b"", "x.de: empty file"),
    "one empty file": (GOOD, b"", "x.en has 0 lines"),
    "empty lines": (b"\n\n \n", GOOD, "x.de: only empty lines (3)"),
    "one line of 1 MB": (b"one\n" + b"x" * 1_000_000 + b"\nthree\n", GOOD, "x.de line 2: longer than 100,000"),
    "NUL": (GOOD, b"one\ntwo\nth\x00ree\n", "x.en line 3: control character U+0000 at character 3"),
    "control characters": (b"one\n\x1b[31mtwo\n3\n", GOOD, "x.de line 2: control character U+001B at character 1"),
}
ROWS: dict[str, tuple[str, bytes, str]] = {
    "three columns": ("tsv", b"a\tb\na\tb\tc\n", "x.tsv line 2: expected 2 columns, found 3"),
    "one column": ("tsv", b"a\tb\n\na\n", "x.tsv line 3: expected 2 columns, found 1"),
    "empty tsv": ("tsv", b"", "x.tsv: contains no sentence pairs"),
    "broken JSON": ("jsonl", b'{"de": "a", "en": "b"}\n{"de": "a", \n', "x.jsonl line 2: invalid JSON"),
    "no object": ("jsonl", b'["a", "b"]\n', "x.jsonl line 1: a JSON array; write one object per line instead"),
    "other languages": ("jsonl", b'{"fr": "a", "en": "b"}\n', "x.jsonl: no record in de and en, only in fr (1"),
    "number for text": ("jsonl", b'{"de": "a", "en": 7}\n', "x.jsonl line 1: the values of 'de' and 'en' must be str"),
    "NUL spelled in JSON": ("jsonl", b'{"de": "a\\u0000", "en": "b"}\n', "x.jsonl line 1: control character U+0000"),
    "damaged gzip": ("tsv.gz", gzip.compress(b"a\tb\n" * 999)[:-9], "x.tsv.gz: gzip file truncated or damaged"),
    "no gzip": ("tsv.gz", b"a\tb\n", "x.tsv.gz: named .gz, but not a valid gzip file"),
}
REFERENCES: dict[str, tuple[str, str]] = {
    "missing file": ("{at}/y.{{lang}}", "{at}/y.de: no such file"),
    "missing tsv": ("{at}/pears.tsv", "{at}/pears.tsv: no such file; did you mean 'pairs.tsv'?"),
    "directory": ("{at}/d.tsv", "{at}/d.tsv: is a directory, not a file"),
    "unknown dataset": ("multi30:train", "did you mean 'multi30k'?"),
    "unknown split": ("captions:trian", "did you mean 'train'?"),
    "no reference at all": ("captions", "the split is missing; choose 'captions:train'"),
}
SETTINGS: dict[str, tuple[list[str], list[str]]] = {
    "unknown key": (["model.headz=8"], ["model.headz", "did you mean 'heads'?"]),
    "unknown section": (["modle.heads=8"], ["modle", "did you mean 'model'?"]),
    "out of bounds": (["model.dropout=1.5"], ["model.dropout", "1.5"]),
    "negative": (["training.batch_tokens=-1"], ["training.batch_tokens", "-1"]),
    "unknown choice": (["training.schedule=cosin"], ["training.schedule", "cosin", "'cosine'"]),
    "heads": (["model.heads=5"], ["d_model = 32 is not divisible by heads = 5"]),
    "all at once": (
        ["model.headz=8", "model.d_ff=0", "model.heads=5", "training.seed=x", "text.vocabulary_size=3"],
        ["5 problems", "model.headz", "model.d_ff", "heads = 5", "training.seed", "text.vocabulary_size"],
    ),
    "small vocabulary": (["text.vocabulary_size=100"], ["text.vocabulary_size = 100 leaves no entries for subwords"]),
    "no such device": (["training.device=gpu"], ["device 'gpu' cannot be used"]),
}


def assert_error(outcome: Outcome, *messages: str) -> None:
    """The command ended with code 2 and printed these messages and no traceback."""
    assert outcome.code == 2
    assert outcome.out == ""
    assert "Traceback" not in outcome.error
    for message in messages:
        assert message in outcome.error


class TrainCommand:
    """``dragoman train`` with files in a temporary directory."""

    def __init__(self, directory: Path, command: Command, document: dict[str, Any]) -> None:
        self.directory, self.command, self.document = directory, command, document
        self.run = directory / "run"

    def __call__(self, reference: str, *arguments: str | Path, split: str = "train") -> Outcome:
        """Train with one corpus replaced by this reference."""
        data = self.document["data"] | {split: [reference]}
        recipe = self.directory / "recipe.toml"
        recipe.write_text(tomli_w.dumps(self.document | {"data": data}))
        return self.command("train", recipe, "--output", self.run, *arguments)

    def write(self, name: str, data: bytes) -> None:
        (self.directory / name).write_bytes(data)


@pytest.fixture
def train(tmp_path: Path, command: Command, recipe_document: dict[str, Any], bare_runs: None) -> TrainCommand:
    training = recipe_document["training"] | {"steps": 1, "validations": 1, "average": 1}
    return TrainCommand(tmp_path, command, recipe_document | {"training": training})


@pytest.mark.parametrize("name", ALIGNED)
def test_errors_in_line_aligned_files_name_file_and_line(name: str, train: TrainCommand) -> None:
    source, target, message = ALIGNED[name]
    train.write("x.de", source)
    train.write("x.en", target)
    outcome = train(f"{train.directory}/x.{{lang}}")
    assert_error(outcome, f"{train.directory}/{message.format(at=train.directory)}")
    assert not train.run.exists()


@pytest.mark.parametrize("name", ROWS)
def test_errors_in_tables_name_file_and_line(name: str, train: TrainCommand) -> None:
    suffix, data, message = ROWS[name]
    train.write(f"x.{suffix}", data)
    outcome = train(f"{train.directory}/x.{suffix}")
    assert_error(outcome, f"{train.directory}/{message}")
    assert not train.run.exists()


@pytest.mark.parametrize("split", ["train", "validation", "test"])
@pytest.mark.parametrize("name", REFERENCES)
def test_missing_corpora_are_named(name: str, split: str, train: TrainCommand) -> None:
    reference, message = REFERENCES[name]
    train.write("pairs.tsv", b"a\tb\n")
    (train.directory / "d.tsv").mkdir()
    outcome = train(reference.format(at=train.directory), split=split)
    assert_error(outcome, message.format(at=train.directory))
    assert not train.run.exists()


@pytest.mark.parametrize("name", SETTINGS)
def test_invalid_settings_are_named(name: str, train: TrainCommand, corpus: Path) -> None:
    overrides, messages = SETTINGS[name]
    arguments = [argument for override in overrides for argument in ("--set", override)]
    assert_error(train(f"{corpus}/train.{{lang}}", *arguments), *messages)
    assert not train.run.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model\n", "x.toml line 1"),
        ("name = 'x'\n[model]\nd_model = 1 2\n", "x.toml line 3"),
        ("", "name"),
        ("name = '../up'\n", "name"),
    ],
)
def test_errors_in_recipes_name_the_file(text: str, message: str, command: Command, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(text)
    assert_error(command("train", tmp_path / "x.toml", "--output", tmp_path / "run"), f"{tmp_path}/x.toml", message)
    assert not (tmp_path / "run").exists()


def test_missing_recipe_suggests_the_nearest_name(command: Command, tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text("")
    assert_error(command("train", tmp_path / "recip.toml"), "recip.toml: no such recipe; did you mean 'recipe'?")


def test_same_command_trains_after_the_input_is_fixed(train: TrainCommand) -> None:
    train.write("x.tsv", b"a\tb\na\n")
    assert_error(train(f"{train.directory}/x.tsv"), "line 2")
    train.write("x.tsv", b"a\tb\n" * 20)
    assert train(f"{train.directory}/x.tsv", "--set", "text.byte_fallback=false").code == 0
    assert (train.run / "bundle" / "bundle.json").exists()


def test_output_can_be_a_link(train: TrainCommand, corpus: Path) -> None:
    """Its target is created, and removed if the training cannot start."""
    train.run.symlink_to("target")
    assert_error(train(f"{corpus}/train.{{lang}}", "--set", "training.start_from=missing"), "missing")
    assert sorted(os.listdir(train.directory)) == ["recipe.toml", "run"]


@pytest.mark.parametrize("content", ["run", "file", "directory"])
def test_output_that_is_not_empty_is_unchanged(
    content: str, train: TrainCommand, finished_run: Path, corpus: Path, digests: Digests
) -> None:
    message = "not empty; choose another --output"
    if content == "run":
        shutil.copytree(finished_run, train.run)
        message = "already contains a run; continue it with --resume, or choose another --output"
    elif content == "file":
        train.write("run", b"precious")
        message = "is a file, not a directory; choose another --output"
    else:
        (train.run / "thesis").mkdir(parents=True)
        (train.run / "thesis" / "chapter").write_text("precious")
    before = digests(train.directory)
    assert_error(train(f"{corpus}/train.{{lang}}"), f"{train.run}: {message}")
    (train.directory / "recipe.toml").unlink()  # written by this test
    assert digests(train.directory) == before


def test_output_that_cannot_be_created_is_named(train: TrainCommand, corpus: Path) -> None:
    train.write("file", b"")
    train.run = train.directory / "file" / "run"
    file = train.directory / "file"
    assert_error(train(f"{corpus}/train.{{lang}}"), f"{train.run}: cannot be created: {file} is not a directory")


def test_resume_needs_a_run(train: TrainCommand, corpus: Path) -> None:
    assert_error(train(f"{corpus}/train.{{lang}}", "--resume"), f"{train.run}: there is no run to resume")
    assert not train.run.exists()


def test_resume_names_changed_settings(
    command: Command, make_recipe: RecipeMaker, finished_run: Path, tmp_path: Path, digests: Digests
) -> None:
    save_recipe(make_recipe("model.heads=4", "training.learning_rate=1e-3"), tmp_path / "recipe.toml")
    before = digests(finished_run)
    outcome = command("train", tmp_path / "recipe.toml", "--output", finished_run, "--resume")
    assert_error(outcome, "model.heads: 2 -> 4", "training.learning_rate: 0.01 -> 0.001")
    assert "d_model" not in outcome.error
    assert digests(finished_run) == before


def test_resume_names_and_skips_a_damaged_checkpoint(
    command: Command, make_recipe: RecipeMaker, finished_run: Path, tmp_path: Path
) -> None:
    save_recipe(make_recipe(), tmp_path / "recipe.toml")
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    shutil.rmtree(run / "bundle")
    resume = ("train", tmp_path / "recipe.toml", "--output", run, "--resume")
    weights = run / "checkpoints" / "step-00000120" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    outcome = command(*resume)
    assert outcome.code == 0, "the run resumes from the checkpoint before it"
    assert f"{weights}: damaged" in "".join(outcome.error.splitlines())
    assert sha256(run / "bundle" / "model.safetensors") == sha256(finished_run / "bundle" / "model.safetensors")
    (run / "recipe.toml").write_text("name = 1 2")
    outcome = command(*resume)
    assert outcome.code == 0, outcome.error
    assert "restored from" in outcome.error


def test_errors_end_a_process_without_a_traceback(
    recipe_document: dict[str, Any], process: Command, tmp_path: Path
) -> None:
    (tmp_path / "x.tsv").write_bytes(b"a\tb\na\n")
    data = recipe_document["data"] | {"train": [f"{tmp_path}/x.tsv"]}
    (tmp_path / "recipe.toml").write_text(tomli_w.dumps(recipe_document | {"data": data}))
    outcome = process("train", tmp_path / "recipe.toml", "--output", tmp_path / "run")
    assert_error(outcome, f"dragoman: {tmp_path}/x.tsv line 2: expected 2 columns, found 1\n")
    assert_error(process("train"), "Missing argument 'RECIPE_OR_FILE")


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are always Unicode here")
def test_output_that_is_not_utf8_is_rejected_before_training(train: TrainCommand) -> None:
    train.run = train.directory / os.fsdecode(b"run-\xff")
    outcome = train("captions:test")
    assert outcome.code == 2
    assert "not valid UTF-8" in outcome.error
    assert not train.run.exists()


def test_several_processes_do_not_choose_settings(
    finished_run: Path, corpus: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each would choose others, because it would measure another speed, and would train another model."""
    for name, value in (("TORCHELASTIC_RUN_ID", "x"), ("WORLD_SIZE", "2"), ("RANK", "1"), ("LOCAL_RANK", "1")):
        monkeypatch.setenv(name, value)
    for arguments in (("train", corpus / "train.de", corpus / "train.en"), ("distill", finished_run)):
        outcome = command(*arguments, "--output", tmp_path / "run")
        assert_error(outcome, "chooses settings, but several processes must have the same ones")
        assert not (tmp_path / "run").exists()
