"""The rows of the table agree with each other."""

from __future__ import annotations

import pytest

from dragoman.markup.elements import CODES, HTML, NCX, ODT, OFFICE, STRINGS, SUBTITLES, VOID, XML, Elements

TABLES = {
    "html": HTML,
    "strings": STRINGS,
    "subtitles": SUBTITLES,
    "xml": XML,
    "codes": CODES,
    "ncx": NCX,
    "odt": ODT,
    "office": OFFICE,
}


@pytest.mark.parametrize("name", TABLES)
def test_properties_of_a_row_agree(name: str) -> None:
    elements = TABLES[name]
    for row in (*elements.rows.values(), elements.others, elements.single):
        assert not (row.word and row.ends), "a word is inside of a sentence"
        assert not (row.word and row.space), "the placeholder takes up the space"
        assert row.kept or not (row.word or row.alone or row.filled or row.wraps or row.lost)
        assert row.ends or not (row.wraps or row.lines)
        assert not (row.kept and (row.apart or row.note))


@pytest.mark.parametrize("name", ["strings", "subtitles", "xml"])
def test_elements_with_the_same_name_have_the_same_row(name: str) -> None:
    shared = TABLES[name].rows.keys() & HTML.rows.keys()
    assert len(shared) > 10
    assert all(TABLES[name].rows[each] == HTML.rows[each] for each in shared)


def test_void_elements_are_in_the_table() -> None:
    assert HTML.rows.keys() >= VOID


@pytest.mark.parametrize("attributes", [{"translate": "no"}, {"class": "a notranslate"}, {"lang": "fr"}])
def test_excluded_elements_are_kept_and_end_sentences_as_others_do(attributes: dict[str, str]) -> None:
    elements = Elements(HTML.rows, language="de")
    for name in ("p", "b", "x-y", "li", "td"):
        found = elements.find(name, attributes)
        assert found.kept
        assert found.ends == HTML.find(name).ends
    assert elements.find("p", {"lang": "de-AT"}) == HTML.find("p")
    assert elements.find("html", {"lang": "fr"}) == HTML.find("html")
