"""Terms of a glossary are in the translations, and change nothing where they are already."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import astuple, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.documents import terms as terms_module
from dragoman.documents.segment import Segment, with_glossary
from dragoman.documents.terms import MOST_SEARCHES, Spot, TermDraft, TermSearch
from dragoman.documents.translate import TextTranslator
from dragoman.text.glossary import Glossary, Term
from dragoman.text.lemmas import lemmatizer
from dragoman.text.link import Link
from dragoman.text.masking import Mask
from dragoman.text.term_matcher import CheckedTerm, TermMatcher, contains_term, missing_terms
from dragoman.text.translation import Translation
from dragoman.text.word_forms import form_finder
from dragoman.translator import SourceText, TextSearch, Translator

GLOSSARY = Glossary([Term("Hund", "water spaniel"), Term("Hunde", "water spaniels"), Term("Frau", "tall lady")])
MATCHER = TermMatcher(lemmatizer("de"), lemmatizer("en"))


@pytest.fixture(scope="module")
def texts(translator: Translator) -> TextTranslator:
    return TextTranslator(translator)


@pytest.fixture(scope="module")
def sentences(corpus: Path) -> list[str]:
    return (corpus / "test.de").read_text().splitlines()


@pytest.fixture(scope="module")
def segments(sentences: list[str]) -> list[Segment]:
    made = with_glossary(map(Segment, [*sentences, "Ein Hund und eine Frau.", "Hund", "Hund Frau Hunde"]), GLOSSARY)
    assert sum(bool(terms_in(segment)) for segment in made) >= 5
    return made


def terms_in(segment: Segment) -> list[Term]:
    """The different terms of a segment."""
    return list(dict.fromkeys(found.term for found in MATCHER.find(segment.text, segment.glossary)))


def draft_of(segment: Segment, translation: Translation, matcher: TermMatcher, fixed: int = 0) -> TermDraft:
    source = SourceText(Mask(segment.text, {}), [], truncated=False)
    return TermDraft(segment, source, translation, matcher, form_finder("de"), fixed)


def used(*terms: Term) -> list[CheckedTerm]:
    return [CheckedTerm(term.source, term.target, "exactly") for term in terms]


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_translations_contain_the_terms(
    finished_run: Path, segments: list[Segment], engine: str, beam_size: int
) -> None:
    made = TextTranslator(dragoman.load(finished_run, device="cpu", engine=engine, beam_size=beam_size))
    plain = made.translate_segments([Segment(segment.text) for segment in segments])
    for segment, before, after in zip(segments, plain, made.translate_segments(segments), strict=True):
        assert {(each.source, each.target) for each in after.terms} == set(map(astuple, terms_in(segment)))
        assert all(term.used != "not" for term in after.terms)
        assert not any("term" in problem for problem in after.problems)
        assert all(MATCHER.count(after.text, term.target) for term in terms_in(segment))
        if not terms_in(segment):
            assert after == before


def test_terms_that_a_translation_contains_change_nothing(texts: TextTranslator, sentences: list[str]) -> None:
    plain = texts.translate_segments(list(map(Segment, sentences)))
    terms = [
        Term(text.split()[-1].strip("."), each.text.split()[1]) for text, each in zip(sentences, plain, strict=True)
    ]
    segments = [Segment(text, glossary=Glossary([term])) for text, term in zip(sentences, terms, strict=True)]
    again = texts.translate_segments(segments)
    assert again == [replace(each, terms=used(term)) for each, term in zip(plain, terms, strict=True)]


def with_limit(translator: Translator, limit: float | None) -> TextTranslator:
    decoding = translator.decoding.model_copy(update={"max_term_cost": limit})
    return TextTranslator(Translator(translator.bundle, decoding))


@pytest.fixture(scope="module")
def known_words(corpus: Path) -> list[str]:
    """Words that the training text contains, the longest ones first, which are improbable to a small model."""
    words = {word for word in (corpus / "train.en").read_text().split() if word.isalpha() and word.islower()}
    return sorted(sorted(words), key=len, reverse=True)


@pytest.mark.parametrize("is_known", [True, False])
def test_a_higher_limit_leaves_out_fewer_terms(
    translator: Translator, sentences: list[str], known_words: list[str], is_known: bool
) -> None:
    target = " ".join(known_words[:4]) if is_known else "Zorbax"
    segments = with_glossary(map(Segment, [*sentences, "Ein Hund."]), Glossary([Term("Hund", target)]))
    plain = TextTranslator(translator).translate_segments([Segment(each.text) for each in segments])
    left_out = list[set[int]]()
    for limit in (0.0, 3.0, 1e6, None):
        found = with_limit(translator, limit).translate_segments(segments)
        left_out.append({number for number, each in enumerate(found) if "not" in [term.used for term in each.terms]})
        for number in left_out[-1]:
            assert found[number].text == plain[number].text
            assert f"missing term: {target}" in found[number].problems
    assert left_out == sorted(left_out, key=len, reverse=True)
    assert all(more >= fewer for more, fewer in pairwise(left_out))
    assert not left_out[-1] | left_out[-2]
    assert bool(left_out[0]) == is_known, "words that the training text lacks are always used"


def test_what_the_model_translates_a_word_with_is_never_left_out(translator: Translator, sentences: list[str]) -> None:
    texts = with_limit(translator, 0.1)  # more than the difference between batches of several sizes
    terms = [Term(word, translator(word).text) for word in ("Hund", "Frau", "Mann")]
    for term in terms:
        segments = with_glossary(map(Segment, sentences), Glossary([term]))
        assert all(each.used != "not" for found in texts.translate_segments(segments) for each in found.terms)


@pytest.mark.parametrize("most", [0, 1, 8])
def test_no_term_is_unused_because_of_others_or_of_their_order(
    most: int, texts: TextTranslator, sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.documents.terms.MOST_SEARCHES", most)
    terms = [Term("Hund", "water spaniel"), Term("Frau", "tall lady"), Term("Mann", "old sailor"), Term("Ein", "Some")]
    lines = [*sentences[:12], "Ein Hund, eine Frau und ein Mann. Ein Mann"]

    def translate(given: list[Term]) -> list[Translation]:
        return texts.translate_segments(with_glossary(map(Segment, lines), Glossary(given)))

    together = translate(terms)
    assert together == translate(terms[::-1])
    for term in terms:
        for alone, each in zip(translate([term]), together, strict=True):
            used_alone = {(one.source, one.target) for one in alone.terms if one.used != "not"}
            assert used_alone <= {(one.source, one.target) for one in each.terms if one.used != "not"}


def count_calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The number of calls of what takes time, from now on, and of scored texts."""
    calls = Counter[str]()

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            calls[name] += 1
            if name == "score":
                calls["scored texts"] += len(arguments[2])
            return function(*arguments)

        return call

    for owner, name in ((TermMatcher, "count"), (terms_module, "align"), (TextSearch, "score"), (TextSearch, "search")):
        monkeypatch.setattr(owner, name, counted(name, getattr(owner, name)))
    return calls


