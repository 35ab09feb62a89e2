"""Placeholders in the translations of models that lose them: put back or reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from span_texts import TEXTS

from dragoman.documents.copied_spans import check_spans, misplaced_tags, restore_spans
from dragoman.documents.segment import Segment
from dragoman.documents.sentences import has_words
from dragoman.documents.translate import TextTranslator
from dragoman.text.link import Link
from dragoman.text.placeholders import find_spans
from dragoman.text.translation import Translation

if TYPE_CHECKING:
    from dragoman.translator import Translator


def upper_without_spans(segments: Sequence[Segment]) -> list[Translation]:
    """A model that loses every span."""
    lost = []
    for text in (segment.text for segment in segments):
        for span in reversed(list(find_spans(text))):
            text = text[: span.start] + text[span.end :]
        lost.append(Translation(" ".join(text.upper().split())))
    return lost


def no_links(sources: Sequence[str], targets: Sequence[str]) -> list[tuple[Link, ...]]:
    return [()] * len(sources)


def restore(text: str) -> Translation:
    segments = [Segment(text)]
    (restored,) = restore_spans(segments, upper_without_spans(segments), ("de", "en"), upper_without_spans, no_links)
    return restored


@pytest.mark.parametrize(
    ("source", "translation", "problems"),
    [
        ("Siehe %s.", "See %s.", []),
        ("Siehe %s.", "See.", ["missing: %s"]),
        ("Siehe %s und %s.", "See %s.", ["missing: %s"]),
        ("Siehe %s.", "See %s or %s.", ["repeated: %s"]),
        ("{x} {{x}}", "{{x}} {x}", []),
        ("{x} {{x}}", "{{x}} {{x}}", ["repeated: {{x}}"]),
        ("Zahle 15 Euro.", "Pay 150 euros.", ["missing: 15"]),
        ("Zahle 1.500 Euro.", "Pay 1,500 euros.", []),
        ("Zahle 1 500 €.", "Pay €1,500.", []),
        ("Auf einem 4000m hohen Berg", "On a 400m tall mountain", ["missing: 4000m"]),
        ("Er fährt 120km/h bei −15,5 °C.", "He drives 120 km/h at -15.5 degrees.", []),
        ("Die 1990er waren 100%ig gut.", "The 1990s were 90% good.", ["missing: 100"]),
        ("Seit 2024-01-05T10:30:00Z offen", "Open since 2010", ["missing: 2024-01-05T10:30:00Z"]),
        ("Zahle 15 Euro.", "१५ यूरो दें", []),
        ("Es sind 20-30 Hunde.", "There are 2030 dogs.", ["missing: 20-30"]),
        ("Es sind 1.234.567,89 Euro um 10:30.", "1,234,567.89 euros at 10.30", []),
        ("Ruf (555) 123-4567 an.", "Call 1 555 123-4567.", []),
        ("1,5 Stunden und 15 Sekunden", "1.5 hours and fifteen seconds", []),
        ("Zwei Hunde.", "2 dogs.", []),
        ("Mit 12 Hunden und 5 Katzen", "With twelve dogs and 5 cats", []),
        ("Bericht (A5-0034/2000)", "Report (A5-0034/2000)", []),
        ("Sie siegten 3:1 und 112:55.", "They won 3-1 and 112-55.", []),
        ("Von 1994-1999 im 19. Jahrhundert", "From 1994 to 1999, in the 19th century", []),
        ("Am 12.01.2022 um 19.30 Uhr", "On 1/12/2022 at 7:30 p.m.", []),
        ("At 7:30 pm or 9 pm, but not 5:45", "Um 19.30 oder 21 Uhr, aber nicht um 16.45 Uhr", ["missing: 5:45"]),
        ("In den 90er Jahren und 1987", "In the 1990s and in 1978", ["missing: 1987"]),
        ("Es kostet 4,7 Mio. und 17.500 Euro.", "It costs 4,700,000 and 15 thousand euros.", ["missing: 17.500"]),
        ("Es ist 1,80 m groß und um 12,50 teurer.", "It is 1.8 m tall and 2.5 more expensive.", ["missing: 12,50"]),
        ("10 405,83 Punkte", "10,405.83 points", []),
        ("Der Stand ist -1.234,56 Euro.", "The balance is 1,234.56 euros.", ["missing: -1.234,56"]),
        ("Bei −5 Grad und -30 °C", "At minus 5 degrees and 30 °C", []),
        ("Bei -30 °C (-€5) auf Apollo -11", "At -30 °C (€-5) on Apollo-11", []),
        ("Hund & Katze", "Dog &amp; cat", ["invented: &amp;"]),
        ("Hund &amp; Katze", "Dog &amp; cat", []),
        ("Mail an a@b.de 😀", "Mail to a@b.de 😀", []),
    ],
)
def test_spans_are_counted(source: str, translation: str, problems: list[str]) -> None:
    assert check_spans(source, translation, ("de", "en")) == problems


@pytest.mark.parametrize(
    ("source", "translation", "problems"),
    [
        ("<b>Rot</b> und <b>blau</b>", "<b>Red</b> and <b>blue</b>", []),
        ("<b>Rot</b> <i>neu</i>", "</b>red<b> <i>new</i>", ["misplaced: </b>"]),
        ("Rot</b> und <b>blau", "red</b> and <b>blue", []),
        ('<a href="b">Rot</a><br/>', '<a href="b">red</a><br/>', []),
    ],
)
def test_tags_that_end_before_they_begin_are_found(source: str, translation: str, problems: list[str]) -> None:
    assert misplaced_tags(source, translation) == problems


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("siehe https://a.de/b heute", "SIEHE https://a.de/b HEUTE"),
        ("siehe %s, und {x}.", "SIEHE %s, UND {x}."),
        ("{x} ist da", "{x} IST DA"),
        ("wähle %s %d 😀 aus", "WÄHLE %s %d 😀 AUS"),
        ("%s", "%s"),
        ("{x} 😀", "{x} 😀"),
        ("um 1:55 kommen 26 hunde", "UM 1:55 KOMMEN 26 HUNDE"),
        (f"{'7' * 5000} hunde", f"{'7' * 5000} HUNDE"),
        ("er zahlt $1,500.50 heute", "ER ZAHLT $1,500.50 HEUTE"),
        ("共有5000个文件", "共有 5000 个文件"),
        ("bei −15 °C friert es", "BEI −15 °C FRIERT ES"),
        ("ein <b>hund</b> und eine katze", "EIN <b>HUND</b> UND EINE KATZE"),
    ],
)
def test_lost_spans_are_put_back(text: str, expected: str) -> None:
    assert restore(text).text == expected


@given(TEXTS)
def test_no_span_stays_lost(text: str) -> None:
    restored = restore(text).text
    for span in find_spans(text):
        spelled = text[span.start : span.end]
        if span.kind != "number" and has_words(text):
            assert restored.count(spelled) >= 1


def test_translations_with_their_spans_are_not_changed() -> None:
    texts = ["Siehe %s.", "Zwei Hunde", "Zahle 1.500 Euro", "12 Hunde", "20 Hunde", "500 Mio. Hunde"]
    translations = ["See %s.", "2 dogs", "Pay 1,500 euros", "Twelve dogs", "Twenty dogs", "Half a billion: 0.5 billion"]
    found, segments = list(map(Translation, translations)), list(map(Segment, texts))
    assert restore_spans(segments, found, ("de", "en"), lambda texts: [], lambda sources, targets: []) == found


def test_models_without_masks_keep_or_report_spans(translator: Translator) -> None:
    texts = ["Ein Hund {name} läuft.", "Siehe https://a.de/b?c=1 und %s.", "Ein Mann 5 liest 1234.", "Ein Hund läuft."]
    translated = TextTranslator(translator).translate_segments([Segment(text) for text in texts])
    for text, each in zip(texts, translated, strict=True):
        assert [problem for problem in each.problems if ": " in problem] == check_spans(text, each.text, ("de", "en"))
        assert all(span in each.text for span in ("{name}", "https://a.de/b?c=1", "%s", "1234") if span in text)
