"""Machine-translated text in a plan: tagged, weighted, and never validation or test text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from dragoman.cli.text_references import FileOptions, find_texts
from dragoman.corpus.pair import Pair
from dragoman.corpus.writers import write_corpus
from dragoman.dataset.pairs import find_training_corpora, mark_machine_made
from dragoman.errors import UserError
from dragoman.languages.codes import is_machine_translated, machine_translated, plain_tag
from dragoman.planning.machine_text import MOST_PER_PAIR, weigh_machine_text
from dragoman.settings import Data, WeightedCorpus
from dragoman.settings.data import resolve_directions
from dragoman.system.progress import no_log

LANGUAGES = ("de", "hsb")


def write_machine_text(path: Path, number: int, *, from_target: bool = False) -> str:
    pairs = [Pair(f"Satz {each} ist da.", f"Sada {each} je tu.") for each in range(number)]
    stated = (machine_translated("de", "hsb"), "hsb") if from_target else ("de", machine_translated("hsb", "de"))
    write_corpus(pairs, str(path), stated)
    return str(path)


@pytest.fixture
def human(tmp_path: Path) -> str:
    write_corpus([Pair(f"Mensch {each}", f"Člowjek {each}") for each in range(20)], f"{tmp_path}/human.tsv", LANGUAGES)
    return f"{tmp_path}/human.tsv"


def test_tags_of_machine_translated_text() -> None:
    for tag in (machine_translated("hsb", "de"), machine_translated("pt-BR", "zh-Hant-TW")):
        assert is_machine_translated(tag)
    assert plain_tag(machine_translated("pt-BR", "de-AT")) == "pt-BR"
    assert not any(map(is_machine_translated, ["de", "de-t0", "en-t-de", "a sentence-t-x-t0-y"]))


@pytest.mark.parametrize("number", [30, 1000])
@pytest.mark.parametrize("from_target", [False, True])
def test_it_is_tagged_and_not_too_much_of_an_epoch(number: int, from_target: bool, human: str, tmp_path: Path) -> None:
    made = write_machine_text(tmp_path / "made.tsv", number, from_target=from_target)
    train = weigh_machine_text([human, made], LANGUAGES, False, None, no_log)
    assert train[0] == human
    chosen = train[1]
    assert isinstance(chosen, WeightedCorpus)
    assert chosen.tagged
    assert chosen.weight * number == pytest.approx(min(number, MOST_PER_PAIR * 20), rel=0.01)


def test_a_recipe_need_not_say_so(human: str, tmp_path: Path) -> None:
    made = write_machine_text(tmp_path / "made.tsv", 5)
    data = Data(source_language="de", target_language="hsb", train=(human, made))
    assert [each.tagged for each in mark_machine_made(data, None).weighted] == [False, True]
    tagged = {pair.source: pair.tagged for pair in find_training_corpora(data, None)}
    assert (tagged["Mensch 1"], tagged["Satz 1 ist da."]) == (False, True)


@pytest.mark.parametrize("codes", ["de,hsb,en", "en,hsb,de"])
@pytest.mark.parametrize("from_target", [False, True])
def test_a_model_of_many_languages_uses_it_in_both_directions_of_its_own(
    codes: str, from_target: bool, tmp_path: Path
) -> None:
    made = write_machine_text(tmp_path / "made.tsv", 5, from_target=from_target)
    for code in ("de", "en"):
        (tmp_path / f"human.{code}").write_text("one\ntwo\n", "utf-8")
    found = find_texts([f"{tmp_path}/human.{{lang}}", made], FileOptions(codes))
    data = Data.model_validate(
        resolve_directions({"train": [WeightedCorpus(corpus=each).model_dump() for each in found.references]})
    )
    assert [each.tagged for each in mark_machine_made(data, None).weighted] == [False, True]
    pairs = [pair for pair in find_training_corpora(data, None) if pair.tagged]
    assert Counter(pair.direction for pair in pairs) == {("de", "hsb"): 5, ("hsb", "de"): 5}
    assert {pair.source.split()[0] for pair in pairs if pair.direction == ("hsb", "de")} == {"Sada"}


@pytest.mark.parametrize("key", ["validation", "test"])
def test_it_is_no_validation_or_test_text(key: str, human: str, tmp_path: Path) -> None:
    made = write_machine_text(tmp_path / "made.tsv", 5)
    data = Data.model_validate({"source_language": "de", "target_language": "hsb", "train": (human,), key: (made,)})
    with pytest.raises(UserError, match=rf"data\.{key}: .* is machine-translated"):
        find_training_corpora(data, None)


def test_it_is_not_enough_alone(tmp_path: Path) -> None:
    made = write_machine_text(tmp_path / "made.tsv", 5)
    with pytest.raises(UserError, match="--validation"):
        weigh_machine_text([made], LANGUAGES, False, None, no_log)
    (only,) = weigh_machine_text([made], LANGUAGES, True, None, no_log)
    assert isinstance(only, WeightedCorpus)
    assert only.weight == 1
