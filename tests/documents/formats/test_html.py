"""HTML keeps its tags and everything that is not text, and its text never becomes markup."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from html_samples import StrictParser, broken, in_capitals, shuffled, translate, unchanged, well_formed
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.formats.html import HtmlText
from dragoman.documents.segment import Segment
from dragoman.documents.sentences import PlainText
from dragoman.markup.elements import BLOCK, HTML, WORD
from dragoman.text.link import Link
from dragoman.text.translation import Translation

any_html = st.one_of(well_formed, broken(), st.text(alphabet="<>/&;!-ab \"'=é1\n", max_size=40))
SEEDS = st.integers(0, 100)


def tags(html: str) -> list[str]:
    """The tags of a document without the values that are translated."""
    return [re.sub(r"(alt|title)=(\"[^\"]*\"|'[^']*')", r"\1", tag) for tag in StrictParser(html).tags]


@given(any_html)
def test_unchanged_segments_give_the_same_document(html: str) -> None:
    assert translate(html, unchanged) == html


@given(well_formed, SEEDS)
def test_each_tag_occurs_once_and_elements_stay_closed(html: str, seed: int) -> None:
    before, after = StrictParser(html), StrictParser(result := translate(html, shuffled(seed)))
    assert before.well_formed
    assert after.well_formed, result
    assert Counter(tags(result)) == Counter(tags(html))


@given(broken(), SEEDS)
def test_each_tag_of_broken_html_occurs_once(html: str, seed: int) -> None:
    result = translate(html, shuffled(seed))
    pattern = r"<[/a-z][^<>\"']*>"
    assert Counter(re.findall(pattern, result)) == Counter(re.findall(pattern, html)), result


@given(well_formed)
def test_words_in_the_same_order_keep_all_tags_in_place(html: str) -> None:
    assert tags(translate(html, in_capitals)) == tags(html)


@given(well_formed, SEEDS)
def test_text_is_that_of_the_translations(html: str, seed: int) -> None:
    def words(text: str) -> Counter[str]:
        return Counter(re.sub(r"[\s.!?]", "", text).upper())  # stops between sentences are added if they were moved

    assert words(StrictParser(translate(html, shuffled(seed))).text) == words(StrictParser(html).text)


def reversed_words(segment: Segment) -> Translation:
    """The words in reverse order, in capital letters."""
    text, links = "", []
    for match in reversed(list(re.finditer(r"[\w{}]+", segment.text))):
        links.append(Link(*match.span(), len(text), len(text) + len(match[0])))
        text += f"{match[0].upper()} "
    return Translation(text.strip(), links=tuple(links))


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("Der <b>rote</b> Hund", "HUND <b>ROTE</b> DER"),
        ("<p><b>Der Hund</b></p>", "<p><b>HUND DER</b></p>"),
        ("<b>Der <i>rote</i></b> Hund", "HUND <b><i>ROTE</i> DER</b>"),
        ("<i>a</i> <b>b</b>", "<b>B</b> <i>A</i>"),
        ("Ein <a href='?x=1&y' title=Rot>Ast</a>", "<a href='?x=1&y' title=\"ROT\">AST</a> EIN"),
        ("Rufe <code>f(&lt;T&gt;)</code> auf", "AUF <code>f(&lt;T&gt;)</code> RUFE"),
        ("Der &lt;b&gt; Hund", "HUND B DER"),
        ("<p>Hallo <b>Welt</b>. Das hier</p>", "<p><b>WELT</b> HALLO. HIER DAS</p>"),
        ("<li>eins<li>zwei", "<li>EINS<li>ZWEI"),
        ("Das Bild <img src=x> hier", "<img src=x> HIER BILD DAS"),
        ("<meta name=description content='Ein Hund'>", "<meta name=description content='HUND EIN'>"),
        ("<meta name=viewport content='Ein Hund'>", "<meta name=viewport content='Ein Hund'>"),
        ("<input placeholder='Hund' value='Katze'>", "<input placeholder='HUND' value='Katze'>"),
        ("<a aria-label='x y'>Ja</a>", "<a aria-label='Y X'>JA</a>"),
        ("<p translate=no>Ein <b>Hund</b></p> da hier", "<p translate=no>Ein <b>Hund</b></p> HIER DA"),
        ("<pre>eins zwei\n  drei</pre>", "<pre>ZWEI EINS\n  DREI</pre>"),
        ("Erste Zeile.<br>Zweite Zeile", "ZEILE ERSTE<br>ZEILE ZWEITE"),
        ("eins zwei<br>drei", "DREI ZWEI<br>EINS"),
        ("<!DOCTYPE html><?php a b ?><!-- Ein Hund --><p>ja", "<!DOCTYPE html><?php a b ?><!-- Ein Hund --><p>JA"),
    ],
)
def test_translation(html: str, expected: str) -> None:
    assert translate(html, reversed_words) == expected


@pytest.mark.parametrize("tag", ["<b\0>", "<b \0>", "<b\0 class='x y'>", "<b class='\0'>", "<b\0class=x>"])
def test_tags_with_a_nul_character_stay_tags(tag: str) -> None:
    assert translate(f"Ein {tag}Hund</b> da", in_capitals) == f"EIN {tag}HUND</b> DA"


@pytest.mark.parametrize("reference", ["&#", "&#x", "&#;", "&# ;", "&", "&;", "&#38;"])
def test_tags_after_an_incomplete_reference_stay_tags(reference: str) -> None:
    html = f"<p>Ein Hund {reference} läuft.</p><p>Eine <b>Frau</b> liest.</p>"
    assert [segment.text for segment in HtmlText(html, "de").segments][1:] == ["Eine Frau liest."]


@pytest.mark.parametrize(
    "start", ["<![DOCTYPE html>", "<![ html>", "<![if !IE]>", "<![ifx]>", "<![ıf>", "<![elſe>", "<![-->", "<![1]>"]
)
def test_unknown_sections_are_comments(start: str) -> None:
    document = HtmlText(f"{start}<p>Ein Hund</p>", "de")
    assert [segment.text for segment in document.segments] == ["Ein Hund"]
    assert document.assemble([Translation("A dog")]) == f"{start}<p>A dog</p>"


def test_text_never_becomes_markup() -> None:
    html = "<p title='&lt;b&gt; &quot;x&quot; &#39;'>Ein &lt;script&gt;alert(1)&lt;/script&gt; Hund</p>"
    for text in ("<script>x</script>", '</p><p onclick="x">\'', "&lt;b&gt;"):
        result = translate(html, lambda _, text=text: Translation(text))  # type: ignore[misc]
        parsed = StrictParser(result)
        assert [tag[:2] for tag in parsed.tags] == ["<p", "</"]
        assert parsed.text == text


def test_other_sentences_of_a_paragraph_keep_their_spelling() -> None:
    html = "<p>M&uuml;ller&nbsp;&amp; Sohn  baut.\n <b>Der</b> Hund</p>"
    changed = translate(html, lambda each: reversed_words(each) if "Hund" in each.text else unchanged(each))
    assert changed == "<p>M&uuml;ller&nbsp;&amp; Sohn  baut.\n HUND <b>DER</b></p>"


def test_an_untouched_part_is_kept_if_its_placeholder_is_lost_or_repeated() -> None:
    html = "Der <code>x</code> und <code>y</code> Hund"
    for text in ("the and dog", "{2} the {2} dog", "{1} {1} {1} {2}"):
        parsed = StrictParser(translate(html, lambda _, text=text: Translation(text)))  # type: ignore[misc]
        assert parsed.tags.count("<code>") == 2
        assert parsed.text.count("x") == parsed.text.count("y") == 1
        assert "{" not in parsed.text


def test_placeholders_differ_from_those_in_the_text() -> None:
    (segment,) = HtmlText("Aus {1} wird <var>x</var>", "de").segments
    assert segment.text == "Aus {1} wird {2}"


def test_only_segments_with_tags_inside_are_aligned() -> None:
    document = HtmlText("<p><b>Ein Hund.</b> <i>Eine</i> Katze.</p>", "de")
    assert document.segments == [Segment("Ein Hund."), Segment("Eine Katze.", aligned=True)]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('Klick <i class="icon"></i> hier jetzt', 'KLICK <i class="icon"></i> HIER JETZT'),
        ('Klick<i class="icon"></i> hier', 'KLICK<i class="icon"></i> HIER'),
        ('Klick <a href="u"><i></i></a> hier', 'KLICK <a href="u"><i></i></a> HIER'),
        ("Da <img><img> hier", "DA <img><img> HIER"),
        ("Da <b><img></b> hier", "DA <b><img></b> HIER"),
        ("Da <b> hier</b> so", "DA <b>HIER</b> SO"),
        ("Wert &#123;1} und <code>x</code> hier", "WERT {1} UND <code>x</code> HIER"),
        ("Wert {<b>1</b>} und <code>x</code> hier", "WERT {<b>1</b>} UND <code>x</code> HIER"),
    ],
)
def test_elements_without_text_and_placeholders_stay_at_their_places(html: str, expected: str) -> None:
    assert translate(html, in_capitals) == expected


def test_more_elements_can_be_untouched_or_end_sentences() -> None:
    html = 'Hallo <x id="3"></x> <Y>Ein <b>Hund</b></Y> und <x/> Welt <z>Katze</z>'
    document = HtmlText(html, "de", elements=HTML.with_rows(WORD, "xy").with_rows(BLOCK, "z"))
    assert [segment.text for segment in document.segments] == ["Hallo {1} {2} und {3} Welt", "Katze"]
    words = document.assemble([in_capitals(segment) for segment in document.segments])
    assert words == 'HALLO <x id="3"></x> <Y>Ein <b>Hund</b></Y> UND <x/> WELT <z>KATZE</z>'
    assert len(HtmlText(html, "de").segments) == 1


def test_titles_are_translated_by_all_versions_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HTMLParser, "CDATA_CONTENT_ELEMENTS", ("script", "style", "title", "iframe"))
    html = "<title>Meine Seite</title><script>kein <b>Text</b></script><p>Hallo <br>Welt, <br> hallo</p>"
    texts = ["Meine Seite", "Hallo", "Welt, hallo"]
    assert [segment.text for segment in HtmlText(html, "de").segments] == texts


def test_whole_paragraphs_keep_their_sentences_together() -> None:
    html = '<p title="Eins. Zwei.">Ein <b>Hund. Er</b> bellt. </p>Ja. Nein.'
    expected = ["Eins. Zwei.", "Ein Hund. Er bellt.", "Ja. Nein."]
    assert [segment.text for segment in HtmlText(html, "de", whole_lines=True).segments] == expected
    assert len(HtmlText(html, "de").segments) == 6


@pytest.mark.parametrize("brace", ["{1}", "&#123;1}", "{&#49;}", "&#x7b;1&#x7D;", "&lbrace;1&rbrace;"])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_text_never_becomes_an_attribute(brace: str, quote: str) -> None:
    attack = f"{quote} onmouseover={quote}alert(1)"
    html = (
        f"<p>Ein Hund <a title={quote}Ein Mann sieht {brace}{quote}>im Gras</a> mit "
        f"<code>&lt;x&gt;{attack}</code> und {brace} l&auml;uft.</p>"
    )
    for translator in (in_capitals, *map(shuffled, range(5))):
        parsed = StrictParser(translate(html, translator))
        assert len(parsed.tags) == 6
        assert not any("onmouseover" in tag for tag in parsed.tags)
        assert parsed.text.count(attack) == 1


PARAGRAPHS = [
    ("zh", "你好。再见。谢谢。", ["Hello.", "Goodbye.", "Thanks."]),
    ("zh", "你好。再见。谢谢。", ["Hello.", "再见。", "Thanks."]),
    ("ja", "こんにちは。さようなら!", ["Hello", "Goodbye!"]),
    ("de", "Der Hund bellt. Die Katze schläft. Ende.", ["The dog barks", "The cat sleeps.", "End"]),
]
TAGGED = [
    "<p>{0}{1}{2}</p>",
    "<p><i>{0}</i>{1}<b>{2}</b></p>",
    "<p>{0}<!-- --><b>{1}</b>{2}</p>",
    "<i>{0}<u>{1}</u></i><b>{2}</b>",
    "<img alt='{0}{1}{2}'>",
]


@pytest.mark.parametrize("html", TAGGED)
@pytest.mark.parametrize(("language", "text", "translations"), PARAGRAPHS)
def test_sentences_are_joined_as_in_plain_text(html: str, language: str, text: str, translations: list[str]) -> None:
    translated = [Translation(each) for each in translations]
    expected = PlainText(text, language).assemble(translated)
    sentences = [*re.findall(r".+?[.!。]\s*", text), ""]
    result = HtmlText(html.format(*sentences), language).assemble(translated)
    assert re.sub(r"<img alt='(.*)'>|<[^>]*>", r"\1", result) == expected
    assert " " in text or not re.search(r"<\w> | </", result), "spaces between sentences are outside of their tags"


def test_an_added_point_is_inside_the_tags_of_its_sentence() -> None:
    translated = [Translation("It <barks", links=(Link(0, 2, 0, 2), Link(3, 8, 3, 9))), Translation("End")]
    assert HtmlText("Er <b>bellt.</b> Ende.", "de").assemble(translated) == "It <b>&lt;barks.</b> End"
