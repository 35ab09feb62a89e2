"""Encoding by several processes: the same as in one, whatever happens to them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dragoman.corpus.pair import Pair
from dragoman.dataset.encoding import Part, encode_pairs, encode_parts
from dragoman.dataset.token_store import IdStore, load_part
from dragoman.errors import UserError
from dragoman.settings import Text
from dragoman.text.registry import train_tokenizers
from dragoman.text.tokenizer import Tokenizer

PAIRS = [Pair("wort " * (number % 7), f"word {number} " * (number % 5)) for number in range(90)]
MAX_TOKENS = 6


@pytest.fixture(scope="module")
def tokenizers() -> tuple[Tokenizer, Tokenizer]:
    settings = Text(tokenizer="whitespace", joint=False)
    sources, targets = [pair.source for pair in PAIRS], [pair.target for pair in PAIRS]
    return train_tokenizers(sources, targets, settings, source_language="de", target_language="en")


def parts(directory: Path, size: int = 20) -> list[Part]:
    return [(directory / f"{start:03}.npz", PAIRS[start : start + size]) for start in range(0, len(PAIRS), size)]


def lists(side: IdStore) -> list[list[int]]:
    return [side[index].tolist() for index in range(len(side))]


def test_only_pairs_that_fit_are_encoded(tokenizers: tuple[Tokenizer, Tokenizer]) -> None:
    sources, targets = [pair.source for pair in PAIRS], [pair.target for pair in PAIRS]
    encoded = encode_pairs(sources, targets, *tokenizers, MAX_TOKENS)
    both = zip(*(side.encode(texts) for side, texts in zip(tokenizers, (sources, targets), strict=True)), strict=True)
    fitting = [pair for pair in both if all(0 < len(side) <= MAX_TOKENS for side in pair)]
    assert list(zip(lists(encoded.source), lists(encoded.target), strict=True)) == fitting
    assert 0 < len(fitting) < len(PAIRS)


@pytest.mark.parametrize("processes", [1, 3])
def test_processes_encode_what_one_would(
    processes: int,
    tokenizers: tuple[Tokenizer, Tokenizer],
    tmp_path: Path,
    digests: Callable[[Path], dict[str, str]],
) -> None:
    directories = tmp_path / "one", tmp_path / "other"
    for directory, size in zip(directories, (1, processes), strict=True):
        directory.mkdir()
        done = list(encode_parts(parts(directory), *tokenizers, MAX_TOKENS, size))
        assert sorted(done) == [10, 20, 20, 20, 20]
    assert digests(directories[0]) == digests(directories[1])
    for path, pairs in parts(directories[1]):
        loaded = load_part(path)
        assert loaded
        here = encode_pairs([pair.source for pair in pairs], [pair.target for pair in pairs], *tokenizers, MAX_TOKENS)
        assert lists(loaded.source) == lists(here.source)
        assert lists(loaded.target) == lists(here.target)


def test_stopping_leaves_whole_parts_only(tokenizers: tuple[Tokenizer, Tokenizer], tmp_path: Path) -> None:
    with closing(encode_parts(parts(tmp_path, size=3), *tokenizers, MAX_TOKENS, 2)) as done:
        next(done)
    written = list(tmp_path.iterdir())
    assert 1 <= len(written) < 30
    assert all(path.suffix == ".npz" and load_part(path) for path in written)


def test_a_part_that_cannot_be_written_is_told(tokenizers: tuple[Tokenizer, Tokenizer], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"absent/0\d0.npz: could not be saved: No such file"):
        list(encode_parts(parts(tmp_path / "absent"), *tokenizers, MAX_TOKENS, 2))


def test_a_killed_process_is_told(
    tokenizers: tuple[Tokenizer, Tokenizer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []

    class Popen(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **settings: Any) -> None:
            super().__init__(*arguments, **settings)
            started.append(self)

    def kill_all() -> Iterator[Part]:
        first, *others = parts(tmp_path)
        yield first
        for process in started:
            process.kill()
        yield from others

    monkeypatch.setattr(subprocess, "Popen", Popen)
    with pytest.raises(UserError, match="a process that encodes text has ended with code -9"):
        list(encode_parts(kill_all(), *tokenizers, MAX_TOKENS, 2))
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)
