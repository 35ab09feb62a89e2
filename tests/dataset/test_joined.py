"""Pairs that texts in several languages make together."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.writers import write_corpus
from dragoman.dataset import joined
from dragoman.dataset.joined import join_texts
from dragoman.dataset.pairs import find_training_corpora
from dragoman.dataset.tokenizer_training import balance
from dragoman.planning.plan import Texts
from dragoman.settings import Data, FilePair
from dragoman.system.progress import no_log

DIRECTIONS = (("de", "en"), ("en", "de"), ("en", "fr"), ("fr", "en"), ("de", "fr"), ("fr", "de"))
SHARED = [("eins", "one", "un"), ("zwei  Hunde", "two dogs", "deux chiens"), ("drei", "three", "trois")]


def write(directory: Path, languages: Languages, pairs: list[tuple[str, str]]) -> FilePair:
    name = f"{'-'.join(languages)}-{len(list(directory.iterdir()))}"
    write_corpus((Pair(*pair) for pair in pairs), f"{directory}/{name}.{{lang}}", languages)
    source, target = (str(directory / f"{name}.{code}") for code in languages)
    return FilePair(source=source, target=target, languages=languages)


def star(directory: Path, *others: FilePair) -> Data:
    """Text from and to English; other lines are in one corpus only."""
    first = [*((de, en) for de, en, _ in SHARED), ("vier", "four"), ("zwei", "two dogs")]
    second = [*((en.replace(" ", "  "), fr) for _, en, fr in SHARED), ("five", "cinq")]
    files = write(directory, ("de", "en"), first), write(directory, ("en", "fr"), second)
    return Data(source_language="de", target_language="en", directions=DIRECTIONS, train=(*files, *others), join=True)


def found(data: Data) -> dict[Languages, list[tuple[str, str]]]:
    pairs = list(find_training_corpora(join_texts(data, None, no_log), None))
    return {each: [(pair.source, pair.target) for pair in pairs if pair.direction == each] for each in DIRECTIONS}


@pytest.fixture(autouse=True)
def few_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(joined, "LEAST_SHARED", len(SHARED))


def test_a_line_of_two_corpora_makes_a_pair_in_both_directions(tmp_path: Path) -> None:
    pairs = found(star(tmp_path))
    assert pairs["de", "fr"] == [(de, fr) for de, _, fr in SHARED]
    assert pairs["fr", "de"] == [(target, source) for source, target in pairs["de", "fr"]]


def test_languages_with_a_corpus_get_no_more_pairs(tmp_path: Path) -> None:
    direct = write(tmp_path, ("fr", "de"), [("six", "sechs")])
    assert found(star(tmp_path, direct))["fr", "de"] == [("six", "sechs")]


@pytest.mark.parametrize("marks", [{"weight": 2.0}, {"tagged": True}, {"one_way": True}])
def test_marked_text_is_not_joined(tmp_path: Path, marks: dict[str, float]) -> None:
    data = star(tmp_path)
    first, second = data.weighted
    marked = data.model_copy(update={"train": (first.model_copy(update=marks), second)})
    assert join_texts(marked, None, no_log).train == marked.train


def test_text_from_and_to_one_language_may_have_all_directions(tmp_path: Path) -> None:
    data = star(tmp_path)
    text = Texts(data.languages, data.train, directions=DIRECTIONS[:4])
    assert set(text.with_joined().directions) == set(DIRECTIONS)
    assert set(text.with_joined().with_joined().directions) == set(DIRECTIONS)


def test_a_few_shared_lines_make_no_new_direction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined, "LEAST_SHARED", len(SHARED) + 1)
    assert not found(star(tmp_path))["de", "fr"]


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_new_directions_share_a_small_part_of_the_steps(tmp_path: Path, temperature: float) -> None:
    """At any temperature, if all corpora are of the same size; and none of their pairs is held out."""
    data = star(tmp_path).model_copy(update={"temperature": temperature})
    weights = [each.weight for each in join_texts(data, None, no_log).weighted]
    assert weights[:2] == [1, 1]
    assert weights[2] < data.least_held_out_weight
    shares = balance(dict(enumerate(weights)), temperature, 1.0)
    assert shares[2] == pytest.approx(joined.SHARE)


def test_it_can_be_switched_off_and_is_not_repeated(tmp_path: Path) -> None:
    data = star(tmp_path)
    more = join_texts(data, None, no_log)
    assert (len(more.train), more.join) == (len(data.train) + 1, False)
    off = data.model_copy(update={"join": False})
    assert join_texts(off, None, no_log) == off
