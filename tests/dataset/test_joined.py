"""Pairs that texts in several languages make together."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.text_references import FileOptions, find_texts
from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.writers import write_corpus
from dragoman.dataset.joined import join_texts
from dragoman.dataset.pairs import find_training_corpora
from dragoman.settings import CorpusReference, Data, FilePair
from dragoman.system.progress import no_log

DIRECTIONS = (("de", "en"), ("en", "de"), ("en", "fr"), ("fr", "en"), ("de", "fr"), ("fr", "de"))
SHARED = [("eins", "one", "un"), ("zwei  Hunde", "two dogs", "deux chiens"), ("drei", "three", "trois")]


def write(directory: Path, languages: Languages, pairs: list[tuple[str, str]]) -> FilePair:
    name = "-".join(languages)
    write_corpus((Pair(*pair) for pair in pairs), f"{directory}/{name}.{{lang}}", languages)
    source, target = (str(directory / f"{name}.{code}") for code in languages)
    return FilePair(source=source, target=target, languages=languages)


def star(directory: Path, *others: FilePair) -> Data:
    """Text from and to English; other lines are in one corpus only."""
    first = write(directory, ("de", "en"), [(de, en) for de, en, _ in SHARED] + [("vier", "four"), ("zwei", "two dogs")])
    second = write(directory, ("en", "fr"), [(en.replace(" ", "  "), fr) for _, en, fr in SHARED] + [("five", "cinq")])
    return Data(
        source_language="de", target_language="en", directions=DIRECTIONS, train=(first, second, *others), join=True
    )


def found(data: Data) -> dict[Languages, list[tuple[str, str]]]:
    pairs = list(find_training_corpora(join_texts(data, None, no_log), None))
    return {each: [(pair.source, pair.target) for pair in pairs if pair.direction == each] for each in DIRECTIONS}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_line_of_two_corpora_makes_a_pair_in_both_directions(tmp_path: Path) -> None:
    pairs = found(star(tmp_path))
    assert pairs["de", "fr"] == [(de, fr) for de, _, fr in SHARED]
    assert pairs["fr", "de"] == [(target, source) for source, target in pairs["de", "fr"]]


def test_known_pairs_are_not_repeated(tmp_path: Path) -> None:
    direct = write(tmp_path, ("fr", "de"), [("deux  chiens", "zwei Hunde"), ("six", "sechs")])
    pairs = found(star(tmp_path, direct))["fr", "de"]
    assert sorted(pairs) == sorted([("deux  chiens", "zwei Hunde"), ("six", "sechs"), ("un", "eins"), ("trois", "drei")])


@pytest.mark.parametrize("marks", [{"weight": 2.0}, {"tagged": True}, {"one_way": True}])
def test_marked_text_is_not_joined(tmp_path: Path, marks: dict[str, float]) -> None:
    data = star(tmp_path)
    first, second = data.weighted
    marked = data.model_copy(update={"train": (first.model_copy(update=marks), second)})
    assert join_texts(marked, None, no_log).train == marked.train


def test_a_list_of_languages_asks_for_all_directions_that_shared_lines_give(tmp_path: Path) -> None:
    files = [file for each in star(tmp_path).weighted for file in _names(each.corpus)]
    assert set(find_texts(files, FileOptions(languages="de,en,fr")).directions) == set(DIRECTIONS)
    assert set(find_texts(files, FileOptions()).directions) == set(DIRECTIONS[:4])


def _names(corpus: CorpusReference) -> list[str]:
    assert isinstance(corpus, FilePair)
    return [corpus.source, corpus.target]


def test_it_can_be_switched_off_and_is_not_repeated(tmp_path: Path) -> None:
    data = star(tmp_path)
    joined = join_texts(data, None, no_log)
    assert len(joined.train) == len(data.train) + 1
    assert join_texts(joined, None, no_log) == joined
    off = data.model_copy(update={"join": False})
    assert join_texts(off, None, no_log) == off
