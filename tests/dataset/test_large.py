"""Large corpora: prepared on disk as they would be in memory, once, and whatever happens meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dragoman.dataset import large, prepare
from dragoman.dataset.encoding import Part, encode_parts
from dragoman.dataset.prepare import Prepared, read_pairs, train_recipe_tokenizers
from dragoman.errors import UserError
from dragoman.recipe import save_recipe
from dragoman.settings import Recipe
from dragoman.system.files import sha256
from dragoman.training.run import train

if TYPE_CHECKING:
    from conftest import RecipeMaker

PAIRS = 400  # of the corpus
PART = 64

Digests = Callable[[Path], dict[str, str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where large corpora are prepared, now that the tiny one is large."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(prepare, "IN_MEMORY_PAIRS", PAIRS - 1)
    monkeypatch.setattr(large, "PART_PAIRS", PART)
    return tmp_path / "cache" / "dragoman" / "prepared"


def prepare_large(recipe: Recipe, update: Callable[[float, str], None] = lambda share, text: None) -> Prepared:
    return prepare.prepare(recipe, None, None, print, update)


def prepare_small(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    with monkeypatch.context() as patch:
        patch.setattr(prepare, "IN_MEMORY_PAIRS", PAIRS)
        patch.setenv("XDG_CACHE_HOME", "/nowhere")
        return prepare.prepare(recipe, None, None, print)


def contents(prepared: Prepared) -> dict[str, Any]:
    """All that training sees."""
    sides = prepared.train.source, prepared.train.target
    return {
        "ids": [[side[index].tolist() for index in range(len(side))] for side in sides],
        "tokenizers": [prepared.source.to_json(), prepared.target.to_json()],
        "validation": prepared.validation,
        "dropped": prepared.dropped,
    }


def kinds(home: Path) -> list[str]:
    return sorted(path.name.split("-")[0] for path in home.iterdir() if path.is_dir())


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the parts that are encoded from now on."""
    names: list[str] = []

    def recorded(parts: Iterable[Part]) -> Iterator[Part]:
        for part in parts:
            names.append(part[0].name)
            yield part

    monkeypatch.setattr(large, "encode_parts", lambda parts, *rest: encode_parts(recorded(parts), *rest))
    return names


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("data.validation=[]", "data.validation_pairs=30", "training.threads=2"),
        ("data.max_characters=45", "data.max_tokens=14", "text.subword_pairs=90"),
        ("text.tokenizer=whitespace", "text.joint=false", "model.tie=target", "text.minimum_frequency=2"),
    ],
    ids=["validation", "held-out", "filters", "words"],
)
def test_prepared_on_disk_as_in_memory(
    overrides: tuple[str, ...], home: Path, make_recipe: RecipeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = make_recipe(*overrides)
    on_disk = prepare_large(recipe)
    assert on_disk.train.maps
    assert kinds(home) == ["pairs", "split", "tokenizers"], "the parts are gone"
    in_memory = prepare_small(recipe, monkeypatch)
    assert not in_memory.train.maps
    assert contents(on_disk) == contents(in_memory)


def test_subwords_are_learnt_from_a_sample_and_words_from_all(home: Path, make_recipe: RecipeMaker) -> None:
    def vocabulary(*overrides: str) -> list[str]:
        return train_recipe_tokenizers(make_recipe(*overrides), None)[0].vocabulary.tokens

    assert vocabulary("text.subword_pairs=40") != vocabulary("text.subword_pairs=400") == vocabulary()
    words = "text.tokenizer=whitespace"
    assert vocabulary(words, "text.subword_pairs=40") == vocabulary(words)


def test_the_second_time_no_text_is_read(
    home: Path, make_recipe: RecipeMaker, digests: Digests, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = make_recipe("data.validation=[]")
    first, before = contents(prepare_large(recipe)), digests(home)

    def refuse(*arguments: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr("dragoman.corpus.aligned.read_lines", refuse)
    assert contents(prepare_large(recipe)) == first
    assert train_recipe_tokenizers(recipe, None)[0].to_json() == first["tokenizers"][0]
    assert digests(home) == before


def test_as_many_processes_as_there_are_write_the_same_bytes(
    home: Path, make_recipe: RecipeMaker, digests: Digests, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = []
    for threads in (1, 3):
        monkeypatch.setenv("XDG_CACHE_HOME", str(home / str(threads)))
        prepare_large(make_recipe(f"training.threads={threads}"))
        stores.append(digests(home / str(threads)))
    assert any(name.endswith("source.ids.npy") for name in stores[0])
    assert stores[0] == stores[1]


class Interruption:
    """Ctrl-C, when so many pairs are encoded."""

    def __init__(self, pairs: int) -> None:
        self.pairs = pairs

    def __call__(self, share: float, text: str) -> None:
        if text.startswith("turning text into ids") and round(share * PAIRS) >= self.pairs:
            raise KeyboardInterrupt


def test_an_interruption_loses_nothing(
    home: Path, make_recipe: RecipeMaker, digests: Digests, encoded: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = make_recipe()
    prepare_large(recipe)
    in_one_go, every_part = digests(home), sorted(encoded)
    assert len(every_part) == -(-PAIRS // PART)
    os.environ["XDG_CACHE_HOME"] += "2"
    home = Path(os.environ["XDG_CACHE_HOME"]) / "dragoman" / "prepared"

    for pairs in (PART, 3 * PART):
        with pytest.raises(KeyboardInterrupt):
            prepare_large(recipe, Interruption(pairs))
        assert "what is done is kept" in capsys.readouterr().out
        assert kinds(home) == ["parts", "split", "tokenizers"]
    (parts,) = home.glob("parts-*")
    kept = {path.name for path in parts.iterdir()}
    assert 3 <= len(kept) < len(every_part)
    encoded.clear()
    prepare_large(recipe)
    assert sorted(encoded) == sorted(set(every_part) - kept)
    assert digests(home) == in_one_go


def test_a_damaged_part_is_named_and_encoded_again(
    home: Path, make_recipe: RecipeMaker, encoded: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        prepare_large(make_recipe(), Interruption(2 * PART))
    damaged = sorted(next(home.glob("parts-*")).iterdir())[0]
    damaged.write_bytes(damaged.read_bytes()[:-50])
    encoded.clear()
    resumed = prepare_large(make_recipe())
    assert f"{damaged}: damaged" in capsys.readouterr().out
    assert damaged.name in encoded
    assert len(resumed.train) == PAIRS


@pytest.mark.parametrize(
    ("override", "made"),
    [
        ("data.max_characters=45", {"pairs", "split", "tokenizers"}),
        ("data.validation=[]", {"pairs", "split", "tokenizers"}),
        ("text.vocabulary_size=300", {"pairs", "tokenizers"}),
        ("text.tokenizer=unigram", {"pairs", "tokenizers"}),
        ("data.max_tokens=14", {"pairs"}),
        ("training.learning_rate=0.5", set()),
        ("training.seed=7", set()),
    ],
)
def test_what_a_change_touches_is_made_again(
    override: str, made: set[str], home: Path, make_recipe: RecipeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare_large(make_recipe())
    before = set(home.iterdir())
    changed = prepare_large(make_recipe(override))
    assert {path.name.split("-")[0] for path in set(home.iterdir()) - before if path.is_dir()} == made
    assert contents(changed) == contents(prepare_small(make_recipe(override), monkeypatch))


def own_corpus(directory: Path, corpus: Path) -> str:
    for language in ("de", "en"):
        (directory / f"own.{language}").write_bytes((corpus / f"train.{language}").read_bytes())
    return f'data.train=["{directory}/own.{{lang}}"]'


def test_a_changed_corpus_is_prepared_again(
    home: Path, make_recipe: RecipeMaker, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = make_recipe(own_corpus(tmp_path, corpus))
    before = contents(prepare_large(recipe))
    path = tmp_path / "own.de"
    text = path.read_text("utf-8")
    path.write_text(text.replace("e", "a", 1), "utf-8")  # as large as it was
    after = contents(prepare_large(recipe))
    assert after != before
    assert after == contents(prepare_small(recipe, monkeypatch))
    assert kinds(home).count("split") == 2


def test_a_corpus_that_changes_while_it_is_read_is_refused(
    home: Path, make_recipe: RecipeMaker, corpus: Path, tmp_path: Path
) -> None:
    def touch(share: float, text: str) -> None:
        if text.startswith("turning"):
            os.utime(tmp_path / "own.en", (1, 1))

    with pytest.raises(UserError, match="was changed while it was read"):
        prepare_large(make_recipe(own_corpus(tmp_path, corpus)), touch)
    assert kinds(home) == ["split", "tokenizers"]


@pytest.mark.parametrize("name", ["source.ids.npy", "target.offsets.npy", "held-out.json", "source.tokenizer.json"])
def test_a_damaged_store_is_named_and_made_again(
    name: str, home: Path, make_recipe: RecipeMaker, digests: Digests, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = make_recipe("data.validation=[]")
    first, before = contents(prepare_large(recipe)), digests(home)
    (path,) = home.glob(f"*/{name}")
    path.write_bytes(path.read_bytes()[:-3])
    capsys.readouterr()
    assert contents(prepare_large(recipe)) == first
    assert f"{path}: damaged or truncated" in capsys.readouterr().out
    assert digests(home) == before


def test_more_pairs_than_can_be_read_again_are_refused_from_a_pipe(
    home: Path, make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe.tsv"
    os.mkfifo(pipe)
    writer = subprocess.Popen(["sh", "-c", f"yes 'eins\tone' | head -n {PAIRS} > '{pipe}'"])
    with writer, pytest.raises(UserError, match=r"pipe.tsv: not a regular file"):
        prepare_large(make_recipe(f'data.train=["{pipe}"]'))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("data.max_characters=2", "data.train: 400 pairs are too few"),
        ("data.max_tokens=1", "data.max_tokens = 1: no training pair"),
    ],
)
def test_settings_that_leave_nothing_are_refused(
    override: str, message: str, home: Path, make_recipe: RecipeMaker
) -> None:
    with pytest.raises(UserError, match=message):
        prepare_large(make_recipe(override))
    assert not {"parts", "pairs"} & set(kinds(home))


def test_too_many_pairs_to_validate_on_are_refused(make_recipe: RecipeMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_recipe().data
    monkeypatch.setattr(prepare, "MOST_PAIRS", 30)
    assert len(read_pairs(data.validation, data, None)) == 30
    monkeypatch.setattr(prepare, "MOST_PAIRS", 29)
    with pytest.raises(UserError, match=r"validation\.\{lang\}: more than 29 pairs"):
        read_pairs(data.validation, data, None)


def test_training_from_disk_gives_the_weights_of_training_from_memory(
    home: Path, make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = make_recipe("training.steps=20", "training.validations=2", "data.validation=[]", "model.dropout=0.2")
    assert train(recipe, tmp_path / "large")
    before = set(home.iterdir())
    assert kinds(home) == ["pairs", "split", "tokenizers"]
    unfinished = tmp_path / "large" / "bundle"
    weights = sha256(unfinished / "model.safetensors")
    for path in unfinished.iterdir():
        path.unlink()
    assert train(recipe, tmp_path / "large", resume=True)
    assert set(home.iterdir()) == before, "resuming, with the tokenizers of the run, opens the same store"
    monkeypatch.setattr(prepare, "IN_MEMORY_PAIRS", PAIRS)
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere")
    assert train(recipe, tmp_path / "small")
    assert {sha256(tmp_path / run / "bundle" / "model.safetensors") for run in ("large", "small")} == {weights}


LARGE = 120_000
"""Pairs that are large as things are."""


@pytest.fixture(scope="module")
def large_recipe(corpus: Path, make_recipe: RecipeMaker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("large")
    for language in ("de", "en"):
        (directory / f"train.{language}").write_bytes((corpus / f"train.{language}").read_bytes() * (LARGE // PAIRS))
    words = ("text.tokenizer=whitespace", "training.steps=5", "training.validations=1", "training.threads=2")
    save_recipe(make_recipe(f'data.train=["{directory}/train.{{lang}}"]', *words), directory / "large.toml")
    return directory / "large.toml"


MEASURE = """
import hashlib, sys
from pathlib import Path
from dragoman.recipe import load_recipe
from dragoman.dataset import prepare

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024

recipe, prepare.IN_MEMORY_PAIRS = load_recipe(Path(sys.argv[1])), int(sys.argv[2])
before = peak()
pairs = prepare.prepare(recipe, None, None, lambda text: None).train
print(peak() - before)
sides = pairs.source.ids.astype("int64").tobytes(), pairs.target.ids.astype("int64").tobytes()
print(bool(pairs.maps), len(pairs), *(hashlib.sha256(side).hexdigest() for side in sides))
"""


def test_what_was_killed_goes_on_and_takes_little_memory(
    large_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("the system does not tell how much memory was used at the most")

    def measure(limit: int) -> tuple[int, list[str]]:
        """Most memory taken while preparing, in bytes; whether it is mapped, and digests of the ids."""
        command = [sys.executable, "-c", MEASURE, str(large_recipe), str(limit)]
        printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        return int(printed[0]), printed[1].split()

    in_memory, expected = measure(LARGE)
    home = tmp_path / "dragoman" / "prepared"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    command = [sys.executable, "-m", "dragoman", "train", str(large_recipe), "--output", str(tmp_path / "run")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300
    while not list(home.glob("parts-*/0*.npz")):
        assert process.poll() is None, "ended before it could be killed"
        assert time.monotonic() < deadline, "nothing happens"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert "pairs" not in kinds(home)

    first, resumed = measure(prepare.IN_MEMORY_PAIRS)
    second, opened = measure(prepare.IN_MEMORY_PAIRS)
    assert expected[0] == "False"
    assert resumed == opened == ["True", *expected[1:]]
    assert kinds(home) == ["pairs", "split", "tokenizers"]
    assert first < 0.7 * in_memory, (first, second, in_memory)
    assert second < 0.2 * in_memory, (first, second, in_memory)