@pytest.mark.parametrize("limit", [None, 0.0])
def test_many_terms_of_a_sentence_take_few_calls_of_the_model(
    translator: Translator, known_words: list[str], limit: float | None
) -> None:
    assert len(known_words) >= 80
    found = dict[int, Counter[str]]()
    for number in (20, 80):
        sources = [f"{one}{other}" for one in "bcdfghjk" for other in "lmnpqrstvw"][:number]
        glossary = Glossary(map(Term, sources, known_words))
        decoding = translator.decoding.model_copy(update={"max_term_cost": limit})
        search = TermSearch(Translator(translator.bundle, decoding), MATCHER, form_finder("en"))
        with pytest.MonkeyPatch.context() as patch:
            found[number] = count_calls(patch)
            (made,) = search.translate([Segment(" ".join(sources), glossary=glossary)])
        used = [each.used != "not" for each in MATCHER.check(" ".join(sources), glossary, made.text)]
        assert len(used) == number
        assert all(used) == (limit is None)
    few, many = found[20], found[80]
    assert many["count"] <= 16 * few["count"], "at most the square of the number of terms"
    assert many["scored texts"] <= 16 * few["scored texts"]
    for name in ("align", "score", "search"):
        assert 0 < many[name] <= 3 * (MOST_SEARCHES + 2), name


@pytest.mark.parametrize("limit", [None, 3.0])
def test_batches_do_not_matter(translator: Translator, segments: list[Segment], limit: float | None) -> None:
    texts = with_limit(translator, limit)
    together = texts.translate_segments(segments)
    assert [each.text for each in together] == [texts.translate_segments([one])[0].text for one in segments]


def test_terms_that_are_too_long_for_the_search_are_used_too(texts: TextTranslator) -> None:
    long = Term("Hund", " ".join(["water"] * 200))
    (found,) = texts.translate_segments([Segment("Ein Hund.", glossary=Glossary([long]))])
    assert found.terms == used(long)


