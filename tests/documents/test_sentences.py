"""Sentences: none is lost, and abbreviations, numbers and ordinals do not end one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from span_texts import TEXTS

from dragoman.documents.sentences import WholeLines, has_words, is_translatable, split_paragraph, split_sentences


def split(text: str, language: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text, language)]


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("de", ["Das ist z. B. Dr. Müller.", "Er kam am 3. Mai, ca. um 5.30 Uhr.", "„Ja.“", "Sie ging!"]),
        ("de", ["Der 2. Weltkrieg endete 1945.", "Das 20. Jahrhundert auch, vgl. Abb. 3."]),
        ("de-AT", ["Prof. Dr. h.c. Meier zahlt 1.500,50 Euro.", "Version 1.2.3 ist da."]),
        ("de_CH", ["Nr. 3 bzw. Prof. Meier kommt.", "Ja."]),
        ("en", ["Dr. J. K. Smith went to Washington, D.C. on Jan. 5, 2020.", "He paid $3.50.", "Really?"]),
        (
            "en",
            ["See www.example.com or e.g. a.b@c.de.", "“No!” she said.", 'Click <a title="Now. Or later">here</a>.'],
        ),
        ("hi", ["यह एक वाक्य है।", "यह दूसरा है।"]),
        ("hi", ["डॉ. शर्मा कल आएँगे।", "कल प्रो. वर्मा आए।"]),
        ("zh", ["你好。", "我很好！", "你呢？"]),
        ("xx", ["Hello world.", "How are you?"]),
        ("", ["Hello world.", "How are you?"]),
    ],
)
def test_sentences_are_found(language: str, sentences: list[str]) -> None:
    assert split(" ".join(sentences), language) == sentences
    assert split(f"\n {'  '.join(sentences)} \n", language) == sentences


def test_scripts_without_spaces_need_none() -> None:
    assert split("你好。我很好！你呢？", "zh") == ["你好。", "我很好！", "你呢？"]


@pytest.mark.parametrize("whole_lines", [True, False, {"Ein Hund. Eine Katze."}])
def test_tabs_separate_texts(whole_lines: WholeLines) -> None:
    text = "Öffnen …\tStrg+O\t12\t Ein Hund. Eine Katze.\t"
    found = [text[start:end] for start, end in split_paragraph(text, "de", whole_lines)]
    expected = ["Ein Hund. Eine Katze."] if whole_lines else ["Ein Hund.", "Eine Katze."]
    assert [each for each in found if each != "12"] == ["Öffnen …", "Strg+O", *expected]


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("de", ["Der Mann läuft.", "3 Hunde spielen."]),
        ("de", ["Der Mann läuft.", "2. Die Frau sitzt im 3. Stock."]),
        ("de", ["Siehe Abb. 3 im Text und Nr. 5 im Anhang.", "Am 3. Mai kamen inkl. 2 Kindern ca. 5 Leute."]),
        ("cs", ["Muž běží.", "25 dětí stojí v parku.", "Pes spí."]),
        ("cs", ["Podle odst. 2 zákona se platí."]),
    ],
)
def test_a_sentence_may_begin_with_a_number(language: str, sentences: list[str]) -> None:
    text = " ".join(sentences)
    assert [text[start:end] for start, end in split_sentences(text, language)] == sentences


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("hsb", ["Cyrkej swj. Pětra je stara.", "Knj. Hiccyna je tu."]),
        ("dsb", ["W cerkwi sw. Tomasa.", "Kn. Bojt jo tam."]),
        ("sl", ["Cerkev sv. Petra je stara."]),
        ("ru", ["Он весит 5 кг.", "Потом спит.", "Цена 500 руб.", "Это дорого."]),
        ("es", ["Corrió 5 km.", "Luego durmió.", "Véase la pág. 12 del libro."]),
        ("da", ["Prisen er 100 kr.", "Det er dyrt."]),
        ("ru", ["Мы помогли им.", "Они были рады."]),
        ("cs", ["Má 5 ks.", "Je jich málo."]),
        ("de", ["Nach 10 min. Fußweg kam er.", "Der SW.", "Ja."]),
        ("pl", ["Ks. Jan i św. Mikołaj, płk. Anders i dr. Nowak przyszli."]),
        ("sv", ["Se s. 12 och kap. 3 där.", "Dvs. Anna kom."]),
        ("en", ["Ms. White and Smt. Verma met Sgt. Brown."]),
        ("de", ["Am Tag des hl. Martin kam Frl. Kern.", "Das ist mein Lkw.", "Es sind 100 sq km.", "Ja."]),
        ("sk", ["Kúpil chlieb, mlieko atď.", "Potom odišiel."]),
        ("lt", ["Pirko duonos, pieno ir t. t.", "Tada išėjo."]),
        ("ro", ["A cumpărat pâine, lapte ș.a.", "Apoi a plecat."]),
    ],
)
def test_titles_end_no_sentence_and_units_and_ends_of_lists_do(language: str, sentences: list[str]) -> None:
    assert split(" ".join(sentences), language) == sentences


def test_lowercased_text_is_split() -> None:
    assert split("a dog runs. a cat sleeps.", "en") == ["a dog runs.", "a cat sleeps."]


def test_parts_without_words_are_no_sentences() -> None:
    assert split("Ja! 😀 Und nein. 🎉", "de") == ["Ja!", "Und nein."] or split("Ja! 😀 Und nein.", "de")[0] == "Ja!"
    for text in ("", " ", "😀", "...", "—\n\n—"):
        assert split_sentences(text, "de") == []


def test_identifiers_are_not_translatable() -> None:
    for text in (
        "A-12",
        "SKU 4711-B",
        "ＡＢ－１２",
        "DIN 933",
        "RAL 7016",
        "M8 x 20",
        "v2.3",
        "A-12, B-13",
        "DIN EN 60529-A",
        "ID: A1, NR. B2",
        "(F-16)",
        "x86_64",
        "12",
        "{name} %s",
        "https://a.de/b",
        r"C:\Users\x",
        "~/.bashrc",
        "/usr/local/share/hund",
        "./hund/katze",
        r"\\server\hund",
    ):
        assert not is_translatable(text), text
    for text in (
        "Hund",
        "TEIL 2",
        "OK",
        "20jährig",
        "Größe XL-3",
        "B2B-Handel",
        "Nr. 5b",
        "5वां",
        "10 km",
        "42nd",
        "und/oder",
    ):
        assert is_translatable(text), text
    for text in ("PS5 NEU", "G7 UND EU", "NUR 2L", "24H AUF", "WIFI 5G AUS", "A-12 SKU", "SKU", "NEU: SKU A-12"):
        assert is_translatable(text), text


@given(TEXTS | st.text(st.characters()), st.sampled_from(["de", "en", "hi", "zh", "xx"]))
def test_all_words_are_in_sentences(text: str, language: str) -> None:
    spans = split_sentences(text, language)
    last = 0
    for start, end in [*spans, (len(text), len(text))]:
        assert not has_words(text[last:start])
        last = end
    for start, end in spans:
        assert text[start:end] == text[start:end].strip() != ""


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Der Hund läuft.<br/>Die Katze schläft.", ["Der Hund läuft.", "Die Katze schläft."]),
        ("Der Hund läuft! <BR> <br /> 2 Katzen.<br>", ["Der Hund läuft!", "2 Katzen."]),
        ("<p>Ja.</p><p class='x'>Der <b>Hund</b>.</p>", ["<p>Ja.", "Der <b>Hund</b>."]),
        ("Wählen Sie<br>eine Datei.", ["Wählen Sie<br>eine Datei."]),
        ("Das ist z. B.<br>klein.", ["Das ist z. B.<br>klein."]),
    ],
)
def test_a_tag_that_begins_a_line_ends_a_sentence(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in split_sentences(text, "de")] == sentences
