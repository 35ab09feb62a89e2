"""The tiny corpus, prepared as a small or as a large one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.dataset import prepare
from dragoman.dataset.prepare import Dataset
from dragoman.settings import Recipe
from dragoman.system.progress import Update, no_update

PAIRS = 400
"""Of the tiny corpus."""

SHARD = 64


def treat_as_large(monkeypatch: pytest.MonkeyPatch, directory: Path) -> Path:
    """Make the tiny corpus a large one; returns the directory where it will be prepared."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(directory))
    monkeypatch.setattr(prepare, "IN_MEMORY_PAIRS", PAIRS - 1)
    monkeypatch.setattr(prepare, "SHARD_PAIRS", SHARD)
    return directory / "dragoman" / "prepared"


def treat_as_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make it a small one again, which needs no cache."""
    monkeypatch.setattr(prepare, "IN_MEMORY_PAIRS", PAIRS)
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere")


def prepare_dataset(recipe: Recipe, update: Update = no_update) -> Dataset:
    return prepare.prepare(recipe, None, None, print, update)


def prepare_small(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    with monkeypatch.context() as patch:
        treat_as_small(patch)
        return prepare_dataset(recipe)


def contents(dataset: Dataset) -> dict[str, Any]:
    """Everything that training reads."""
    sides = dataset.train.source, dataset.train.target
    return {
        "ids": [[side[index].tolist() for index in range(len(side))] for side in sides],
        "tokenizers": [dataset.source.to_json(), dataset.target.to_json()],
        "validation": dataset.validation,
        "dropped": dataset.dropped,
        "dictionary": dataset.dictionary,
        "lexicon": dataset.lexicon,
    }


def kinds(home: Path) -> list[str]:
    """Kinds of the entries in the cache."""
    return sorted(path.name.split("-")[0] for path in home.iterdir() if path.is_dir())
