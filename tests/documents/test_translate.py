"""Texts: sentences are translated as alone, long ones completely, and all else is kept."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dragoman
from dragoman.corpus.memory import TranslationMemory
from dragoman.corpus.pair import Pair
from dragoman.doctor.input import OTHER_LANGUAGE
from dragoman.documents.formats import open_document
from dragoman.documents.formats.html import HtmlText
from dragoman.documents.segment import Segment
from dragoman.documents.sentences import PlainText, join_parts
from dragoman.documents.translate import TextTranslator
from dragoman.errors import UserError
from dragoman.text.glossary import Glossary, Term
from dragoman.text.match import EXACT_MATCH
from dragoman.text.term_matcher import CheckedTerm
from dragoman.text.translation import Translation
from dragoman.translator import SourceText, TextSearch

if TYPE_CHECKING:
    from dragoman.translator import Translator


@pytest.fixture(scope="module")
def texts(translator: Translator) -> TextTranslator:
    return TextTranslator(translator)


@pytest.fixture(scope="module")
def sentences(corpus: Path) -> list[str]:
    return (corpus / "test.de").read_text().splitlines()


def with_point(translation: str) -> str:
    """A translation before another sentence: with a final point."""
    return f"{translation}." if translation[-1:].isalnum() else translation


def test_a_text_is_translated_sentence_by_sentence(
    translator: Translator, texts: TextTranslator, sentences: list[str]
) -> None:
    a, b, c = sentences[:3]
    one, two, three = map(str, translator([a, b, c]))
    assert texts(f"{a} {b}\n\n  - {c}\t\n😀\n") == f"{with_point(one)} {two}\n\n  - {three}\t\n😀\n"
    assert isinstance(texts, dragoman.TextTranslator)


@pytest.mark.parametrize("text", ["", "\n", "😀 …\n\n--"])
def test_texts_without_words_stay_as_they_are(texts: TextTranslator, text: str) -> None:
    assert texts(text) == text


@pytest.mark.parametrize("text", [None, 1, b"Hund", ["Ein Hund.", "Eine Katze."]], ids=str)
def test_only_a_string_is_a_text(texts: TextTranslator, text: Any) -> None:
    with pytest.raises(UserError, match=r"cannot translate .*: pass one string"):
        texts(text)


@pytest.mark.parametrize("translator", [None, "runs/quickstart"])
def test_only_a_translator_can_translate(translator: Any) -> None:
    with pytest.raises(UserError, match=r"must be a translator, as dragoman\.load returns"):
        TextTranslator(translator)


def test_equal_segments_are_translated_once(
    translator: Translator, texts: TextTranslator, sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    encode = TextSearch.encode

    def recorded(search: TextSearch, texts: Sequence[str], prefixes: Sequence[str] | None = None) -> list[SourceText]:
        seen.extend(texts)
        return encode(search, texts, prefixes)

    monkeypatch.setattr(TextSearch, "encode", recorded)
    a, b = sentences[:2]
    translated = texts.translate_segments([Segment(text) for text in (a, b, a, b, b)])
    assert seen == [a, b]
    assert [each.text for each in translated] == [translated[index].text for index in (0, 1, 0, 1, 1)]


def test_long_sentences_are_translated_completely(texts: TextTranslator, sentences: list[str]) -> None:
    clauses = [sentence.rstrip(".") for sentence in sentences[:12]]
    long = " ".join(f"{clause}," for clause in clauses[:-1]) + f" {clauses[-1]}."
    assert texts.translator.is_too_long(long)
    (translation,) = texts.stream([long])
    assert not translation.truncated
    assert len(translation.tokens) > texts.translator.source_limit
    spans = texts.divide(long)
    assert len(spans) > 1
    parts = [str(texts.translator(long[start:end])) for start, end in spans]
    assert translation.text == " ".join(parts)
    assert texts(long) == translation.text


def test_a_long_segment_has_the_links_of_its_parts(texts: TextTranslator, sentences: list[str]) -> None:
    long = " ".join(sentence.rstrip(".") for sentence in sentences[:12])
    (whole,) = texts.translate_segments([Segment(long, aligned=True)])
    spans = texts.divide(long)
    parts = [Segment(long[start:end], aligned=True) for start, end in spans]
    assert len(parts) > 1

    def words(segment: Segment, translated: Translation) -> list[tuple[str, str]]:
        return [(segment.text[a:b], translated.text[c:d]) for a, b, c, d in translated.links]

    alone = [words(part, translated) for part in parts for translated in texts.translate_segments([part])]
    assert words(Segment(long), whole) == [pair for pairs in alone for pair in pairs]
    joined = join_parts(long, spans, texts.translate_segments(parts))
    assert (joined.text, joined.links) == (whole.text, whole.links)


def test_sentences_in_another_language_have_a_problem(texts: TextTranslator) -> None:
    german, english = "Ein Hund läuft im Park.", "A dog runs across the grass and a man is in the park."
    problems = [each.problems for each in texts.translate_segments([Segment(german), Segment(english)])]
    assert [OTHER_LANGUAGE in each for each in problems] == [False, True]


@pytest.mark.parametrize("invisible", ["\u00ad", "\u061c", "\u200b", "\u200f", "\u2060", "\ufeff"])
def test_invisible_characters_do_not_matter(texts: TextTranslator, sentences: list[str], invisible: str) -> None:
    for sentence in sentences[:3]:
        disturbed = invisible + sentence.replace("n", f"n{invisible}", 1)
        assert texts(disturbed) == texts(sentence)
        (streamed,) = texts.stream([disturbed])
        assert streamed.text == texts(sentence)
        segment = Segment(disturbed, aligned=True)
        (clean,), (found,) = (texts.translate_segments([each]) for each in (Segment(sentence, aligned=True), segment))
        linked = [(disturbed[a:b].replace(invisible, ""), c, d) for a, b, c, d in found.links]
        assert linked == [(sentence[a:b], c, d) for a, b, c, d in clean.links]


def test_terms_and_segments_of_a_memory_are_found_despite_invisible_characters(translator: Translator) -> None:
    texts = TextTranslator(translator, Glossary([Term("Hund", "water spaniel")]))
    assert texts("Ein Hun\u00add rennt.") == texts("Ein Hund rennt.") != texts.translator("Ein Hund rennt.").text
    texts = TextTranslator(translator, memory=TranslationMemory([Pair("Anmelde\u00adname", "Login")]))
    assert {texts(each) for each in ("Anmelde\u00adname", "Anmeldename", "\u200eAnmeldename")} == {"Login"}


UNIT = Pair("Ein Hund läuft. Er bellt.", "It barks, and so the dog runs")
TU = "<tu><tuv xml:lang='de'><seg>{}</seg></tuv></tu>"
LINES = Pair("1. Ein Hund läuft.\nEr bellt. Er spielt.", "1) The dog:\nit barks")


def test_units_of_several_sentences_are_taken_from_the_memory(translator: Translator) -> None:
    texts = TextTranslator(translator, memory=TranslationMemory([UNIT, LINES]))
    other = texts("Eine Katze schläft.")
    assert texts(f" - {UNIT.source}\t\nEine Katze schläft.\n") == f" - {UNIT.target}\t\n{other}\n"
    assert texts(f"{LINES.source}\n") == f"{LINES.target}\n"
    assert texts(f"{UNIT.source} Eine Katze schläft.") == TextTranslator(translator)(
        f"{UNIT.source} Eine Katze schläft."
    ), "another text with the same sentences"
    found, several = texts.stream([f"  {UNIT.source}\n", LINES.source])
    assert (found.text, found.match) == (f"  {UNIT.target}\n", EXACT_MATCH)
    assert (several.text, several.match) == (LINES.target, EXACT_MATCH)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "{}\n\n{}\n"),
        ("a.md", "# Titel\n\n{}\n\n* {}\n"),
        ("a.html", "<p>\n{}\n</p><img alt='{}'>"),
        ("a.po", 'msgid "{}"\nmsgstr ""\n\nmsgctxt "b"\nmsgid "{}"\nmsgstr ""\n'),
        ("a.json", '{{"a": "{}", "b": "{}"}}'),
        ("a.csv", "x,y\n{},1\n{},2\n"),
        ("a.tmx", f"<tmx version='1.4'><header srclang='de'/><body>{TU}{TU}</body></tmx>"),
    ],
)
def test_units_of_documents_are_taken_from_the_memory(translator: Translator, name: str, text: str) -> None:
    texts = TextTranslator(translator, memory=TranslationMemory([UNIT]))
    data = text.format(UNIT.source, UNIT.source).encode()
    document = open_document(data, name, ("de", "en"), whole_lines=texts.whole_lines)
    written = texts.translate(document).decode()
    assert written.count(UNIT.target) == 2, written


def test_tags_of_units_in_a_memory_stay(translator: Translator) -> None:
    texts = TextTranslator(translator, memory=TranslationMemory([UNIT]))
    html = HtmlText(
        f"<p><i>{UNIT.source}</i></p><p>{UNIT.source.replace('Hund', '<b>Hund</b>')}</p>", "de", texts.whole_lines
    )
    whole, marked = texts.translate(html).removesuffix("</p>").split("</p>")
    assert whole == f"<p><i>{UNIT.target}</i>"
    assert re.sub("</?b>", "", marked) == f"<p>{UNIT.target}"
    assert marked.count("<b>") == marked.count("</b>") == 1


def test_tags_of_a_long_segment_of_a_memory_keep_their_places(translator: Translator) -> None:
    source = f"{'Ein Hund läuft durch den Park und ' * 40}bellt."
    target = f"{'A dog runs through the park and ' * 40}barks."
    texts = TextTranslator(translator, memory=TranslationMemory([Pair(source, target)]))
    assert texts.translator.is_too_long(source)
    html = HtmlText(source.replace("bellt", "<b>bellt</b>"), "de")
    assert texts.translate(html) == target.replace("barks.", "<b>barks.</b>")


def test_a_memory_in_the_other_direction_is_warned_about(translator: Translator, corpus: Path) -> None:
    sides = [(corpus / f"train.{language}").read_text().splitlines() for language in ("de", "en")]
    right = [Pair(*each) for each in zip(*sides, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TextTranslator(translator, memory=TranslationMemory(right))
    with pytest.warns(match=r"other direction: .* look like en; exchange its sides"):
        TextTranslator(translator, memory=TranslationMemory(Pair(each.target, each.source) for each in right))


def test_joined_parts_have_the_terms_of_all() -> None:
    dog, cat = CheckedTerm("Hund", "hound", "exactly"), CheckedTerm("Katze", "feline", "exactly")
    parts = [Translation("A hound", terms=[dog]), Translation("a feline and a hound", terms=[cat, dog])]
    assert join_parts("Ein Hund, eine Katze und ein Hund", [(0, 9), (10, 33)], parts).terms == [dog, cat]


def test_lines_of_one_sentence_are_translated_as_before(
    translator: Translator, texts: TextTranslator, sentences: list[str]
) -> None:
    lines = [*sentences, "Hund", "1. Hund"]
    assert [each.text for each in texts.stream(lines)] == [each.text for each in translator(lines)]
    assert [each.tokens for each in texts.stream(lines, window=3)] == [each.tokens for each in translator(lines)]


@pytest.mark.parametrize("line", ["1\t2\t3", "-5", "15 %", "€ 5", "1998 1999", "٣"])
def test_lines_without_letters_are_copied_if_numbers_are_not_masked(texts: TextTranslator, line: str) -> None:
    (found,) = texts.stream([line])
    assert (found.text, found.problems) == (line, [])


def test_bullets_and_spaces_of_a_line_are_kept(texts: TextTranslator, sentences: list[str]) -> None:
    plain, *others = texts.stream([sentences[0], f"  {sentences[0]} ", f"\t- {sentences[0]}", f"a) {sentences[0]}"])
    assert [each.text for each in others] == [f"  {plain.text} ", f"\t- {plain.text}", f"a) {plain.text}"]
    assert [each.tokens for each in others] == [plain.tokens] * 3
    numbered = [f"{number}. {sentences[0]}" for number in (1, 2)]
    assert [each.text for each in texts.stream(numbered)] == [f"{number}. {plain.text}" for number in (1, 2)]


def test_lines_of_several_sentences_join_their_translations(finished_run: Path, sentences: list[str]) -> None:
    translator = dragoman.load(finished_run, n_best=2, device="cpu")
    a, b = sentences[:2]
    line, blank, one = TextTranslator(translator).stream([f"{a}  {b}", "", a])
    first, second = translator([a, b])
    assert line.text == f"{with_point(first.text)}  {second.text}"
    assert line.tokens == [*first.tokens, *second.tokens]
    assert line.log_probabilities == pytest.approx([*first.log_probabilities, *second.log_probabilities], abs=1e-4)
    assert line.score == pytest.approx(first.score + second.score, abs=1e-4)
    expected = f"{with_point(first.alternatives[0].text)}  {second.alternatives[0].text}"
    assert [each.text for each in line.alternatives] == [expected]
    assert (blank.text, one.text) == ("", first.text)


def test_translators_of_paragraphs_are_given_whole_lines(
    translator: Translator, texts: TextTranslator, sentences: list[str]
) -> None:
    described = {**translator.bundle.training_text, "several_sentences": 0.5, "longest": 1000}
    bundle = replace(translator.bundle, training_text=described)
    paragraphs = TextTranslator(dragoman.Translator(bundle, device="cpu"))
    assert (paragraphs.whole_lines, texts.whole_lines) == (True, False)
    line = " ".join(sentences[:2])
    assert paragraphs(f"{line}\n") == f"{translator(line)}\n"
    assert [each.text for each in paragraphs.stream([line])] == [str(translator(line))]


@pytest.mark.parametrize(
    "damage",
    [
        {"alignment": {"layer": 99, "shifted": False}},
        {"training_text": {"lines": "x"}},
        {"confidence": {"weights": "x"}},
    ],
)
def test_a_damaged_bundle_is_refused_with_its_path(finished_run: Path, tmp_path: Path, damage: dict[str, Any]) -> None:
    path = tmp_path / "bundle"
    shutil.copytree(finished_run / "bundle", path)
    about = json.loads((path / "bundle.json").read_text(encoding="utf-8")) | damage
    (path / "bundle.json").write_text(json.dumps(about), encoding="utf-8")
    (key,) = damage
    with pytest.raises(UserError, match=rf"{path}/bundle\.json: damaged \({key}"):
        TextTranslator(dragoman.load(path, device="cpu"))


def test_documents_are_assembled(texts: TextTranslator, sentences: list[str]) -> None:
    text = "\n".join(sentences[:3])
    assert texts.translate(PlainText(text, "de")) == texts(text)


def test_a_stream_divides_strings_into_lines(translator: Translator) -> None:
    texts = dragoman.TextTranslator(translator)
    text = "Eine Frau sitzt.\n1. Ein Hund läuft.\nEin Kind spielt."
    (found,) = texts.stream([text])
    assert found.text == texts(text)
    assert found.text.count("\n") == 2


@pytest.mark.parametrize("number", ["1. ", "12.  ", "2.1. "])
def test_an_item_is_found_in_a_memory_with_and_without_its_number(number: str, translator: Translator) -> None:
    """Also a single one, whose number may be an ordinal in German."""
    texts = TextTranslator(translator, memory=TranslationMemory([Pair("Datei öffnen", "Open file")]))
    assert texts(f"{number}Datei öffnen") == f"{number}Open file"
    both = TranslationMemory([Pair("Datei öffnen", "Open file"), Pair(f"{number}Datei öffnen", "First, open a file")])
    assert TextTranslator(translator, memory=both)(f"{number}Datei öffnen") == "First, open a file"