def test_translations_with_terms_have_no_confidence(translator: Translator) -> None:
    confidence = {"constant": 1.0, "mean": 1.0, "probability": 1.0, "length": 0.0}
    bundle = replace(translator.bundle, confidence=confidence)
    texts = TextTranslator(Translator(bundle, translator.decoding), GLOSSARY)
    with_term, without = texts.stream(["Ein Hund läuft.", "Ein Mann läuft."])
    assert with_term.confidence is None
    assert without.confidence is not None


def test_a_term_that_is_not_used_is_a_problem() -> None:
    terms = [Term("Hund", "hound"), Term("Frau", "lady"), Term("Katze", "cat")]
    checked = TermMatcher().check("Hund und Frau", Glossary(terms), "A hound and a woman")
    assert checked == [*used(terms[0]), CheckedTerm("Frau", "lady", "not")]
    assert missing_terms(checked) == ["missing term: lady"]


def test_texts_and_lines_use_the_glossary(translator: Translator, sentences: list[str]) -> None:
    made = TextTranslator(translator, GLOSSARY)
    line = "Ein Hund läuft. Eine Frau läuft."
    (translation,) = made.stream([line])
    assert made(line) == translation.text
    assert [(each.target, each.used != "not") for each in translation.terms] == [
        ("water spaniel", True),
        ("tall lady", True),
    ]
    long = ", ".join([sentence.rstrip(".") for sentence in sentences[:12]] + ["ein Hund."])
    assert MATCHER.count(made(long), "water spaniel")


def test_a_lost_placeholder_is_put_back_with_the_term(translator: Translator) -> None:
    (found,) = TextTranslator(translator, Glossary([Term("Hund", "Wauwau")])).stream(["Ein Hund läuft {name}."])
    assert "{name}" in found.text
    assert contains_term(found.text, "Wauwau")


def test_without_terms_the_search_is_the_plain_one(translator: Translator, sentences: list[str]) -> None:
    search = TermSearch(translator, TermMatcher(), form_finder("xx"))
    assert search.translate(list(map(Segment, sentences))) == list(translator.stream(sentences))


def test_each_place_of_a_term_gets_it() -> None:
    source, target = "Ein Hund sieht einen Hund.", "A beagle sees a dog."
    words = [[match.span() for match in re.finditer(r"\w+", text)] for text in (source, target)]
    links = tuple(Link(*one, *other) for one, other in zip(*words, strict=True))
    segment = Segment(source, glossary=Glossary([Term("Hund", "beagle")]))
    draft = draft_of(segment, Translation(target), TermMatcher())
    place = draft.place_term(links)
    assert place
    assert (place.prefix, place.replaced, place.rest) == ("A beagle sees a beagle", "dog", ".")
    draft.use(place, None)
    assert draft.translation.text == "A beagle sees a beagle."
    assert not draft.missing


def test_all_missing_terms_are_placed_at_once() -> None:
    source, target = "Ein Hund sieht eine Frau und einen Hund.", "A dog sees a woman and a dog."
    words = [[match.span() for match in re.finditer(r"\w+", text)] for text in (source, target)]
    links = tuple(Link(*one, *other) for one, other in zip(*words, strict=True))
    segment = Segment(source, glossary=Glossary([Term("Hund", "sea dog"), Term("Frau", "lady")]))
    draft = draft_of(segment, Translation(target), TermMatcher())
    for place in draft.places(draft.find_spots(links)):
        draft.use(place, None)
    assert draft.translation.text == "A sea dog sees a lady and a sea dog."
    assert not draft.missing


def test_words_that_translate_a_term_twice_get_it_once() -> None:
    source, target = "Wir haben Hunde. Hunde bellen.", "We have dogs."
    words = [[match.span() for match in re.finditer(r"\w+", text)] for text in (source, target)]
    links = tuple(Link(*words[0][one], *words[1][other]) for one, other in ((0, 0), (1, 1), (2, 2), (3, 2)))
    segment = Segment(source, glossary=Glossary([Term("Hunde", "hounds")]))
    draft = draft_of(segment, Translation(target), TermMatcher())
    for place in draft.places(draft.find_spots(links)):
        draft.use(place, None)
    assert draft.translation.text == "We have hounds."
    assert not draft.missing


def test_words_that_translate_other_words_too_are_not_replaced_by_a_second_term() -> None:
    source, target = "Wir haben Hunde. Hunde bellen.", "We have dogs."
    words = [[match.span() for match in re.finditer(r"\w+", text)] for text in (source, target)]
    links = tuple(Link(*words[0][one], *words[1][other]) for one, other in ((0, 0), (1, 1), (3, 1), (2, 2)))
    segment = Segment(source, glossary=Glossary([Term("Hunde", "dogs")]))
    draft = draft_of(segment, Translation(target), TermMatcher())
    assert draft.missing
    assert draft.place_term(links) is None
    assert not draft.missing


