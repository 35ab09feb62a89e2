"""Subtitles: cues begin with a number and times, not with an empty line; the names of speakers stay as they are."""

from __future__ import annotations

import pytest
from segment_translators import assemble, translate_upper

from dragoman.documents.formats.open import open_document

LANGUAGES = ("de", "en")


def subtitle(cues: list[str], name: str, between: str = "\n") -> str:
    """A file of cues with numbers; `between` is between them."""
    mark = "," if name.endswith(".srt") else "."
    texts = [
        f"{number}\n00:00:{number:02}{mark}000 --> 00:00:{number:02}{mark}900\n{cue}\n"
        for number, cue in enumerate(cues, start=1)
    ]
    return ("" if name.endswith(".srt") else "WEBVTT\n\n") + between.join(texts)


def texts_of(content: str, name: str) -> list[str]:
    return [segment.text for segment in open_document(content.encode(), name, LANGUAGES).segments]


def in_capitals(content: str, name: str) -> str:
    return assemble(open_document(content.encode(), name, LANGUAGES), translate_upper).decode()


CUES = {
    "one line": (["Ein Mann schläft.", "Eine Frau liest."], ["Ein Mann schläft.", "Eine Frau liest."]),
    "several lines": (["Ein Mann\nschläft.", "Eine Frau\nliest."], ["Ein Mann schläft.", "Eine Frau liest."]),
    "an empty line inside": (["Ein Mann\n\nschläft.", "Ja.\n \nNein."], ["Ein Mann schläft.", "Ja.", "Nein."]),
    "empty lines before and after": (["\nEin Mann schläft.\n\n", "\n\nJa."], ["Ein Mann schläft.", "Ja."]),
    "a number at the end": (["Wir sind\n1234", "Ja."], ["Wir sind 1234", "Ja."]),
    "no text": (["", "Ja."], ["Ja."]),
    "styles": (["<i>Ein Mann\n\nschläft.</i>", "Ja."], ["Ein Mann schläft.", "Ja."]),
}


@pytest.mark.parametrize("name", ["a.srt", "a.vtt"])
@pytest.mark.parametrize("between", ["", "\n", "\n\n", " \n"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("kind", CUES)
def test_numbers_and_times_divide_cues(kind: str, line_end: str, between: str, name: str) -> None:
    cues, expected = CUES[kind]
    content = subtitle(cues, name, between).replace("\n", line_end)
    assert texts_of(content, name) == expected
    assert in_capitals(content, name) == content.upper().replace("<I>", "<i>").replace("</I>", "</i>")


def test_a_cue_needs_no_number() -> None:
    times = "00:00:01,000 --> 00:00:02,000\n"
    assert texts_of(f"{times}Ja.\n\n{times}Nein.\n{times}Doch.\n", "a.srt") == ["Ja.", "Nein.", "Doch."]
    assert texts_of(f"1\n\n{times}Ja.\n\n2\n\n{times}Nein.\n", "a.srt") == ["Ja.", "Nein."]


def test_notes_and_names_of_webvtt_are_kept() -> None:
    content = (
        "WEBVTT\n\nNOTE Hinweis\n\nerster Teil\n00:01.000 --> 00:02.000\nJa.\n\nUnd mehr\n\nNOTE\nNotiz\n"
        "mit Text\n\nzweiter Teil\n00:03.000 --> 00:04.000\nNein.\n\nNOTE Ende\n\nNOTE Ende\n"
    )
    assert texts_of(content, "a.vtt") == ["Ja.", "Und mehr", "Nein."]


LABELS = [
    "MANN: ", "JOSÉ: ", "ÉLODIE: ", "FRAU MÜLLER-LANG: ", "MANN 2: ", "MANN #2: ", "DR. MÜLLER: ", "O’BRIEN: ",
    "2. MANN: ", "A: ", "МУЖЧИНА 2: ", "ЖЕНЩИНА: ", "ΑΝΤΡΑΣ: ", "男：", "女2：", "男性:", "男1: ", "男Ａ：", "女B：",
    "여자: ", "राम: ", "औरत 2: ", "المرأة: ", "איש: ", "ผู้ชาย: ", "ქალი: ",
    "MANN：", "- ", "-", "– ", ">> ", ">>", ">> MANN: ", "- MANN: ", ">>> ",
]  # fmt: skip


@pytest.mark.parametrize("name", ["a.srt", "a.vtt"])
@pytest.mark.parametrize("label", LABELS)
def test_the_names_of_speakers_are_kept_and_their_words_are_divided(label: str, name: str) -> None:
    written = label.replace(">", "&gt;") if name == "a.vtt" else label
    for first, last in (("", ""), ("<i>", "</i>")):
        lines = [f"{first}{written}ich bin müde{last}", f"{first}{written}du schläfst nie{last}"]
        content = subtitle(["\n".join(lines)], name)
        assert texts_of(content, name) == ["ich bin müde", "du schläfst nie"]
        shown = content.replace("ich bin müde", "ICH BIN MÜDE").replace("du schläfst nie", "DU SCHLÄFST NIE")
        assert in_capitals(content, name) == shown


@pytest.mark.parametrize("name", ["a.srt", "a.vtt"])
@pytest.mark.parametrize(
    "text",
    [
        "Er sagte: Komm her",
        "Um 10:30 kommt er",
        "UM 10:30 KOMMT ER",
        "Achtung: heute nicht",
        "他说：你好",
        "Die Frage: wann?",
    ],
)
def test_other_colons_are_part_of_the_text(text: str, name: str) -> None:
    assert texts_of(subtitle([text], name), name) == [text]


@pytest.mark.parametrize("arrow", ["- ", "– ", ">> "])
def test_a_speaker_may_begin_within_a_line(arrow: str) -> None:
    content = subtitle([f"{arrow}Wer ist da? {arrow}Ich bin es."], "a.srt")
    assert texts_of(content, "a.srt") == ["Wer ist da?", "Ich bin es."]


@pytest.mark.parametrize(
    "times", ["00:00:07,000 --> 00:00:11:890", "0:07.0 --> 0:11,89", "00:00:07:000-->00:00:11:890"]
)
def test_times_may_be_written_in_several_ways(times: str) -> None:
    content = f"1\n00:00:01,000 --> 00:00:02,000\nEin Mann schläft.\n\n2\n{times}\nEine Frau liest.\n"
    assert texts_of(content, "a.srt") == ["Ein Mann schläft.", "Eine Frau liest."]
    assert times in in_capitals(content, "a.srt")


def test_the_number_of_a_cue_without_times_is_kept() -> None:
    content = "1\n00:00:01,000 --> 00:00:02,000\nEin Mann schläft.\n\n2\nEine Frau liest.\n"
    assert texts_of(content, "a.srt") == ["Ein Mann schläft.", "Eine Frau liest."]
    assert in_capitals(content, "a.srt") == content.replace("Ein Mann schläft", "EIN MANN SCHLÄFT").replace(
        "Eine Frau liest", "EINE FRAU LIEST"
    )
