"""Warnings about texts that do not resemble the training text: unusual texts have them, ordinary ones do not."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.bundle import Bundle
from dragoman.corpus.corpus import read_corpus
from dragoman.dataset.prepare import Dataset
from dragoman.doctor import check_texts
from dragoman.doctor.input import (
    MIN_WORDS,
    TrainingText,
    describe_text,
    has_several_sentences,
    is_in_capitals,
    is_single_word,
)
from dragoman.errors import UserError
from dragoman.languages.identify import words_of
from dragoman.training.run.finish import describe_training_text
from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import RecipeMaker

MAX_ORDINARY = 0.005  # share of ordinary lines that may have a warning
MIN_RECOGNIZED = 0.98  # share of longer lines in another language that must have one
OTHER_LANGUAGE = ("target-language", "language")
UNUSUAL = {
    "capitals": "EIN HUND LÄUFT ÜBER DIE WIESE.",
    "single-word": "Hund",
    "language": "Un homme avec un chapeau rouge regarde les enfants.",
    "script": "Собака бежит по траве.",
    "target-language": "A dog runs across the grass and a man is in the park.",
    "long": "Ein Hund läuft auf der Wiese, " * 30,
    "several-sentences": "Ein Hund läuft im Park. Eine Frau liest ein Buch.",
}


def read_pairs_of(
    name: str, source: str, target: str, data_directory: Path, limit: int = 10_000
) -> tuple[list[str], list[str]]:
    """The sources and the targets of a corpus, or those of pairs that are evenly spaced."""
    pairs = list(read_corpus(name, source_language=source, target_language=target, data_directory=data_directory))
    kept = pairs[:: max(1, len(pairs) // limit)]
    return [pair.source for pair in kept], [pair.target for pair in kept]


def kinds_of(bundle: Bundle, text: str) -> list[str]:
    return [warning.kind for warning in check_texts(bundle, [text])]


@pytest.mark.parametrize("kind", UNUSUAL)
def test_unusual_texts_have_one_warning(kind: str, translator: Translator) -> None:
    assert kinds_of(translator.bundle, UNUSUAL[kind]) == [kind]


def test_warnings_have_the_number_of_the_text(translator: Translator) -> None:
    texts = ["Ein Hund läuft im Park.", "Hund", "", "Zwei Frauen lesen ein Buch.", "Buch"]
    warnings = check_texts(translator.bundle, texts)
    assert [(warning.number, warning.kind) for warning in warnings] == [(2, "single-word"), (5, "single-word")]


def test_training_text_has_no_warnings(translator: Translator, corpus: Path) -> None:
    assert check_texts(translator.bundle, (corpus / "train.de").read_text("utf-8").splitlines()) == []


@pytest.mark.parametrize("source", ["de", "en"])
@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("multi30k:train", "multi30k:test_2016_flickr"),
        ("multi30k:train", "multi30k:val"),
        ("libreoffice-de-en/train.{lang}.gz", "libreoffice-de-en/test.{lang}.gz"),
        ("libreoffice-de-en/train.{lang}.gz", "multi30k:test_2016_flickr"),
        ("tatoeba-de-en/train.{lang}.gz", "tatoeba-de-en/test.{lang}.gz"),
    ],
)
def test_ordinary_sentences_have_nearly_no_warnings(
    train: str, test: str, source: str, translator: Translator, data_directory: Path
) -> None:
    target = "en" if source == "de" else "de"
    names = [name if ":" in name else str(data_directory / name) for name in (train, test)]
    trained, tested = (read_pairs_of(name, source, target, data_directory) for name in names)
    data = translator.bundle.recipe.data.model_copy(update={"source_language": source, "target_language": target})
    recipe = translator.bundle.recipe.model_copy(update={"data": data})
    described = describe_text(*trained, (source, target))
    bundle = replace(translator.bundle, recipe=recipe, training_text=described.model_dump())
    unusual = {warning.number for warning in check_texts(bundle, tested[0])}
    assert len(unusual) <= MAX_ORDINARY * len(tested[0])
    foreign = [text for text in tested[1] if len(list(words_of(text))) >= MIN_WORDS]
    found = [warning for warning in check_texts(bundle, foreign) if warning.kind in OTHER_LANGUAGE]
    assert len(found) >= MIN_RECOGNIZED * len(foreign)


def test_a_form_that_the_training_text_has_is_not_reported(translator: Translator) -> None:
    sources = ["EIN HUND LÄUFT ÜBER DIE WIESE.", "Hund", "Ein Hund läuft. Eine Frau liest ein Buch.", "Бегает собака."]
    described = describe_text(sources * 10, ["a dog"] * 40, ("de", "en"))
    bundle = replace(translator.bundle, training_text=described.model_dump())
    assert check_texts(bundle, sources) == []


def test_forms_that_the_augmentation_shows_are_ordinary(
    prepared: Dataset, make_recipe: RecipeMaker, translator: Translator
) -> None:
    with_dictionary = replace(prepared, dictionary=[("Hund", "dog")])
    plain = describe_training_text(with_dictionary, make_recipe())
    upper_case, single_words = "training.augmentation.upper_case=0.1", "training.augmentation.single_words=0.1"
    augmented = describe_training_text(with_dictionary, make_recipe(upper_case, single_words))
    for kind in ("capitals", "single-word"):
        unusual, ordinary = (replace(translator.bundle, training_text=each.model_dump()) for each in (plain, augmented))
        assert kinds_of(unusual, UNUSUAL[kind]) == [kind]
        assert kinds_of(ordinary, UNUSUAL[kind]) == []
    assert plain == describe_training_text(prepared, make_recipe(single_words)), "there is no dictionary"
    terms = make_recipe("text.placeholders=true", "text.terms=true", "training.augmentation.terms=0.1")
    assert describe_training_text(prepared, terms).terms == 0, "there is no lexicon"
    assert describe_training_text(replace(prepared, lexicon=[("hund", "dog", 0.9)]), terms).terms == 0.1


def test_lower_case_translators_do_not_report_capitals(translator: Translator) -> None:
    text = translator.bundle.recipe.text.model_copy(update={"lowercase": True})
    lowercase = replace(translator.bundle, recipe=translator.bundle.recipe.model_copy(update={"text": text}))
    assert kinds_of(lowercase, UNUSUAL["capitals"]) == []


def test_bundles_without_a_description_have_no_warnings(translator: Translator, tmp_path: Path) -> None:
    replace(translator.bundle, training_text={}).save(tmp_path / "old")
    old = Bundle.load(tmp_path / "old")
    assert check_texts(old, UNUSUAL.values()) == []
    assert Translator(old)("Hund") == translator("Hund")


def test_description_is_saved_and_loaded(finished_run: Path, translator: Translator) -> None:
    loaded = Bundle.load(finished_run).table("training_text", TrainingText)
    assert loaded is not None
    assert loaded.scripts == {"Latin": 1.0}
    assert loaded.evidence["der"] > 0 > loaded.evidence["the"]
    assert loaded.model_dump() == translator.bundle.training_text


@pytest.mark.parametrize("change", [{"longest": "long"}, {"scripts": 3}, {"evidence": {"der": float("nan")}}])
def test_damaged_descriptions_are_errors(change: dict[str, object], translator: Translator) -> None:
    damaged = replace(translator.bundle, training_text=translator.bundle.training_text | change)
    with pytest.raises(UserError, match=f"damaged .training_text.{next(iter(change))}"):
        check_texts(damaged, ["Ein Hund"])


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ('Er sagte leise: "Komm her." Dann ging er nach Hause.', True),
        ("यह एक कुत्ता है। वह एक लड़का है।", True),
        ("犬が走る。猫が寝る。", True),
        ("Dr. Müller und Prof. Schmidt lesen z. B. Das Buch.", False),
        ("Am 3. Oktober ist im Park ein Fest.", False),
        ("Klicken Sie auf Datei … und dann auf OK.", False),
        ("Ein Hund läuft im Park.", False),
        ("Sie hat Brot, Milch etc. Usw. Dann und wann.", False),
    ],
)
def test_several_sentences(text: str, several: bool) -> None:
    assert has_several_sentences(text) == several


@pytest.mark.parametrize("text", ["a" * 100_000, "Brot etc. B " * 8000])
def test_a_long_line_is_checked_in_linear_time(text: str) -> None:
    begin = time.process_time()
    assert not has_several_sentences(text)
    assert time.process_time() - begin < 2


def test_abbreviations_and_numbers_are_neither_capitals_nor_words() -> None:
    assert not any(map(is_in_capitals, ["PDF", "HTTP/2 API", "EIN hund LÄUFT HIER", "1 2 3 4 5 6 7 8 9 10 11"]))
    assert not any(map(is_single_word, ["42", "…", "", "Ein Hund"]))