def test_a_term_at_the_beginning_of_any_sentence_is_capitalized() -> None:
    source = "Mein Hund läuft. Hund ist Hund."
    glossary = Glossary([Term("Hund", "dog")])
    assert not draft_of(
        Segment(source, glossary=glossary), Translation("My dog runs. Dog is dog."), TermMatcher()
    ).missing
    draft = draft_of(Segment(source, glossary=glossary), Translation("My dog runs. Hound is dog."), TermMatcher())
    place = draft.place_at(Spot(draft.missing[1], 13, 18, is_own=True))
    assert place.prefix == "My dog runs. Dog"


def test_a_term_in_a_translation_in_capitals_has_capitals() -> None:
    segment = Segment("MEIN HUND {name} LÄUFT.", glossary=Glossary([Term("Hund", "hound")]))
    draft = draft_of(segment, Translation("MY DOG {name} RUNS."), MATCHER)
    draft.use(draft.place_at(Spot(draft.missing[0], 3, 6, is_own=True)), None)
    assert draft.translation.text == "MY HOUND {name} RUNS."
    assert not draft.missing


@pytest.mark.parametrize(
    ("before", "target", "rest", "expected"),
    [
        ("An adult (old)", "hound", " runs.", "An adult (old) hound runs."),
        ("Wait,", "hound", "runs.", "Wait, hound runs."),
        ("Warten (", "hound", ")", "Warten (hound)"),
        ("他（老）", "狗", "跑。", "他（老）狗跑。"),
    ],
)
def test_a_term_between_words_has_spaces_around_it(before: str, target: str, rest: str, expected: str) -> None:
    segment = Segment("Hund", glossary=Glossary([Term("Hund", target)]))
    draft = draft_of(segment, Translation(before + rest), TermMatcher())
    draft.use(draft.place_at(Spot(draft.missing[0], len(before), len(before), is_own=True)), None)
    assert draft.translation.text == expected


@pytest.mark.parametrize("target", ["{dog} hound", "www.a.de/hound"])
def test_placeholders_and_links_in_a_term_keep_their_case(target: str) -> None:
    segment = Segment("MEIN HUND LÄUFT.", glossary=Glossary([Term("Hund", target)]))
    draft = draft_of(segment, Translation("MY DOG RUNS."), MATCHER)
    draft.use(draft.place_at(Spot(draft.missing[0], 3, 6, is_own=True)), None)
    assert draft.translation.text == f"MY {target.replace(' hound', ' HOUND')} RUNS."
    assert not draft.missing
    draft = draft_of(replace(segment, text="Hund läuft."), Translation("Dog runs."), MATCHER)
    draft.use(draft.place_at(Spot(draft.missing[0], 0, 3, is_own=True)), None)
    assert draft.translation.text == f"{target} runs."


def test_a_term_of_a_placeholder_does_not_count_as_used() -> None:
    segment = Segment("Datei {file}", glossary=Glossary([Term("Datei", "file")]))
    assert [each.term.target for each in draft_of(segment, Translation("Record {file}"), MATCHER).missing] == ["file"]


@pytest.mark.parametrize(
    ("term", "text", "translation", "replaced"),
    [
        ("file", "The file name", "Der Dateiname", False),
        ("file", "The text file", "Die Textdatei", False),
        ("file", "The text file", "Die Textdateien", False),
        ("file", "The PDF file", "Die PDF-Datei", False),
        ("file name", "The file name", "Der Dateiname", True),
        ("file", "The file name", "Der Dateien", True),
        ("file", "The file name", "Der Aktenname", True),
    ],
)
def test_a_compound_of_a_term_that_translates_other_words_too_stays(
    term: str, text: str, translation: str, replaced: bool
) -> None:
    segment = Segment(text, glossary=Glossary([Term(term, "Datei")]))
    draft = draft_of(segment, Translation(translation), TermMatcher())
    place = draft.place_term((Link(0, 3, 0, 3), Link(4, 8, 4, len(translation)), Link(9, 13, 4, len(translation))))
    assert bool(place) == replaced
    if not replaced:
        assert not draft.missing
        assert draft.translation.text == translation


def test_a_compound_of_two_terms_stays_even_if_its_links_are_wrong() -> None:
    terms = [Term("database", "Datenbank"), Term("query", "Abfrage")]
    translation = "Die Datenbankabfrage"
    links = Link(0, 3, 0, 3), Link(4, 12, 0, 3), Link(13, 18, 4, len(translation))  # "database" with "Die"
    for glossary, is_kept in ((terms, True), (terms[1:], False)):
        draft = draft_of(
            Segment("The database query", glossary=Glossary(glossary)), Translation(translation), TermMatcher()
        )
        assert (draft.place_term(links) is None) == is_kept


