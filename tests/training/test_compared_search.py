"""Rows of the card of a student: the data type that an engine computes with, and the size of what it reads."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from dragoman.corpus.pair import Pair
from dragoman.engines.choose import ENGINES
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.training.compare import COLUMNS, REPEATS, ComparedSearch, compare_with_teachers

pytest.importorskip("ctranslate2")


def row(run: Path, copies: int = 1) -> list[str]:
    """Engine, and megabytes on disk, of a bundle or of an ensemble of copies."""
    search = ComparedSearch.open(BundleEnsemble.load([str(run)] * copies, ("de", "en")))
    search.texts = search.translate(["Ein Hund."])
    engine, *_, size = search.columns(["A dog."], 1)[1:]
    return [engine, size]


def test_an_ensemble_reads_the_files_of_all_its_bundles(finished_run: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(finished_run / "bundle", bundle, ignore=shutil.ignore_patterns("ctranslate2-*"))
    size = sum(file.stat().st_size for file in bundle.iterdir() if file.name != "README.md") / 1e6
    engine, shown = row(bundle, 2)
    assert shown == f"{2 * size:.1f}{'' if engine.endswith('float32') else ' (float32)'}"
    assert not shown.startswith("0.0")


def test_greedy_search_of_a_teacher_is_greedy_although_its_recipe_samples(finished_run: Path) -> None:
    student = BundleEnsemble.load([str(finished_run)], ("de", "en"))
    (bundle,) = student.bundles
    sampling = bundle.recipe.model_copy(
        update={"decoding": bundle.recipe.decoding.model_copy(update={"mbr_samples": 2, "max_length": 5})}
    )
    teachers = replace(student, bundles=[replace(bundle, recipe=sampling)])
    card = compare_with_teachers(student, teachers, "a text", [Pair("Ein Hund.", "A dog.")])
    assert ["greedy" in row[1] for row in card.rows[:2]] == [False, True]


@pytest.mark.parametrize(("seconds", "calls"), [(0.0, 2), (1e6, REPEATS + 1)])
def test_a_slow_comparison_is_not_repeated(
    seconds: float, calls: int, finished_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call of each search does not count."""
    searches: list[int] = []
    translate = ComparedSearch.translate

    def counted(self: ComparedSearch, sources: Sequence[str]) -> list[str]:
        searches.append(id(self))
        return translate(self, sources)

    monkeypatch.setattr(ComparedSearch, "translate", counted)
    monkeypatch.setattr("dragoman.training.compare.MAX_SECONDS", seconds)
    monkeypatch.setattr("dragoman.training.compare.count_repeats", lambda text: 1)
    student = BundleEnsemble.load([str(finished_run)], ("de", "en"))
    compare_with_teachers(student, student, "a text", [Pair("Ein Hund.", "A dog.")])
    assert Counter(searches).most_common() == [(each, calls) for each in dict.fromkeys(searches)]
    assert len(set(searches)) == 3


def test_the_data_type_is_the_one_that_the_engine_computes_with(
    finished_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert row(finished_run)[0] == "ctranslate2 int8"
    monkeypatch.setattr(import_module("dragoman.engines.choose"), "ENGINES", {"torch": ENGINES["torch"]})
    assert row(finished_run)[0] == "torch float32"


@pytest.mark.parametrize("unusual", ["a a a a a a", "", " "])
def test_the_speed_is_measured_on_usual_translations(
    unusual: str, finished_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A student that repeats words until it is cut off would seem slow, and one that writes nothing, fast."""
    timed: list[list[str]] = []
    sources = [f"Ein Hund {number}." for number in range(6)]

    def translate(self: ComparedSearch, texts: Sequence[str]) -> list[str]:
        timed.append(list(texts))
        self.seconds.append(1.0)
        return [unusual if text in others else "A dog." for text in texts]

    monkeypatch.setattr(ComparedSearch, "translate", translate)
    student = BundleEnsemble.load([str(finished_run)], ("de", "en"))
    pairs = [Pair(source, "A dog.") for source in sources]
    others = sources[:2]
    card = compare_with_teachers(student, student, "a text", pairs)
    assert timed[:3] == [sources] * 3
    assert timed[3:] == [sources[2:]] * (len(timed) - 3)
    assert "without 2 sentences whose translations are empty or repeat words" in card.sentences[0]
    assert card.rows[0][COLUMNS.index("sentences/s") + 1] == "4"
    assert "These are only 6 sentences, so scores and speed are uncertain." in card.sentences[0]
    others = sources[:4]
    card = compare_with_teachers(student, student, "a text", pairs)
    assert (
        "the speed was not measured, because 4 translations are empty or repeat words over and over"
        in card.sentences[0]
    )
    assert card.rows[0][COLUMNS.index("sentences/s") + 1] == "not measured"
