"""Pairs of corpora: read again from files, or kept in memory."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dragoman.corpus.pair import Corpus, Pair
from dragoman.dataset import pairs as module
from dragoman.dataset.pairs import CorpusChangedError, CorpusPairs, find_training_corpora, read_pairs
from dragoman.doctor.data.corpora import corpora_of_recipe
from dragoman.errors import UserError
from dragoman.planning.student import data_of_directions
from dragoman.settings import CorpusFile, CorpusReference, Data, FilePair
from dragoman.settings.data import direction_problem, resolve_directions

if TYPE_CHECKING:
    from conftest import RecipeMaker

PAIRS = [Pair("s" * (index % 5), "t" * (index % 7)) for index in range(97)]
COMPLETE = [pair for pair in PAIRS if pair.source and pair.target]


@pytest.fixture
def corpora() -> CorpusPairs:
    corpus = Corpus("numbers", lambda: iter(PAIRS))
    return CorpusPairs([corpus, corpus])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "numbers.tsv"
    path.write_text("eins\tone\nzwei\ttwo\n")
    return path


def from_file(file: Path) -> CorpusPairs:
    return CorpusPairs([Corpus("numbers", lambda: iter(COMPLETE), (file,))])


def test_pairs_with_text_on_both_sides_are_read_repeatedly(corpora: CorpusPairs) -> None:
    assert 0 < len(COMPLETE) < len(PAIRS)
    assert list(corpora) == list(corpora) == COMPLETE * 2


def test_few_pairs_are_kept_in_memory(corpora: CorpusPairs) -> None:
    assert corpora.load(2 * len(COMPLETE)) == COMPLETE * 2
    assert corpora.load(2 * len(COMPLETE) - 1) is None


def test_a_file_that_changes_while_it_is_read_is_refused(file: Path) -> None:
    corpora = from_file(file)
    assert list(corpora) == COMPLETE
    file.write_text("eins\tone\nzwei\ttoo\n")
    os.utime(file, (1, 1))
    with pytest.raises(CorpusChangedError, match=r"numbers: a file of this corpus was changed while it was read"):
        list(corpora)
    assert list(from_file(file)) == COMPLETE


def test_the_fingerprint_depends_on_names_and_files(file: Path, tmp_path: Path) -> None:
    before = from_file(file).fingerprint
    assert from_file(file).fingerprint == before
    seen = [before]
    os.utime(file, (1, 1))
    seen.append(from_file(file).fingerprint)
    file.write_text("eins\tone\n")
    os.utime(file, (1, 1))
    seen.append(from_file(file).fingerprint)
    seen.append(from_file(file.rename(tmp_path / "other.tsv")).fingerprint)
    seen.append(CorpusPairs([Corpus("other", lambda: iter(PAIRS))]).fingerprint)
    assert all(seen.count(fingerprint) == 1 for fingerprint in seen)


def test_a_pipe_can_be_read_once(make_recipe: RecipeMaker, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.tsv"
    os.mkfifo(pipe)
    corpora = find_training_corpora(make_recipe(f'data.train=["{pipe}"]').data, None)
    with subprocess.Popen(["sh", "-c", f"printf 'eins\\tone\\nzwei\\ttwo\\n' > '{pipe}'"]):
        assert corpora.load(2) == [Pair("eins", "one"), Pair("zwei", "two")]
    with pytest.raises(UserError, match=r"pipe.tsv: not a regular file"):
        corpora.check_files()


def test_too_many_pairs_to_validate_on_are_refused(make_recipe: RecipeMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_recipe().data
    monkeypatch.setattr(module, "EVALUATION_PAIRS", 30)
    assert len(read_pairs(data.validation, data, None)) == 30
    monkeypatch.setattr(module, "EVALUATION_PAIRS", 29)
    with pytest.raises(UserError, match=r"validation\.\{lang\}: more than 29 pairs"):
        read_pairs(data.validation, data, None)


FILES = {
    "m.tsv": "pos\tHund\n",
    "m.csv": "pos,Hund\n",
    "m.jsonl": '{"source": "pos", "target": "Hund"}\n',
    "n.jsonl": '{"hsb": "pos", "de": "Hund"}\n',
    "m.hsb": "pos\n",
    "m.de": "Hund\n",
    "one": "pos\n",
}


@pytest.mark.parametrize(
    "corpus",
    [
        "m.tsv",
        "m.csv",
        "m.jsonl",
        FilePair(source="one", target="m.de"),
        "m.{lang}",
        "n.jsonl",
        FilePair(source="m.hsb", target="m.de"),
        CorpusFile(file="m.tsv", languages=("hsb", "de")),
    ],
    ids=str,
)
def test_held_out_text_is_in_the_languages_of_the_recipe_unless_it_is_named_after_others(
    corpus: CorpusReference, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, "utf-8")
    directions = (("hsb", "de"), ("de", "hsb"), ("dsb", "de"))
    data = Data(source_language="hsb", target_language="de", train=("m.tsv",), directions=directions)
    for each in (data, data.model_copy(update={"directions": directions[:2]})):
        assert read_pairs([corpus], each, None)[0][:2] == ("pos", "Hund")
    other = FilePair(source="m.de", target="m.hsb")
    with pytest.raises(UserError, match=r"languages are not known; add .* \(hsb-de, de-hsb, dsb-de\)"):
        read_pairs([other], data, None)


HSB_DE, DE_HSB = ("hsb", "de"), ("de", "hsb")
TURNED: list[dict[str, Any]] = [
    {"source": "m.hsb", "target": "m.de", "languages": HSB_DE},
    {"file": "m.tsv", "languages": HSB_DE},
    {"file": "m.{lang}", "languages": HSB_DE},
]


@pytest.mark.parametrize("corpus", TURNED)
def test_text_that_states_the_opposite_direction_is_turned_around(
    corpus: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.hsb").write_text("pos\n", "utf-8")
    Path("m.de").write_text("Hund\n", "utf-8")
    Path("m.tsv").write_text("pos\tHund\n", "utf-8")
    for source, target in (DE_HSB, HSB_DE):
        languages = {"source_language": source, "target_language": target}
        data = Data(**resolve_directions({**languages, "train": (corpus,), "validation": (corpus,)}))
        both = {"directions": (HSB_DE, DE_HSB), "train": (corpus,)}
        many = Data(**languages, **both)
        expected = ("Hund", "pos") if source == "de" else ("pos", "Hund")
        assert [pair[:2] for pair in find_training_corpora(data, None)] == [expected]
        assert [pair[:2] for pair in read_pairs(data.validation, data, None)] == [expected]
        found = {pair.direction: pair[:2] for pair in find_training_corpora(many, None)}
        assert found == {HSB_DE: ("pos", "Hund"), DE_HSB: ("Hund", "pos")}
        student = Data.model_validate(data_of_directions(many, [(source, target)]))
        assert [pair[:2] for pair in find_training_corpora(student, None)] == [expected]
        (checked,) = corpora_of_recipe(data)
        assert (checked.source_language, checked.target_language, len(checked.held_out)) == (source, target, 1)


def test_text_in_other_languages_is_refused() -> None:
    stated = {"source": "m.hsb", "target": "m.de", "languages": HSB_DE}
    one = {"source_language": "de", "target_language": "hsb"}
    for values, problem in (
        ({**one, "train": ({**stated, "tagged": True},)}, "targets would be text of machines"),
        ({**one, "train": ("m.tsv",), "validation": ({**stated, "languages": ("dsb", "de")},)}, "is in dsb-de"),
        ({**one, "target_language": "en", "train": (stated,)}, "no training corpus is in de-en and en-de"),
    ):
        assert problem in str(direction_problem(Data(**resolve_directions(values))))