@pytest.mark.parametrize("most", [0, 1, 2])
def test_a_sentence_is_searched_a_few_times_and_has_all_terms(
    most: int, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.documents.terms.MOST_SEARCHES", most)
    terms = [Term("Hund", "water spaniel"), Term("Frau", "tall lady"), Term("Mann", "old sailor")]
    calls = count_calls(monkeypatch)
    search = TermSearch(translator, MATCHER, form_finder("en"))
    (found,) = search.translate([Segment("Ein Hund, eine Frau und ein Mann.", glossary=Glossary(terms))])
    assert all(MATCHER.count(found.text, term.target) for term in terms)
    assert calls["search"] <= 1 + most
    assert calls["align"] <= 2 + most


@pytest.mark.parametrize("count", [1, 2])
def test_a_compound_that_translates_only_the_term_gets_it(count: int) -> None:
    text, translation = " ".join(["toolbar"] * count), " ".join(["Symbolleiste"] * count)
    links = tuple(Link(8 * n, 8 * n + 7, 13 * n, 13 * n + 12) for n in range(count))
    draft = draft_of(
        Segment(text, glossary=Glossary([Term("toolbar", "Leiste")])), Translation(translation), TermMatcher()
    )
    assert draft.place_term(links) is not None


def test_an_abbreviation_is_no_text_in_capitals() -> None:
    draft = draft_of(Segment("USB", glossary=Glossary([Term("USB", "universal bus")])), Translation("USB"), MATCHER)
    draft.use(draft.place_at(Spot(draft.missing[0], 0, 3, is_own=True)), None)
    assert draft.translation.text == "Universal bus"


def test_terms_that_are_placeholders_or_links_are_reported_only(texts: TextTranslator) -> None:
    for source in ("Ein Hund {name}.", "Siehe www.a.de/Hund"):
        terms = [Term(source.split()[-1].strip("."), "www.b.de"), Term("Hund {", "x"), Term("a.de", "x")]
        plain, found = texts.translate_segments([Segment(source), Segment(source, glossary=Glossary(terms))])
        assert found.text == plain.text
        assert [(each.source, each.used) for each in found.terms] == [(terms[0].source, "not")]
        assert "missing term: www.b.de" in found.problems


def test_a_form_of_another_term_is_not_replaced() -> None:
    terms = [Term("Hund", "hound"), Term("Frau", "lady")]
    draft = draft_of(Segment("Hunde Frau", glossary=Glossary(terms)), Translation("Two hounds see."), MATCHER, fixed=10)
    links = (Link(6, 10, 4, 10),)  # a wrong alignment
    place = draft.place_term(links)
    assert place
    assert place.prefix + place.rest == "Two hounds lady see."
    for each in draft.places(draft.find_spots(links)):
        draft.use(each, None)
    assert draft.translation.text == "Two hounds lady see."


@pytest.mark.parametrize(
    ("translation", "start", "expected"),
    [
        ("It runs.", 3, "It beagle runs."),
        ("It runs.", 2, "It beagle runs."),
        ("It runs.", 7, "It runs beagle."),
        ("It runs.", 0, "Beagle It runs."),
        ("走路。", 1, "走beagle路。"),
    ],
)
def test_a_term_that_replaces_nothing_is_a_word_of_its_own(translation: str, start: int, expected: str) -> None:
    segment = Segment("Der Hund läuft.", glossary=Glossary([Term("Hund", "beagle")]))
    draft = draft_of(segment, Translation(translation), TermMatcher())
    draft.use(draft.place_at(Spot(draft.missing[0], start, start, is_own=True)), None)
    assert draft.translation.text == expected


def test_two_terms_with_forms_of_one_word_need_it_twice() -> None:
    source = "Ein Hund und zwei Hunde."
    segment = Segment(source, glossary=Glossary([Term("Hund", "hound"), Term("Hunde", "hounds")]))
    for target, is_complete in [("A hound and two hounds.", True), ("A hound and two dogs.", False)]:
        assert bool(draft_of(segment, Translation(target), MATCHER).missing) != is_complete
    words = [[match.span() for match in re.finditer(r"\w+", text)] for text in (source, target)]
    links = tuple(Link(*one, *other) for one, other in zip(*words, strict=True))
    draft = draft_of(segment, Translation(target), MATCHER)
    place = draft.place_term(links)
    assert place
    assert place.prefix == "A hound and two hounds"
