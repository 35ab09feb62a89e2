"""A term replaces all words that are a part of it, in the form that is probable and of the kind that it replaces."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dragoman.documents.segment import Segment
from dragoman.documents.terms import (
    COST_IN_COMPOUND,
    OTHER_ARTICLE,
    OTHER_FORM,
    SAME_KIND,
    TermDraft,
    TermPlace,
    TermSearch,
    most_probable,
)
from dragoman.evaluation.teacher_forcing import score_references
from dragoman.text.glossary import FoundTerm, Glossary, Term
from dragoman.text.lemmas import lemmatizer
from dragoman.text.term_matcher import TermMatcher
from dragoman.text.translation import Translation
from dragoman.text.word_forms import form_finder
from dragoman.translator import Translator


def place_of(before: str, form: str, replaced: str, rest: str, begins: bool = False) -> TermPlace:
    return TermPlace(FoundTerm(0, 5, Term("Hunde", form)), len(before), before, form, replaced, rest, begins)


@pytest.mark.parametrize(
    ("place", "improbable"),
    [
        (place_of("The ", "archive", "file", " opens."), ["archives"]),
        (place_of("The ", "archive", "files", " open."), ["archive"]),
        (place_of("", "archive", "Files", " open.", begins=True), ["archive"]),
        (place_of("The ", "archive", "", " opens."), ["archives"]),
    ],
)
def test_the_form_is_of_the_kind_that_it_replaces_unless_another_is_far_more_probable(
    place: TermPlace, improbable: list[str]
) -> None:
    variants = [replace(place, form=form) for form in ("archive", "archives")]
    for gain in (0.0, 0.9 * OTHER_FORM, 1.1 * (OTHER_FORM + SAME_KIND)):
        scored = [(each, -9.0 + gain * (each.form in improbable)) for each in variants]
        chosen = most_probable(place, scored, lemmatizer("en"))
        assert (chosen.form in improbable) == (gain > OTHER_FORM)


@pytest.mark.parametrize(("gain", "expected"), [(0.9, "Opens an archive"), (1.1, "Opens an archives")])
def test_an_article_is_no_reason_for_another_form(gain: float, expected: str) -> None:
    place = place_of("Opens a ", "archive", "", ".")
    texts = {("a", "archive"): 0.0, ("an", "archive"): 2.0, ("a", "archives"): 0.5, ("an", "archives"): 2.0}
    scored = [
        (replace(place, before=f"Opens {article} ", form=form), value + gain * OTHER_FORM * (form != "archive"))
        for (article, form), value in texts.items()
    ]
    assert most_probable(place, scored, lemmatizer("en")).prefix == expected


@pytest.mark.parametrize("given", ["hound", "hounds", "tall lady", "ACME"])
def test_no_other_form_is_far_more_probable_than_the_chosen_one(translator: Translator, given: str) -> None:
    forms, matcher = form_finder("en"), TermMatcher(lemmatizer("de"), lemmatizer("en"))
    place = place_of("Two ", given, "dogs", " run.")
    (source,) = translator.text_search.encode(["Hunde laufen."])
    draft = TermDraft(Segment("Hunde laufen."), source, Translation("Two dogs run."), matcher, forms)
    ((same, chosen),) = TermSearch(translator, matcher, forms)._choose_places([(draft, place)])
    assert same is draft

    def probability(*variants: TermPlace) -> float:
        texts = [each.prefix + each.rest for each in variants]
        return max(score_references(translator, ["Hunde laufen."] * len(texts), texts))

    assert chosen.form in forms(given)
    assert probability(chosen) >= probability(*place.variants(forms, 0)) - OTHER_FORM - SAME_KIND - OTHER_ARTICLE
    if chosen != place:
        assert probability(chosen) > probability(place) - SAME_KIND


@pytest.mark.parametrize(
    ("before", "form", "expected"),
    [
        ("A ", "infant", "An infant"),
        ("Opens an ", "file", "Opens a file"),
        ("Opens an ", "HTML file", "Opens an HTML file"),
        ("Opens a ", "SIM card", "Opens a SIM card"),
        ("Opens an ", "8-bit file", "Opens an 8-bit file"),
        ("Takes an ", "X-ray", "Takes an X-ray"),
        ("Plays an ", "ukulele", "Plays a ukulele"),
        ("Sees an ", "Ukrainian", "Sees a Ukrainian"),
        ("Has an ", "unimportant file", "Has an unimportant file"),
        ("Has an ", "unidirectional link", "Has a unidirectional link"),
        ("For a ", "hour", "For an hour"),
        ("Has an ", "user", "Has a user"),
        ("Has a ", "unknown user", "Has an unknown user"),
        ("Opens the ", "image", "Opens the image"),
        ("Appendix A ", "explains", "Appendix A explains"),
    ],
)
def test_the_sound_of_the_term_decides_between_a_and_an(before: str, form: str, expected: str) -> None:
    place = place_of(before, form, "dog", " here.")
    assert place.with_a_or_an(0).prefix == expected
    assert place.with_a_or_an(len(before)) == place


def test_an_improbable_term_does_not_replace_a_compound_that_contains_it(translator: Translator) -> None:
    forms = form_finder("de")
    search, improbable = TermSearch(translator, TermMatcher(), forms), COST_IN_COMPOUND + 1

    def keeps(text: str, replaced: str, cost: float) -> bool:
        found = FoundTerm(text.index("field"), text.index("field") + 5, Term("field", "Feld"))
        (source,) = translator.text_search.encode([text])
        draft = TermDraft(Segment(text), source, Translation(f"Das {replaced}"), TermMatcher(), forms)
        return search._keeps_compound(draft, TermPlace(found, 4, "Das ", "Feld", replaced, ""), cost)

    assert keeps("The currency field", "Währungsfeld", improbable)
    assert not keeps("The currency field", "Währungsfeld", COST_IN_COMPOUND - 1)
    assert not keeps("The currency field", "Feldes", improbable)
    assert not keeps("The field contains", "Währungsfeld", improbable)
    assert keeps("The field contents", "Feldinhalt", improbable)


def test_variants_have_other_forms_of_the_term_and_of_the_word_before_it() -> None:
    forms = form_finder("de")
    place = place_of("Öffnen Sie die ", "Fenster", "Datei", ".")
    texts = [each.prefix for each in place.variants(forms, 0)]
    assert texts[0] == place.prefix
    assert {"Öffnen Sie das Fenster", "Öffnen Sie den Fenstern"} <= set(texts)
    fixed = [each.prefix for each in place.variants(forms, len("Öffnen Sie die "))]
    assert set(fixed) == {f"Öffnen Sie die {form}" for form in forms("Fenster")}
    begins = [each.prefix for each in place_of("Eine ", "Fenster", "Datei", ".").variants(forms, 0)]
    assert {"Eine Fenster", "Ein Fenster", "Einem Fenster"} <= set(begins)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("e.g. the ", {"e.g. the "}),
        ("iPhone ", {"iPhone "}),
        ("A ", {"A ", "An "}),
        ("Opens v2a ", {"Opens v2a "}),
        ("Opens a ", {"Opens a ", "Opens an "}),
        ("Opens (a ", {"Opens (a ", "Opens (an "}),
        ("A hound drinks ", {"A hound drinks "}),
    ],
)
def test_only_a_short_whole_word_before_a_term_gets_other_forms(before: str, expected: set[str]) -> None:
    variants = list(place_of(before, "Wauwau", "dog", ".").variants(form_finder("en"), 0))
    assert variants[0].before == before
    assert {each.before for each in variants} == expected


@pytest.mark.parametrize(("gain", "expected"), [(0.9, "Opens a hound"), (1.1, "Opens an hound")])
def test_another_article_must_be_clearly_better(gain: float, expected: str) -> None:
    place = place_of("Opens a ", "hound", "dog", ".")
    scored = [(place, -9.0), (replace(place, before="Opens an "), -9.0 + gain * OTHER_ARTICLE)]
    assert most_probable(place, scored, lemmatizer("en")).prefix == expected


@pytest.mark.parametrize(
    ("before", "form", "replaced", "rest", "expected"),
    [
        ("in the text ", "Text Box", "field", ".", "in the Text Box."),
        ("the ", "data field", "data", " field is", "the data field is"),
        ("the data ", "data field", "and", " field is", "the data field is"),
        ("the big ", "hound", "dog", " hound", "the big hound hound"),
        ("the ", "drag and drop", "drag", " and drop.", "the drag and drop."),
        ("the data base ", "data base system", "X", " system works", "the data base system works"),
        ("the data ", "data base system", "X", " base system works", "the data base system works"),
        ("the ", "hound hound hound", "dog", " hound hound.", "the hound hound hound."),
        ("a young ", "little young girl", "girl", " runs", "a little young girl runs"),
        ("a matter of ", "point of view", "view", ".", "a matter of point of view."),
    ],
)
def test_words_around_the_place_that_are_a_part_of_the_term_are_replaced_too(
    before: str, form: str, replaced: str, rest: str, expected: str
) -> None:
    place = place_of(before, form, replaced, rest)
    without = place.without_repetition(0)
    assert without.prefix + without.rest == expected
    assert (without.before + without.replaced + without.rest) == before + replaced + rest
    fixed = place.without_repetition(len(before))
    assert fixed.before == before
    assert fixed.before + fixed.replaced + fixed.rest == before + replaced + rest


@pytest.mark.parametrize(
    ("found", "accepted"),
    [
        ("A beagle is running.", True),
        ("A beagle dog is running.", False),
        ("A beagle Dog is running.", False),
        ("A beagle beagle is running.", False),
        ("The dog is a beagle.", False),
        ("An animal is running.", False),
    ],
)
def test_a_search_must_keep_the_term_without_the_words_that_it_replaces(found: str, accepted: bool) -> None:
    assert place_of("A ", "beagle", "dog", " runs.").accepts(found) == accepted


@pytest.mark.parametrize(
    ("replaced", "found", "accepted"),
    [
        ("dog", "A beagle.", True),
        ("dog", "A beagle house.", False),
        ("big dog here", "A beagle runs.", True),  # more words than the term may translate others, too
        ("", "A beagle runs.", True),
    ],
)
def test_a_search_adds_no_word_after_a_term_that_replaces_the_last_ones(
    replaced: str, found: str, accepted: bool
) -> None:
    assert place_of("A ", "beagle", replaced, ".").accepts(found) == accepted


@pytest.mark.parametrize(
    ("found", "accepted"),
    [("The ACME Park™ is open.", True), ("The ACME Park™s are open.", False), ("The park.", False)],
)
def test_a_term_that_ends_in_a_sign_gets_no_ending(found: str, accepted: bool) -> None:
    assert place_of("The ", "ACME Park™", "park", " is open.").accepts(found) == accepted


@pytest.mark.parametrize("form", ["beagle", "C++", "a/b/c", "Датотека", "狗", "Hund & Co."])
@pytest.mark.parametrize(
    ("rest", "accepted"),
    [
        (" runs, and the woman sleeps.", True),
        (" is running while a woman is asleep.", True),
        (".", False),
        (" runs.", False),
        ("s run, and the woman sleeps.", False),
        (" dog runs, and the woman sleeps.", False),
        (" {form} runs, and the woman sleeps.", False),
        ("s run, the woman has a {form}.", False),
    ],
)
def test_a_search_does_not_end_early_or_continue_the_term(form: str, rest: str, accepted: bool) -> None:
    place = place_of("The ", form, "dog", " runs, and the woman sleeps.")
    glued = form == "狗" and rest.startswith("s ")  # a script without spaces between words
    assert place.accepts(f"The {form}{rest.format(form=form)}") == (accepted or glued)


@pytest.mark.parametrize("form", ["rescue dog", "brown rescue dog", "dog"])
@pytest.mark.parametrize(
    ("rest", "kept", "accepted"),
    [
        (" runs through the open water with a man.", "", True),
        (" runs with a dog in the water.", "", False),
        (" runs with two dogs in the water.", "", False),
        (" runs with a dog in the water.", " and a dog", True),
    ],
)
def test_a_search_does_not_bring_back_the_last_word_of_a_term(form: str, rest: str, kept: str, accepted: bool) -> None:
    place = place_of("The ", form, "animal", f" runs through the water{kept}.")
    assert place.accepts(f"The {form}{rest}") == (accepted or form == "dog")


@pytest.mark.parametrize(
    ("translation", "at", "term", "places"),
    [
        ("A man on a chair in front of a crowd.", 11, "large crowd", ["A man on a chair in front of a large crowd."]),
        (
            "A dog and two dogs run.",
            0,
            "rescue dog",
            ["A rescue dog and two dogs run.", "A dog and two rescue dog run."],
        ),
        ("A rescue dog and a man.", 19, "rescue dog", []),  # has the term
        ("A dog and a man.", 12, "hound", []),  # one word
        ("A dog and a man.", 12, "ACME", []),
    ],
)
def test_the_last_word_of_a_term_shows_other_places_for_it(
    translation: str, at: int, term: str, places: list[str], translator: Translator
) -> None:
    glossary = Glossary([Term("Hunde", term)])
    matcher, segment = TermMatcher(None, lemmatizer("en")), Segment("Hunde laufen.", glossary=glossary)
    (source,) = translator.text_search.encode([segment.text])
    draft = TermDraft(segment, source, Translation(translation), matcher, form_finder("en"))
    word = translation[at:].split(" ")[0].strip(".")
    place = place_of(translation[:at], term, word, translation[at + len(word) :])
    found = [each.prefix + each.rest for each in draft.places_of_head(place)]
    assert found == places
