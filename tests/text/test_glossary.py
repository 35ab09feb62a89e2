"""Glossaries find whole words in any case, the longest first, and refuse contradictions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import UserError
from dragoman.text.glossary import Glossary, Term, fold
from dragoman.text.lemmas import lemmatizer
from dragoman.text.term_matcher import CheckedTerm, TermMatcher, contains_term, is_copied

GLOSSARY = Glossary.parse(
    ["Hund\thound", "kleiner Hund\tpuppy", "", "E-Mail\te-mail", "犬\tdog", "straße\troad", "ταΐζω\tfeed"]
)


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("Ein Hund und eine Hundehütte", ["hound"]),
        ("Ein KLEINER  hund, ein Hund.", ["puppy", "hound"]),
        ("kleiner kleiner Hund", ["puppy"]),
        ("E-MAIL-Adresse", ["e-mail"]),
        ("E Mail", []),
        ("私の犬です", ["dog"]),
        ("STRASSE", ["road"]),
        ("ταΐζω ΤΑΪ́ΖΩ", ["feed", "feed"]),
        ("", []),
    ],
)
def test_the_longest_terms_are_found_as_whole_words(text: str, targets: list[str]) -> None:
    found = list(GLOSSARY.find(text))
    assert [each.term.target for each in found] == targets
    for each in found:
        assert fold(text[each.start : each.end]).split() == fold(each.term.source).split()


@given(
    st.lists(st.sampled_from(["hund", "Kleiner", "und", "E", "-", "mail", "犬", " ", "."]), max_size=12).map("".join)
)
def test_fewer_terms_find_the_same_in_the_texts_that_contain_them(text: str) -> None:
    found = list(GLOSSARY.find(text))
    assert list(Glossary(each.term for each in found).find(text)) == found


@pytest.mark.parametrize(
    ("language", "term", "text"),
    [
        ("el", "δρόμος", "Ο ΔΡΟΜΟΣ ΕΙΝΑΙ ΕΔΩ."),
        ("el", "δρόμος", "Ο ΔΡΌΜΟΣ"),
        ("el", "ταΐζω τη γάτα", "ΤΑΪΖΩ ΤΗ ΓΑΤΑ"),
        ("el", "Μάιος", "ΜΑΪΟΣ"),
        ("el", "Μάιος", "ΜΑΙΟΣ"),
        ("el", "αρχείο {file}", "ΑΡΧΕΙΟ {file}"),
        ("tr", "ışık", "IŞIK AÇIK"),
        ("tr", "incir", "İNCİR"),
        ("tr", "incir", "INCIR"),
    ],
)
def test_terms_are_found_in_capitals_and_in_capital_translations(language: str, term: str, text: str) -> None:
    matcher = TermMatcher.of(language, language)
    glossary = Glossary([Term(term, term)])
    assert [each.term.source for each in matcher.find(text, glossary)] == [term]
    assert [each.used for each in matcher.check(term, glossary, text)] == ["inflected"]


@pytest.mark.parametrize(
    ("term", "text"), [("inek", "İnek ot yiyor."), ("ırmak", "Irmak uzundur."), ("ılık su", "Ilık su")]
)
def test_terms_are_found_at_the_beginning_of_turkish_sentences(term: str, text: str) -> None:
    assert [each.term.source for each in Glossary([Term(term, "x")]).find(text)] == [term]


def test_translations_may_begin_with_a_dotted_capital() -> None:
    (checked,) = TermMatcher.of("en", "tr").check("the work", Glossary([Term("work", "iş")]), "İş bitti.")
    assert checked.used == "exactly"


def test_other_words_in_capitals_are_no_terms() -> None:
    matcher = TermMatcher.of("tr", "tr")
    for term, text in (("sınır", "SİNİR"), ("sınır", "sinir"), ("ılık", "ilik"), ("çam", "CAM")):
        assert not matcher.find(text, Glossary([Term(term, term)])), text


def test_invisible_characters_of_terms_do_not_matter() -> None:
    glossary = Glossary.parse(["\ufeffHund\u200b\t\u200b hou\u00adnd\u2060"])
    assert glossary.terms == [Term("Hund", "hound")]
    assert [found.term.target for found in glossary.find("Ein Hund.")] == ["hound"]


def test_terms_and_translations_may_be_in_different_normal_forms() -> None:
    glossary = Glossary([Term("cle\u0301", "\u0938\u095c\u0915")])
    matcher = TermMatcher.of("fr", "hi")
    for translation in ("\u0938\u095c\u0915 \u0939\u0948", "\u0938\u0921\u093c\u0915 \u0939\u0948"):
        assert [each.used for each in matcher.check("la cl\u00e9", glossary, translation)] == ["exactly"]


def test_contradictions_and_damaged_lines_are_reported() -> None:
    assert Glossary.parse(["Hund\tdog", "Hund\tdog"]).terms == [Term("Hund", "dog")]
    with pytest.raises(
        UserError,
        match=r"terms\.tsv: .*\(Hund: dog in line 1, hound in line 3; Katze: cat in line 2, tomcat in line 4\)",
    ):
        Glossary.parse(["Hund\tdog", "Katze\tcat", "Hund\thound", "Katze\ttomcat"], "terms.tsv")
    with pytest.raises(UserError, match=r"\(Hund: dog, hound\)"):
        Glossary([Term("Hund", "dog"), Term("Hund", "hound")])
    with pytest.raises(UserError, match=r"terms\.tsv line 2: expected"):
        Glossary.parse(["Hund\tdog", "Katze = cat"], "terms.tsv")
    with pytest.raises(UserError, match=r"terms\.tsv: a term of the glossary has more than 20 words: 'x x"):
        Glossary.parse(["x " * 21 + "\ty"], "terms.tsv")
    for empty in ("\tdog", "Hund\t", " \t "):
        with pytest.raises(UserError, match=r"empty term|expected"):
            Glossary.parse([empty, "a"])
    with pytest.raises(UserError, match=r"terms\.tsv: line 2 of the glossary has an empty term: '' = 'x'; delete it"):
        Glossary.parse(["Hund\tdog", "\tx"], "terms.tsv")
    for controls in ("Hu\0nd\tdog", "Hund\tdo\x1bg", "Hu\x1fnd\tdog"):
        with pytest.raises(UserError, match=r"terms\.tsv: line 2 of the glossary has a term with a control character"):
            Glossary.parse(["Katze\tcat", controls], "terms.tsv")


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("Polish people polish shoes.", ["polnisch", "polieren"]),
        ("He polishes them in March.", ["polieren", "März"]),
        ("the marches may be", ["Marsch", "kann sein"]),
        ("may be in May", ["kann sein", "Mai"]),
        ("Polishes them.", ["polieren"]),
        ("I know the Polishes.", ["polnisch"]),
    ],
)
@pytest.mark.parametrize("step", [1, -1])
def test_of_terms_that_differ_in_case_the_one_in_the_case_of_the_text_is_found(
    text: str, targets: list[str], step: int
) -> None:
    lines = ["polish\tpolieren", "Polish\tpolnisch", "May\tMai", "may be\tkann sein", "march\tMarsch", "March\tMärz"]
    glossary = Glossary.parse(lines[::step])
    assert [f"{term.source}\t{term.target}" for term in glossary.terms] == lines[::step]
    assert [each.term.target for each in glossary.find(text, lemmatizer("en"))] == targets
    (first,) = glossary.find("POLISH")
    assert first.term == next(term for term in glossary.terms if term.source.lower() == "polish")


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("Save files at www.b.de/files or in {files}.", ["files"]),
        ("http://example.com/files", []),
        ("Go to www.a.de and www.a.de/files", ["www.a.de"]),
        ("{file} {files} {FILE}", ["{file}"]),
        ("{file} name {file}", ["{file} name", "{file}"]),
        ("{a}{file} {b} {file}", ["{a}{file}", "{file}"]),
        ("<b>file</b> %s", ["file"]),
        ("100 %s of 100 % at info@a.de", ["100 %"]),
        ("at info www.a.de file", ["at info", "www.a.de", "file"]),
        ("3 files 😀 12.50", ["3", "files", "😀"]),
    ],
)
def test_placeholders_and_links_are_words_without_other_forms(text: str, sources: list[str]) -> None:
    copied = ["{file}", "{a}{file}", "www.a.de "]
    terms = [*copied, "files", "file", "{file} name", "at info", "de file", "b", "s", "3", "12.5", "100 %", "😀"]
    glossary = Glossary([Term(source, "x") for source in terms])
    found = TermMatcher.of("en", "de").find(text, glossary)
    assert [each.term.source.strip() for each in found] == sources
    assert [is_copied(source) for source in terms] == [source in copied for source in terms]


@pytest.mark.parametrize(
    ("text", "target", "contained"),
    [
        ("A hound runs.", "hound", True),
        ("Hounds run.", "hound", False),
        ("Hound runs.", "hound", True),
        ("A Hound runs.", "hound", False),
        ("It runs. Hounds run! Hound", "hound", True),
        ("He said: “No.” (Hound)", "hound", True),
        ("The St.-Hound", "hound", False),
        ("A greyhound and a hound", "hound", True),
        ("The US hounds", "us", False),
        ("A .NET program", ".NET", True),
        ("", "hound", False),
    ],
)
def test_a_translation_contains_a_term_as_whole_words(text: str, target: str, contained: bool) -> None:
    assert contains_term(text, target) == contained


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("Die Hunde der Frau", ["hound", "lady"]),
        ("des kleinen Hundes", ["puppy"]),
        ("KLEINE HUNDE, ein HUND", ["puppy", "hound"]),
        ("die Häuser", ["building"]),
        ("Das Haus", ["house"]),
        ("Hundehütte", []),
    ],
)
def test_lemmas_match_other_forms_and_exact_forms_come_first(text: str, targets: list[str]) -> None:
    lines = ["Hund\thound", "kleiner Hund\tpuppy", "Häuser\tbuilding", "Haus\thouse", "Frau\tlady"]
    glossary = Glossary.parse(lines)
    assert [each.term.target for each in glossary.find(text, lemmatizer("de"))] == targets
    exact = list(glossary.find(text))
    assert set(exact) <= set(glossary.find(text, lemmatizer("de")))


@pytest.mark.parametrize(
    ("term", "text", "found"),
    [
        ("Recht", "mit der rechten Maustaste", False),
        ("Recht", "Die Rechte des Kindes", True),
        ("Recht", "RECHTE", True),
        ("Recht", "mit recht", True),
        ("DIE", "der Mann", False),
        ("DIE", "die Frau", True),
        ("öffnen", "Er öffnet sie", True),
        ("Fest", "ein fester Wert", False),
    ],
)
def test_other_forms_have_the_capitals_of_the_term(term: str, text: str, found: bool) -> None:
    assert bool(list(Glossary([Term(term, "x")]).find(text, lemmatizer("de")))) == found


@pytest.mark.parametrize(
    ("text", "target"),
    [("They paint a house.", "painting"), ("I see a chainsaw.", "saw"), ("We met the king.", "meeting")],
)
def test_forms_of_other_words_do_not_count(text: str, target: str) -> None:
    assert TermMatcher(None, lemmatizer("en")).count(text, target) == 0


@pytest.mark.parametrize(("source", "text"), [("Spalte", "Die Spalten sind leer."), ("Zeile", "Zwei Zeilen.")])
def test_plurals_match_a_term_that_is_also_a_form_of_another_word(source: str, text: str) -> None:
    glossary = Glossary([Term(source, "x"), Term("Spalt", "y")])
    assert [found.term.source for found in glossary.find(text, lemmatizer("de"))] == [source]


def test_languages_without_lemmas_match_word_forms() -> None:
    for text in ("Hunde und Hund", "kleiner Hund", "犬"):
        assert list(GLOSSARY.find(text, lemmatizer("xx"))) == list(GLOSSARY.find(text))
    assert lemmatizer("de-AT")("Häusern") == lemmatizer("de")("Häusern") == "Haus"


@pytest.mark.parametrize(
    ("translation", "use"),
    [
        ("Öffnen Sie die rote Datei.", "exactly"),
        ("in roten Dateien", "inflected"),
        ("ROTE DATEI", "inflected"),
        ("Die Rote Datei Öffnen", "inflected"),
        ("Öffnen Sie bitte die Rote Datei", "not"),
        ("die Datei ist rot", "not"),
        ("die roten datei", "not"),
        ("", "not"),
    ],
)
def test_a_translation_uses_a_term_exactly_inflected_or_not(translation: str, use: str) -> None:
    matcher, glossary = TermMatcher(lemmatizer("en"), lemmatizer("de")), Glossary.parse(["red file\trote Datei"])
    for source in ("Open the red file.", "red files"):
        (checked,) = matcher.check(source, glossary, translation)
        assert (checked.source, checked.target, checked.used) == ("red file", "rote Datei", use)
    assert matcher.check("Open it.", glossary, translation) == []
    exact = TermMatcher().check("Open the red file.", glossary, translation)
    assert exact == [CheckedTerm("red file", "rote Datei", "exactly" if use == "exactly" else "not")]


@pytest.mark.parametrize(
    ("translation", "target", "count"),
    [
        ("Haus und Häuser", "Haus", 2),
        ("haus", "Haus", 0),
        ("iphone, Iphone, iPhone", "iPhone", 1),
        ("Rotes Auto, rote Autos", "rotes Auto", 2),
        ("HÄUSER", "Haus", 1),
        ("Öffnet sie.", "öffnen", 1),
        ("ein Haus", "Häuser", 0),
        ("HÄUSER, Häuser", "Häuser", 2),
        ("Datei {Akte}", "Akte", 0),
        ("Datei www.x.de/Akte", "Akte", 0),
        ("<Akte> Datei", "Akte", 0),
        ("Akte {Akte}", "Akte", 1),
        ("{Akte} {Akten} {AKTE}", "{Akte}", 1),
        ("die {Akte} Akten", "{Akte} Akte", 1),
        ("die {Akten} Akten", "{Akte} Akte", 0),
    ],
)
def test_forms_outside_placeholders_are_counted_if_they_have_the_capitals_of_the_term(
    translation: str, target: str, count: int
) -> None:
    assert TermMatcher(None, lemmatizer("de")).count(translation, target) == count
