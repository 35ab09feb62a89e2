"""What is prepared on disk is prepared once, in spite of interruptions, damage and full disks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from preparation import PAIRS, SHARD, contents, kinds, prepare_dataset, treat_as_large

from dragoman.dataset import prepare
from dragoman.dataset.prepare import train_recipe_tokenizers
from dragoman.dataset.token_store import save_shard
from dragoman.errors import UserError

if TYPE_CHECKING:
    from conftest import FileLimit, RecipeMaker

Digests = Callable[[Path], dict[str, str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the tiny corpus is prepared as a large one."""
    return treat_as_large(monkeypatch, tmp_path / "cache")


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the shards that are encoded from now on."""
    names: list[str] = []

    def record(path: Path, *arguments: Any, **named: Any) -> None:
        names.append(path.name)
        save_shard(path, *arguments, **named)

    monkeypatch.setattr(prepare, "save_shard", record)
    return names


class Interruption:
    """Ctrl-C, once a number of pairs are encoded."""

    def __init__(self, pairs: int) -> None:
        self.pairs = pairs

    def __call__(self, share: float | None, text: str) -> None:
        if text.startswith("encoding") and share is not None and round(share * PAIRS) >= self.pairs:
            raise KeyboardInterrupt


def test_the_second_time_no_text_is_read(
    home: Path, make_recipe: RecipeMaker, digests: Digests, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = make_recipe("data.validation=[]")
    first, before = contents(prepare_dataset(recipe)), digests(home)

    def refuse(*arguments: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr("dragoman.corpus.aligned.read_lines", refuse)
    assert contents(prepare_dataset(recipe)) == first
    assert train_recipe_tokenizers(recipe, None)[0].to_json() == first["tokenizers"][0]
    assert digests(home) == before


def test_any_number_of_processes_writes_the_same_files(
    make_recipe: RecipeMaker, digests: Digests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    for threads in (1, 3):
        home = treat_as_large(monkeypatch, tmp_path / str(threads))
        prepare_dataset(make_recipe(f"training.threads={threads}"))
        written.append(digests(home))
    assert any(name.endswith("source.ids.npy") for name in written[0])
    assert written[0] == written[1]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_preparation_continues_where_it_stopped(
    threads: int,
    home: Path,
    make_recipe: RecipeMaker,
    digests: Digests,
    encoded: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    recipe = make_recipe(f"training.threads={threads}")
    prepare_dataset(recipe)
    uninterrupted, every_shard = digests(home), sorted(encoded)
    assert len(every_shard) == -(-PAIRS // SHARD)
    home = treat_as_large(monkeypatch, tmp_path / "other")

    for pairs in (SHARD, 3 * SHARD):
        with pytest.raises(KeyboardInterrupt):
            prepare_dataset(recipe, Interruption(pairs))
        assert "interrupted while preparing text; run the same command again" in capsys.readouterr().out
        assert kinds(home) == ["shards", "split", "tokenizers"]
    (shards,) = home.glob("shards-*")
    kept = {path.name for path in shards.iterdir()}
    assert 3 <= len(kept) < len(every_shard)
    encoded.clear()
    prepare_dataset(recipe)
    assert sorted(encoded) == sorted(set(every_shard) - kept)
    assert digests(home) == uninterrupted


def test_a_damaged_shard_is_named_and_encoded_again(
    home: Path, make_recipe: RecipeMaker, encoded: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        prepare_dataset(make_recipe(), Interruption(2 * SHARD))
    damaged = sorted(next(home.glob("shards-*")).iterdir())[0]
    damaged.write_bytes(damaged.read_bytes()[:-50])
    encoded.clear()
    resumed = prepare_dataset(make_recipe())
    assert f"{damaged}: damaged; computing it again" in capsys.readouterr().out
    assert damaged.name in encoded
    assert len(resumed.train) == PAIRS


@pytest.mark.parametrize("name", ["source.ids.npy", "target.offsets.npy", "held-out.json", "source.tokenizer.json"])
def test_a_damaged_file_is_named_and_built_again(
    name: str, home: Path, make_recipe: RecipeMaker, digests: Digests, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = make_recipe("data.validation=[]")
    first, before = contents(prepare_dataset(recipe)), digests(home)
    (path,) = home.glob(f"*/{name}")
    path.write_bytes(path.read_bytes()[:-3])
    capsys.readouterr()
    assert contents(prepare_dataset(recipe)) == first
    assert f"{path}: damaged or truncated" in capsys.readouterr().out
    assert digests(home) == before


@pytest.mark.parametrize(("work", "kept"), [("reading", []), ("encoding", ["split", "tokenizers"])])
def test_a_corpus_that_changes_while_it_is_read_is_refused(
    work: str,
    kept: list[str],
    home: Path,
    make_recipe: RecipeMaker,
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dragoman.system.progress.TRACKED_PAIRS", 1)
    for language in ("de", "en"):
        (tmp_path / f"own.{language}").write_bytes((corpus / f"train.{language}").read_bytes())

    def touch(share: float | None, text: str) -> None:
        if text.startswith(f"{work}:"):
            os.utime(tmp_path / "own.en", (1, 1))

    with pytest.raises(UserError, match="was changed while it was read"):
        prepare_dataset(make_recipe(f'data.train=["{tmp_path}/own.{{lang}}"]'), touch)
    assert kinds(home) == kept


@pytest.mark.parametrize("threads", [1, 2])
def test_a_full_disk_is_an_error_and_what_is_encoded_is_kept(
    threads: int, home: Path, make_recipe: RecipeMaker, files_limited_to: FileLimit
) -> None:
    recipe = make_recipe(f"training.threads={threads}")
    train_recipe_tokenizers(recipe, None)
    with (
        files_limited_to(3_000),
        pytest.raises(UserError, match=r"-\w+\.npz: could not be saved: File too large"),
    ):
        prepare_dataset(recipe)
    assert kinds(home) == ["shards", "split", "tokenizers"]
    with files_limited_to(15_000), pytest.raises(UserError, match=r"pairs-\w+: could not be saved: File too large"):
        prepare_dataset(recipe)
    assert kinds(home) == ["shards", "split", "tokenizers"]
    assert len(list(home.glob("shards-*/*.npz"))) == -(-PAIRS // SHARD)
    assert len(prepare_dataset(recipe).train) == PAIRS
