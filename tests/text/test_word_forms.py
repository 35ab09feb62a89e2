"""Terms have the forms of their words, spelled like them."""

from __future__ import annotations

import pytest

from dragoman.text.glossary import Glossary, Term
from dragoman.text.lemmas import LONGEST, lemmatizer
from dragoman.text.term_matcher import TermMatcher
from dragoman.text.word_forms import MOST_FORMS, form_finder

TERMS = [
    "Haus",
    "Häuser",
    "Tabellendokument",
    "drahtloses Netzwerk",
    "E-Mail",
    "groß",
    "USB",
    "Foo 3",
    "rotes Auto",
]


@pytest.mark.parametrize("term", TERMS)
def test_forms_have_the_lemmas_and_the_capitals_of_the_term(term: str) -> None:
    forms, lemmatize = form_finder("de")(term), lemmatizer("de")
    assert forms[0] == term
    assert len(set(forms)) == len(forms) <= MOST_FORMS
    for form in forms:
        pairs = list(zip(form.split(" "), term.split(" "), strict=True))
        assert all(lemmatize(one) == lemmatize(other) for one, other in pairs)
        assert all(one[:1].isupper() == other[:1].isupper() for one, other in pairs)


@pytest.mark.parametrize(
    ("language", "term", "some"),
    [
        ("de", "Haus", {"Häuser", "Hauses"}),
        ("de-AT", "Haus", {"Häuser"}),
        ("de", "Tabellendokument", {"Tabellendokumente"}),
        ("de", "E-Mail", {"E-Mails"}),
        ("de", "rotes Auto", {"rote Autos", "roten Autos"}),
        ("de", "Spalte", {"Spalten"}),
        ("de", "Seitenvorlage", {"Seitenvorlagen"}),
        ("en", "painting", {"paintings"}),
        ("en", "water spaniel", {"water spaniels"}),
        ("hi", "किताब", {"किताबें", "किताबों"}),
        ("en", "open file", {"open files"}),
        ("en", "log in", {"logs in", "logged in"}),
        ("en", "drop down", {"drop downs", "dropped down"}),
        ("en", "point of view", {"points of view"}),
        ("en", "work in progress", {"works in progress"}),
        ("hi", "किताब", {"किताबें"}),
    ],
)
def test_known_forms_are_found(language: str, term: str, some: set[str]) -> None:
    assert some <= set(form_finder(language)(term))


@pytest.mark.parametrize(
    ("language", "term"),
    [
        ("de", "USB"),
        ("de", "Häuser"),
        ("en", "given"),
        ("de", "Xylqrz"),
        ("de", "3.5"),
        ("xx", "Haus"),
        ("de", ""),
        ("de", LONGEST * "Haus"),
    ],
)
def test_other_terms_have_one_form(language: str, term: str) -> None:
    assert form_finder(language)(term) == [term]


def test_terms_of_many_words_have_the_forms_of_the_last_ones() -> None:
    forms = form_finder("de")("großer roter schneller Wagen")
    assert {"großer roter schneller Wagen", "großer roter schneller Wagens"} <= set(forms)
    assert all(form.startswith("großer roter ") for form in forms)


@pytest.mark.parametrize(("language", "term"), [("en", "will"), ("en", "washout"), ("de", "Schluss-Stein")])
def test_translations_with_any_form_use_the_term(language: str, term: str) -> None:
    matcher = TermMatcher(None, lemmatizer(language))
    assert all(matcher.count(f"So {form}.", term) for form in form_finder(language)(term))


@pytest.mark.parametrize(
    ("language", "term", "form", "other"),
    [
        ("de", "Spalte", "Spalten", "Spalt"),
        ("de", "Seitenvorlage", "Seitenvorlagen", "Seitenvorteil"),
        ("en", "crow", "crows", "crown"),
        ("en", "America", "America", "American"),
        ("en", "painting", "paintings", "paints"),
        ("en", "printer", "printers", "prints"),
    ],
)
def test_plurals_are_forms_even_if_the_dictionary_lacks_them(language: str, term: str, form: str, other: str) -> None:
    matcher = TermMatcher(None, lemmatizer(language))
    assert matcher.count(f"So {form}.", term) == 1
    assert matcher.count(f"So {other}.", term) == 0


def test_only_the_last_word_of_an_english_term_and_the_word_before_it_have_forms() -> None:
    find = form_finder("en")
    assert "spread sheets" in find("spread sheet")
    assert all(form.startswith("spread ") for form in find("spread sheet"))
    with_article = find("this spread sheet", with_article=True)
    assert {"this spread sheets", "these spread sheets"} <= set(with_article)
    assert all(form.split()[1] == "spread" for form in with_article)


def test_placeholders_and_links_in_a_term_have_no_other_forms() -> None:
    finder = form_finder("de")
    assert finder("{Akte} www.x.de/Akte") == ["{Akte} www.x.de/Akte"]
    assert [form.removeprefix("{Akte} ") for form in finder("{Akte} Haus")] == finder("Haus")


SORBIAN = "pytnik škola šule pytnica škole šulu škoda dom pytnikow domje školy pytnistwo"


@pytest.mark.parametrize(
    ("term", "forms"),
    [
        ("škola", {"škole", "školy"}),
        ("Pytnik", {"Pytnica", "Pytnikow"}),
        ("wulka škola", {"wulka škole", "wulka školy"}),
        ("dom", set()),  # too short
        ("ŠKOLA", set()),
        ("kniha", set()),  # not in the training text
    ],
)
def test_without_a_dictionary_forms_are_words_of_the_training_text_that_begin_alike(term: str, forms: set[str]) -> None:
    found = form_finder("hsb", SORBIAN)(term)
    assert found[0] == term
    assert set(found[1:]) == forms
    matcher = TermMatcher(None, lemmatizer("hsb"))
    assert all(matcher.count(f"So {form}.", term) for form in found)
    assert form_finder("hsb")(term) == [term]


@pytest.mark.parametrize(
    ("language", "translation", "use"),
    [
        ("hsb", "To je škola.", "exactly"),
        ("hsb", "W škole je.", "unsure"),
        ("hsb", "To je škoda.", "not"),
        ("cs", "Ve škole.", "inflected"),
        ("cs", "Je to škoda.", "not"),
    ],
)
def test_a_form_without_a_dictionary_is_unsure(language: str, translation: str, use: str) -> None:
    (checked,) = TermMatcher.of("de", language).check("Schule", Glossary([Term("Schule", "škola")]), translation)
    assert checked.used == use
