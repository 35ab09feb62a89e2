"""From corpora to datasets: which pairs are held out, filtered or rejected, for small and large corpora."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from preparation import PAIRS, contents, kinds, prepare_dataset, prepare_small, treat_as_large, treat_as_small

from dragoman.corpus.pair import Pair
from dragoman.dataset.pairs import read_pairs
from dragoman.dataset.prepare import Dataset, prepare, train_recipe_tokenizers
from dragoman.errors import UserError
from dragoman.recipe import save_recipe
from dragoman.system.files import sha256
from dragoman.training.run.run import train

if TYPE_CHECKING:
    from conftest import RecipeMaker


@pytest.fixture(params=["small", "large"])
def size(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the tiny corpus is treated."""
    if request.param == "large":
        treat_as_large(monkeypatch, tmp_path / "cache")
    else:
        treat_as_small(monkeypatch)
    return str(request.param)


@pytest.fixture(scope="module")
def pairs(make_recipe: RecipeMaker) -> list[Pair]:
    data = make_recipe().data
    return read_pairs([each.corpus for each in data.weighted], data, None)


def texts(dataset: Dataset) -> list[tuple[str, str]]:
    """The training pairs, decoded."""
    source, target, train = dataset.source, dataset.target, dataset.train
    return [
        (source.decode(train.source[index].tolist()), target.decode(train.target[index].tolist()))
        for index in range(len(train))
    ]


def test_ids_decode_to_the_training_pairs(size: str, make_recipe: RecipeMaker, pairs: list[Pair], corpus: Path) -> None:
    dataset = prepare_dataset(make_recipe())
    assert bool(dataset.train.maps) == (size == "large")
    assert texts(dataset) == [(pair.source, pair.target) for pair in pairs]
    assert [pair.target for pair in dataset.validation] == (corpus / "validation.en").read_text().splitlines()
    assert dataset.dropped == 0


@pytest.mark.parametrize(("wanted", "held_out"), [(7, 7), (1000, 40)])
def test_validation_pairs_are_held_out_of_training(
    size: str, wanted: int, held_out: int, make_recipe: RecipeMaker, pairs: list[Pair]
) -> None:
    dataset = prepare_dataset(make_recipe("data.validation=[]", f"data.validation_pairs={wanted}"))
    assert len(dataset.validation) == held_out, "the requested number, but at most a tenth"
    sources, targets = (set(side) for side in zip(*texts(dataset), strict=True))
    assert not sources & {pair.source for pair in dataset.validation}
    assert not targets & {pair.target for pair in dataset.validation}
    assert {*texts(dataset)} | {(pair.source, pair.target) for pair in dataset.validation} == {
        (pair.source, pair.target) for pair in pairs
    }


