"""Glossaries find whole words in any case, the longest first, and refuse contradictions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import UserError
from dragoman.text.glossary import Glossary, Term, contains_term

GLOSSARY = Glossary.parse(["Hund\thound", "kleiner Hund\tpuppy", "", "E-Mail\te-mail", "犬\tdog", "straße\troad"])


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
        ("", []),
    ],
)
def test_the_longest_terms_are_found_as_whole_words(text: str, targets: list[str]) -> None:
    found = list(GLOSSARY.find(text))
    assert [each.term.target for each in found] == targets
    for each in found:
        assert text[each.start : each.end].casefold().split() == each.term.source.casefold().split()


@given(
    st.lists(st.sampled_from(["hund", "Kleiner", "und", "E", "-", "mail", "犬", " ", "."]), max_size=12).map("".join)
)
def test_fewer_terms_find_the_same_in_the_texts_that_contain_them(text: str) -> None:
    assert list(Glossary(GLOSSARY.terms_in(text)).find(text)) == list(GLOSSARY.find(text))


def test_contradictions_and_damaged_lines_are_reported() -> None:
    assert Glossary.parse(["Hund\tdog", "Hund\tdog"]).terms == [Term("Hund", "dog")]
    with pytest.raises(UserError, match=r"terms\.tsv: .*\(Hund: dog, hound; Katze: cat, tomcat\)"):
        Glossary.parse(["Hund\tdog", "Katze\tcat", "hund\thound", "KATZE\ttomcat"], "terms.tsv")
    with pytest.raises(UserError, match=r"terms\.tsv:2: expected"):
        Glossary.parse(["Hund\tdog", "Katze = cat"], "terms.tsv")
    for empty in ("\tdog", "Hund\t", " \t "):
        with pytest.raises(UserError, match=r"empty term|expected"):
            Glossary.parse([empty, "a"])


@pytest.mark.parametrize(
    ("text", "target", "contained"),
    [
        ("A hound runs.", "hound", True),
        ("Hounds run.", "hound", False),
        ("Hound runs.", "hound", True),
        ("A Hound runs.", "hound", False),
        ("A greyhound and a hound", "hound", True),
        ("The US hounds", "us", False),
        ("A .NET program", ".NET", True),
        ("", "hound", False),
    ],
)
def test_a_translation_contains_a_term_as_whole_words(text: str, target: str, contained: bool) -> None:
    assert contains_term(text, target) == contained
