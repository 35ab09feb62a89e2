"""Language detection: right on text of the same languages, and unknown otherwise."""

from __future__ import annotations

import pytest

from dragoman.corpus.synthetic.captions import captions
from dragoman.languages.codes import same_language
from dragoman.languages.identify import (
    LanguageProfile,
    count_ngrams,
    identify,
    is_known,
    other_language,
    read_ngrams,
    write_ngrams,
)

HINDI = ["एक आदमी सड़क पर चल रहा है", "एक औरत किताब पढ़ रही है", "दो कुत्ते घास पर दौड़ रहे हैं"]


@pytest.fixture(scope="module")
def profile() -> LanguageProfile:
    german, english = zip(*captions("train")[:2000], strict=True)
    profiles = {"de": count_ngrams(german), "en": count_ngrams(english), "hi": count_ngrams(HINDI)}
    return LanguageProfile({code: read_ngrams(write_ngrams(counts)) for code, counts in profiles.items()})


def test_lines_of_the_languages_are_recognized(profile: LanguageProfile) -> None:
    pairs = captions("test")[:200]
    for german, english in pairs:
        assert identify(german, profile)[0][0] == "de"
        assert identify(english.upper(), profile)[0][0] == "en"
    assert identify(HINDI[0], profile)[0][0] == "hi"


def test_probabilities_add_up_and_begin_with_the_best(profile: LanguageProfile) -> None:
    found = [share for _, share in identify("Eine Frau reads ein book.", profile)]
    assert sum(found) == pytest.approx(1)
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(
    "text", ["", "123 :-)", "😀", "Собака бежит по лугу", "Pes běží přes zelenou louku a skáče přes větve"]
)
def test_other_texts_are_in_no_language(profile: LanguageProfile, text: str) -> None:
    assert identify(text, profile) == []


THIRD = [
    "Un homme et une femme regardent un chien dans la rue.",
    "Un hombre y una mujer miran un perro en la calle.",
    "En mand og en kvinde ser på en hund på gaden.",
    "Een man en een vrouw kijken naar een hond op straat.",
]
GERMAN = "Der Vertrag wurde gestern unterschrieben, und alle Kosten trägt die Gemeinde."


@pytest.mark.parametrize("text", THIRD)
def test_other_languages_in_the_same_script_are_not_taken_for_a_similar_one(
    profile: LanguageProfile, text: str
) -> None:
    assert identify(text, profile) == []


def test_texts_of_another_kind_are_still_in_their_language(profile: LanguageProfile) -> None:
    assert identify(GERMAN, profile)[0][0] == "de"


@pytest.mark.parametrize("code", ["gsw", "de-CH", "x"])
def test_variants_and_languages_that_only_a_bundle_knows_are_found(code: str) -> None:
    german, english = zip(*captions("train")[:2000], strict=True)
    profile = LanguageProfile({code: count_ngrams(german), "en": count_ngrams(english)})
    assert identify(GERMAN, profile)[0][0] == code


def test_only_the_beginning_of_a_long_text_is_read(profile: LanguageProfile) -> None:
    beginning = "Ein Hund läuft über die Wiese. " * 100
    assert identify(beginning + "x" * 10_000_000, profile) == identify(beginning, profile)


def test_an_empty_profile_round_trips() -> None:
    assert read_ngrams(write_ngrams(count_ngrams([]))) == {}
    assert identify("ein Hund", LanguageProfile({"de": {}, "en": {"a": 0}})) == []


@pytest.mark.parametrize("line", ["a", "a b", "a 0", "a -1"])
def test_damaged_profiles_are_errors(line: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        read_ngrams(line)


TEXTS = {
    "de": GERMAN,
    "fr": THIRD[0],
    "es": THIRD[1],
    "da": THIRD[2],
    "nl": THIRD[3],
    "pl": "Nie wiem, dlaczego nasi przyjaciele nigdy nie wrócili z tej długiej podróży.",
    "hi": "एक छोटा लड़का पार्क में खेल रहा है और उसकी माँ किताब पढ़ रही है।",
    "ru": "Маленький мальчик играет в парке, а его мать читает книгу.",
    "zh": "一个小男孩在公园里玩，他的母亲在看书。",
}
KNOWN = [*TEXTS, "en", "nb", "deu", "pt-BR"]


@pytest.mark.parametrize("language", TEXTS)
def test_without_a_profile_about_a_hundred_languages_are_known(language: str) -> None:
    found = identify(TEXTS[language])
    assert found[0][0] == language
    assert sum(share for _, share in found) == pytest.approx(1)
    assert len(found) > 90
    assert is_known(language)


@pytest.mark.parametrize("text", ["", "123 :-)", "😀"])
def test_a_text_without_words_is_in_no_language(text: str) -> None:
    assert identify(text) == []


@pytest.mark.parametrize("expected", KNOWN)
@pytest.mark.parametrize("language", TEXTS)
def test_many_texts_in_another_language_are_noticed(language: str, expected: str) -> None:
    lines = [TEXTS[language]] * 40
    assert other_language(lines, expected) == (None if same_language(language, expected) else language)
    assert other_language(lines[:3], expected) is None, "too few"
    assert other_language([word for line in lines for word in line.split()], expected) == other_language(
        lines, expected
    )


def test_a_language_that_is_not_known_is_only_confused_with_that_of_its_translations() -> None:
    lines = [TEXTS["de"]] * 40
    assert not is_known("hsb")
    assert [other_language(lines, "hsb", translation) for translation in (None, "en", "de")] == [None, None, "de"]


def test_a_part_in_another_language_is_not_enough() -> None:
    lines = [TEXTS["fr"]] * 60 + [TEXTS["de"]] * 20
    assert other_language(lines, "de") is None
    assert other_language(lines, "en") == "fr"