def test_long_pairs_are_left_out_and_counted(size: str, make_recipe: RecipeMaker, pairs: list[Pair]) -> None:
    longest = max(len(text) for pair in pairs for text in (pair.source, pair.target))
    short = prepare_dataset(make_recipe(f"data.max_characters={longest}"))
    assert 0 < short.dropped < len(pairs)
    assert len(short.train) + short.dropped == len(pairs)
    assert all(len(source) < longest and len(target) < longest for source, target in texts(short))

    few = prepare_dataset(make_recipe("data.max_tokens=15"))
    assert 0 < few.dropped < len(pairs)
    assert max(few.train.source.lengths.max(), few.train.target.lengths.max()) == 15


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("data.validation=[]", "data.validation_pairs=30", "training.threads=2"),
        ("data.max_characters=45", "data.max_tokens=14", "text.subword_pairs=90"),
        ("data.validation=[]", "text.subword_pairs=90"),
        ("text.tokenizer=whitespace", "text.joint=false", "model.tie=target", "text.minimum_frequency=2"),
    ],
    ids=["validation", "held-out", "filters", "sample", "words"],
)
def test_a_large_corpus_is_prepared_like_a_small_one(
    overrides: tuple[str, ...], make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, recipe = treat_as_large(monkeypatch, tmp_path), make_recipe(*overrides)
    large = prepare_dataset(recipe)
    assert large.train.maps
    assert kinds(home) == ["pairs", "split", "tokenizers"], "the shards are deleted"
    small = prepare_small(recipe, monkeypatch)
    assert not small.train.maps
    assert contents(large) == contents(small)


def test_pairs_with_a_blank_side_are_skipped(make_recipe: RecipeMaker, tmp_path: Path) -> None:
    (tmp_path / "x.de").write_text("eins\n\nzwei\n \ndrei\n")
    (tmp_path / "x.en").write_text("one\ntwo\n\t\n\nthree\n")
    recipe = make_recipe(f'data.train=["{tmp_path}/x.{{lang}}"]')
    assert texts(prepare_dataset(recipe)) == [("eins", "one"), ("drei", "three")]


def test_given_tokenizers_are_used(size: str, make_recipe: RecipeMaker, prepared: Dataset) -> None:
    given = prepared.source, prepared.target
    again = prepare(make_recipe("text.vocabulary_size=300"), None, given, print)
    assert (again.source, again.target) == given
    assert contents(again) == contents(prepared)


def test_tokenizers_alone_are_those_of_the_dataset(size: str, make_recipe: RecipeMaker) -> None:
    recipe = make_recipe("data.validation=[]")
    dataset, alone = prepare_dataset(recipe), train_recipe_tokenizers(recipe, None)
    assert [tokenizer.to_json() for tokenizer in alone] == contents(dataset)["tokenizers"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("data.max_characters=2", "data.train: 400 pairs, too few"),
        ("data.max_tokens=1", "data.max_tokens = 1: no training pair"),
        ("text.vocabulary_size=100", "text.vocabulary_size = 100"),
    ],
)
def test_settings_that_leave_nothing_are_refused(
    size: str, override: str, message: str, make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        prepare_dataset(make_recipe(override))
    if size == "large":
        assert not {"shards", "pairs"} & set(kinds(tmp_path / "cache" / "dragoman" / "prepared"))


def test_validation_without_a_whole_pair_is_refused(make_recipe: RecipeMaker, tmp_path: Path) -> None:
    (tmp_path / "halves.tsv").write_text("eins\t\n\ttwo\n")
    with pytest.raises(UserError, match=r"data\.validation: no pair has text on both sides"):
        prepare_dataset(make_recipe(f'data.validation=["{tmp_path}/halves.tsv"]'))


@pytest.mark.parametrize("size", ["small", "large"])
def test_only_a_small_corpus_may_come_from_a_pipe(
    size: str, make_recipe: RecipeMaker, pairs: list[Pair], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, file = tmp_path / "pipe.tsv", tmp_path / "file.tsv"
    os.mkfifo(pipe)
    file.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), "utf-8")
    if size == "large":
        treat_as_large(monkeypatch, tmp_path)
    with subprocess.Popen(["sh", "-c", f"cat '{file}' > '{pipe}'"], stderr=subprocess.DEVNULL):
        if size == "large":
            with pytest.raises(UserError, match=r"pipe.tsv: not a regular file"):
                prepare_dataset(make_recipe(f'data.train=["{pipe}"]'))
        else:
            dataset = prepare_dataset(make_recipe(f'data.train=["{pipe}"]'))
            assert contents(dataset) == contents(prepare_dataset(make_recipe()))


def test_a_small_corpus_leaves_no_files(
    make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dataset = prepare_dataset(make_recipe())
    assert list(tmp_path.iterdir()) == []
    assert len(texts(dataset)) == PAIRS


def test_a_small_corpus_starts_no_process(make_recipe: RecipeMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("a process is started")

    monkeypatch.setattr("dragoman.system.resumable._fork", refuse)
    assert len(prepare_dataset(make_recipe("training.threads=2")).train) == PAIRS


def test_a_missing_temporary_directory_is_an_error(
    make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(UserError, match="cannot create a temporary directory: No such file or directory; set TMPDIR"):
        prepare_dataset(make_recipe())


@pytest.mark.usefixtures("bare_runs")
def test_training_on_a_large_corpus_gives_the_weights_of_training_on_a_small_one(
    make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = treat_as_large(monkeypatch, tmp_path / "cache")
    recipe = make_recipe("training.steps=6", "training.validations=1", "data.validation=[]", "model.dropout=0.2")
    assert train(recipe, tmp_path / "large")
    before = set(home.iterdir())
    assert kinds(home) == ["pairs", "split", "tokenizers"]
    unfinished = tmp_path / "large" / "bundle"
    weights = sha256(unfinished / "model.safetensors")
    for path in unfinished.iterdir():
        path.unlink()
    assert train(recipe, tmp_path / "large", resume=True)
    assert set(home.iterdir()) == before, "a resumed run, with its own tokenizers, opens the same entries"
    treat_as_small(monkeypatch)
    assert train(recipe, tmp_path / "small")
    assert {sha256(tmp_path / run / "bundle" / "model.safetensors") for run in ("large", "small")} == {weights}


PREPARE = """
import sys
from pathlib import Path
from dragoman.dataset import prepare
from dragoman.recipe import load_recipe

print("main module", flush=True)
prepare.IN_MEMORY_PAIRS, prepare.SHARD_PAIRS = 399, 64
print(len(prepare.prepare(load_recipe(Path(sys.argv[1])), None, None, lambda text: None).train))
"""


def test_a_program_without_a_main_module_guard_prepares_a_large_corpus(
    make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    save_recipe(make_recipe("training.threads=2"), tmp_path / "recipe.toml")
    command = [sys.executable, "-", str(tmp_path / "recipe.toml")]
    done = subprocess.run(command, input=PREPARE, capture_output=True, text=True, timeout=60)
    assert (done.stdout.splitlines(), done.stderr) == (["main module", str(PAIRS)], "")
