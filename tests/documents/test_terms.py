"""Terms of a glossary are in the translations, and change nothing where they are already."""

from __future__ import annotations

import re
from dataclasses import astuple, replace
from pathlib import Path

import pytest

import dragoman
from dragoman.documents.segment import Segment
from dragoman.documents.terms import OTHER_FORM, TermSearch, _Draft, _Place, missing_terms, with_glossary
from dragoman.documents.translate import TextTranslator
from dragoman.evaluation.teacher_forcing import score_references
from dragoman.text.glossary import FoundTerm, Glossary, Term
from dragoman.text.lemmas import lemmatizer
from dragoman.text.link import Link
from dragoman.text.term_matcher import CheckedTerm, TermMatcher, contains_term
from dragoman.text.translation import Translation
from dragoman.text.word_forms import form_finder
from dragoman.translator import Translator

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


def used(*terms: Term) -> tuple[CheckedTerm, ...]:
    return tuple(CheckedTerm(term.source, term.target, "exactly") for term in terms)


@pytest.mark.parametrize("engine", ["torch", "cpu", "ctranslate2"])
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


def test_batches_do_not_matter(texts: TextTranslator, segments: list[Segment]) -> None:
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
    assert TermSearch(translator, TermMatcher(), lambda term: [term]).translate(list(map(Segment, sentences))) == list(
        translator.stream(sentences)
    )


@pytest.mark.parametrize("given", ["hound", "hounds", "tall lady", "ACME"])
def test_a_term_gets_the_form_that_is_probable_in_its_place(translator: Translator, given: str) -> None:
    forms = form_finder("en")
    place = _Place(FoundTerm(0, 5, Term("Hunde", given)), 4, "Two ", given, "dogs", " run.")
    draft = _Draft(Segment("Hunde laufen."), Translation("Two dogs run."), MATCHER)
    ((same, chosen),) = TermSearch(translator, MATCHER, forms)._choose_forms([(draft, place)])
    assert same is draft
    assert replace(chosen, form=given) == place
    texts = [f"Two {form} run." for form in forms(given)]
    scores = dict(zip(texts, score_references(translator.bundle, ["Hunde laufen."] * len(texts), texts), strict=True))
    best = max(scores, key=scores.__getitem__)
    is_better = scores[best] > scores[f"Two {given} run."] + OTHER_FORM
    assert chosen.prefix + chosen.rest == (best if is_better else f"Two {given} run.")


