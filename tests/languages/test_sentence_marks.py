"""Every mark that Unicode says ends a sentence does, and it continues where its language requires that."""

from __future__ import annotations

import sys

import pytest
import regex

from dragoman.documents.sentences import split_sentences
from dragoman.languages.sentence_marks import (
    BETWEEN_SENTENCES,
    ORDINAL_POINTS,
    SPACED_ENDS,
    UNSPACED_ENDS,
    follows_end,
    sentence_continues,
    starts_sentence,
    without_end,
)

MARKS = regex.findall(r"\p{Sentence_Terminal}", "".join(map(chr, range(sys.maxunicode + 1))))
UNSPACED = [mark for mark in MARKS if regex.match(UNSPACED_ENDS, mark, regex.VERSION1)]
CODES = ["de", "en", "hi", "km", "ja", "zh", "xx", ""]


def split(text: str, language: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text, language)]


@pytest.mark.parametrize("language", CODES)
def test_every_mark_ends_a_sentence(language: str) -> None:
    assert len(MARKS) > 150
    for mark in MARKS:
        first, second = f"Haus Baum{mark}", f"Fluss Berg{mark}"
        assert split(f"{first} {second}", language) == [first, second], f"U+{ord(mark):04X}"
        assert BETWEEN_SENTENCES.search(f"{first} {second}")
        assert starts_sentence(f"{first} {second}", len(first) + 1)
        assert without_end(first) == "Haus Baum"


@pytest.mark.parametrize("language", ["km", "ja", "zh", "hi"])
def test_marks_of_scripts_that_need_no_space_end_a_sentence_without_one(language: str) -> None:
    assert not set(SPACED_ENDS) & set(UNSPACED)
    for mark in UNSPACED:
        first, second = f"កខគ{mark}", f"កខឃ{mark}"
        assert split(first + second, language) == [first, second], f"U+{ord(mark):04X}"
        assert BETWEEN_SENTENCES.search(first + second)
    assert not BETWEEN_SENTENCES.search("3.5 a.b")


WHOLE = [
    ("ja", "「こんにちは。」と彼は言った。"),
    ("ja", "「え？」と思った。"),
    ("ja", "彼は「はい。」と答え、去った。"),
    ("ja", "「行くぞ！」って言ったのに。"),
    ("ja", "「終わった。」という声が聞こえた。"),
    ("ja", "「暑い。」などと文句を言う。"),
    ("ja", "『助けて！』の声で目が覚めた。"),
    ("ja", "（笑。）を付けた。"),
    ("ja", "彼は『はい。』と答え、去った。"),
    ("ja", "【注意！】という札を見た。"),
    ("ja", "痛い！と叫んだ。"),
    ("zh", "“你好。”他说。"),
    ("zh", "“你去哪儿？”小明问道，然后笑了。"),
    ("zh-TW", "「你好。」她說。"),
    ("ko", '"안녕하세요."라고 그는 말했다.'),
    ("ko", "“가자!” 하고 그가 외쳤다."),
    ("en", '"Hello." he said.'),
    ("de", "„Nein!“ rief sie."),
    ("ru", "— Привет! — сказала Анна."),
    ("ru", "— Я иду… — ответил он."),
    ("pl", "- Idziesz? - zapytał."),
    ("pt", "— Vens? — perguntou ele."),
    ("es", "—¡Hola! —dijo Ana."),
    ("es", "–Me voy. –dijo Ana."),
    ("tr", "— Merhaba! — dedi Ayşe."),
    ("en", "The value (a, b, ...), where a is small."),
    ("km", "ឆ្កែ ឆ្មា ។ល។"),
]
"""Texts with a mark in the middle of their only sentence."""

SEVERAL = [
    ("ja", ["「こんにちは。」", "とても寒い。"]),
    ("ja", ["「はい。」", "ところで、今何時？"]),
    ("ja", ["「はい。」", "彼は来た。"]),
    ("ja", ["本当？", "どうして？"]),
    ("zh", ["“你好。”", "他走了。"]),
    ("zh", ["“你好。”", "他说：“再见。”"]),
    ("ko", ['"안녕하세요." ', "그는 왔다."]),
    ("km", ["នេះជាឆ្កែ។", "វារត់៕"]),
    ("my", ["ဒါကခွေးပါ။", "သူပြေးတယ်။"]),
    ("ur", ["یہ کتا ہے۔", "وہ دوڑا۔"]),
    ("ru", ["— Идёшь? ", "— Да."]),
    ("es", ["Use ls. ", "-l muestra más."]),
]


@pytest.mark.parametrize(("language", "text"), WHOLE)
def test_a_sentence_sentence_continues_after_a_quotation(language: str, text: str) -> None:
    assert split(text, language) == [text]
    assert split(f"{text} {text}", language) == [text, text]


@pytest.mark.parametrize(("language", "sentences"), SEVERAL)
def test_other_sentences_end_there(language: str, sentences: list[str]) -> None:
    assert split("".join(sentences), language) == [each.strip() for each in sentences]


COPIED = ["{name}", "%s", "$user", "https://x.de/a", "bild.png", "<code>x</code>", "{1}", "a.b@c.de", "&amp;"]


@pytest.mark.parametrize("language", ["de", "en", "fr", "da", "cs", "sk", "fi", "hsb", "ru", "xx"])
@pytest.mark.parametrize("copied", COPIED)
@pytest.mark.parametrize(
    "first",
    ["Ich bin müde.", "Ich lese ein Buch.", "Ruf an.", "Ich bin müde!", "Bist du müde?", "„Ich bin müde.“", "Müde…"],
)
def test_a_copied_part_may_begin_a_sentence(language: str, copied: str, first: str) -> None:
    second = f"{copied} Tom liest ein Buch."
    assert follows_end(f"{first} {second}", len(first) + 1)
    if not first.endswith("…"):
        assert split(f"{first} {second}", language) == [first, second]


TEXTS_WITH_ABBREVIATIONS = [
    "Siehe Abb. {} im Text.",
    "Sie brauchen ca. {} davon.",
    "Die Bestellnr. {} und z.B. {} fehlen.",
    "Ich sah Prof. {} und evtl. {} dort.",
    "Der Wert {} ist gut.",
]


@pytest.mark.parametrize("copied", COPIED)
@pytest.mark.parametrize("text", TEXTS_WITH_ABBREVIATIONS)
def test_a_copied_part_in_a_sentence_does_not_divide_it(copied: str, text: str) -> None:
    text = text.replace("{}", copied)
    assert split(text, "de") == [text]


@pytest.mark.parametrize("language", sorted(ORDINAL_POINTS))
@pytest.mark.parametrize("number", ["2", "#", "%d", "%1$d"])
def test_an_ordinal_number_does_not_end_a_sentence(language: str, number: str) -> None:
    first = f"Hana Nova {number}. Kapitola hraje."
    assert split(f"{first} Ano.", language) == [first, "Ano."]


@pytest.mark.parametrize("brackets", ["「」", "『』", "【】", "〈〉", "《》", "“”"])
@pytest.mark.parametrize("mark", "。！？")
def test_a_closing_bracket_belongs_to_the_sentence_before_it(brackets: str, mark: str) -> None:
    sentences = [f"{brackets[0]}彼は来た{mark}{brackets[1]}", "彼は行った。"]
    assert split("".join(sentences), "ja") == split(" ".join(sentences), "ja") == sentences


def test_nothing_sentence_continues_at_the_end_of_a_text() -> None:
    for _, text in WHOLE:
        assert not sentence_continues(text, len(text))