def test_a_better_article_does_not_make_another_form_of_the_term_better(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {"Opens a archive.": 0.0, "Opens an archive.": 2.0, "Opens a archives.": 1.5, "Opens an archives.": 2.5}
    scores = {text: -30.0 + value * OTHER_FORM for text, value in texts.items()}
    monkeypatch.setattr(
        "dragoman.documents.terms.score_references", lambda _bundle, _sources, targets: map(scores.get, targets)
    )
    place = _Place(FoundTerm(12, 17, Term("Datei", "archive")), 8, "Opens a ", "archive", "file", ".")
    draft = _Draft(Segment("Öffnet eine Datei."), Translation("Opens a file."), MATCHER)
    search = TermSearch(translator, MATCHER, lambda _: [text[6:-1].strip() for text in texts])
    ((_, chosen),) = search._choose_forms([(draft, place)])
    assert chosen.prefix == "Opens an archive"


def test_each_place_of_a_term_gets_it() -> None:
    source, target = "Ein Hund sieht einen Hund.", "A beagle sees a dog."
    words = [[match.span() for match in re.finditer(r"\w+", text)] for text in (source, target)]
    links = tuple(Link(*one, *other) for one, other in zip(*words, strict=True))
    segment = Segment(source, glossary=Glossary([Term("Hund", "beagle")]))
    draft = _Draft(segment, Translation(target), TermMatcher())
    place = draft.place_term(links)
    assert place
    assert (place.prefix, place.replaced, place.rest) == ("A beagle sees a beagle", "dog", ".")
    draft.use(place, None)
    assert draft.translation.text == "A beagle sees a beagle."
    assert not draft.missing


def test_words_that_translate_other_words_too_are_not_replaced_by_a_second_term() -> None:
    source, target = "Wir haben Hunde. Hunde bellen.", "We have dogs."
    words = [[match.span() for match in re.finditer(r"\w+", text)] for text in (source, target)]
    links = tuple(Link(*words[0][one], *words[1][other]) for one, other in ((0, 0), (1, 1), (3, 1), (2, 2)))
    segment = Segment(source, glossary=Glossary([Term("Hunde", "dogs")]))
    draft = _Draft(segment, Translation(target), TermMatcher())
    assert draft.missing
    assert draft.place_term(links) is None
    assert not draft.missing


def test_a_term_at_the_beginning_of_any_sentence_is_capitalized() -> None:
    source = "Mein Hund läuft. Hund ist Hund."
    glossary = Glossary([Term("Hund", "dog")])
    assert not _Draft(
        Segment(source, glossary=glossary), Translation("My dog runs. Dog is dog."), TermMatcher()
    ).missing
    draft = _Draft(Segment(source, glossary=glossary), Translation("My dog runs. Hound is dog."), TermMatcher())
    place = draft._place(draft.missing[1], 13, 18)
    assert place.prefix == "My dog runs. Dog"


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
    draft = _Draft(segment, Translation(translation), TermMatcher())
    draft.use(draft._place(draft.missing[0], start, start), None)
    assert draft.translation.text == expected


@pytest.mark.parametrize(
    ("found", "accepted"),
    [
        ("A beagle is running.", True),
        ("A beagle dog is running.", False),
        ("A beagle Dog is running.", False),
        ("The dog is a beagle.", False),
        ("An animal is running.", False),
    ],
)
def test_a_search_must_keep_the_term_without_the_words_that_it_replaces(found: str, accepted: bool) -> None:
    place = _Place(FoundTerm(4, 8, Term("Hund", "beagle")), 2, "A ", "beagle", "dog", " runs.")
    assert place.accepts(found) == accepted


@pytest.mark.parametrize(
    ("found", "accepted"),
    [("The ACME Park™ is open.", True), ("The ACME Park™s are open.", False), ("The park.", False)],
)
def test_a_term_that_ends_in_a_sign_gets_no_ending(found: str, accepted: bool) -> None:
    place = _Place(FoundTerm(4, 8, Term("Park", "ACME Park™")), 4, "The ", "ACME Park™", "park", " is open.")
    assert place.accepts(found) == accepted


def test_two_terms_with_forms_of_one_word_need_it_twice() -> None:
    source = "Ein Hund und zwei Hunde."
    segment = Segment(source, glossary=Glossary([Term("Hund", "hound"), Term("Hunde", "hounds")]))
    for target, is_complete in [("A hound and two hounds.", True), ("A hound and two dogs.", False)]:
        assert bool(_Draft(segment, Translation(target), MATCHER).missing) != is_complete
    words = [[match.span() for match in re.finditer(r"\w+", text)] for text in (source, target)]
    links = tuple(Link(*one, *other) for one, other in zip(*words, strict=True))
    draft = _Draft(segment, Translation(target), MATCHER)
    place = draft.place_term(links)
    assert place
    assert place.prefix == "A hound and two hounds"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("e.g. the ", {"e.g. the "}),
        ("iPhone ", {"iPhone ", "iPhones "}),
        ("A ", {"A ", "An "}),
        ("Opens v2a ", {"Opens v2a "}),
        ("Opens a ", {"Opens a ", "Opens an "}),
        ("Opens (a ", {"Opens (a ", "Opens (an "}),
    ],
)
def test_only_the_whole_word_before_a_term_gets_other_forms(
    translator: Translator, before: str, expected: set[str]
) -> None:
    place = _Place(FoundTerm(0, 4, Term("Hund", "Wauwau")), len(before), before, "Wauwau", "dog", ".")
    draft = _Draft(Segment("Hund."), Translation(f"{before}dog."), MATCHER)
    variants = list(TermSearch(translator, MATCHER, form_finder("en"))._variants(draft, place))
    assert variants[0] == place
    assert {each.before for each in variants} == expected
