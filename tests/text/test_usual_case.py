"""Sentences in capital letters are written as usual, and all others remain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_bundles import make_bundle

from dragoman.corpus.synthetic.captions import captions
from dragoman.languages.sentence_marks import starts_sentence
from dragoman.settings import Decoding
from dragoman.text.augmentation import to_title_case
from dragoman.text.masking import Masking
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.usual_case import CaseCounts, UsualCase, change_case
from dragoman.translator import Translator

CASE = UsualCase("Hund Katze USA bellt der die läuft in und ist")


@pytest.fixture(scope="module")
def sources() -> list[str]:
    """Sentences without ß, which has no capital, and with enough words to recognize capitals at the start of words."""
    return [source for source, _ in captions("train")[:2000] if "ß" not in source and len(source.split()) > 4]


@pytest.fixture(scope="module")
def counted(sources: list[str]) -> UsualCase:
    counts = CaseCounts()
    for source in sources:
        counts.add(source)
    return counts.usual()


def test_sentences_as_usual_remain_and_others_become_usual(counted: UsualCase, sources: list[str]) -> None:
    same = 0
    for source in sources[:300]:
        assert counted.apply(source) == (source, "usual")
        for change, case in ((str.upper, "upper"), (lambda text: to_title_case(text, "de"), "title")):
            found, found_case = counted.apply(change(source))
            assert found_case == case
            same += found == source
    assert same > 0.95 * 600


PARTS = [*"aZ .!?\u0130ßΣ%s-'\"«", " HUND", " Läuft", " Der", " In", " USA", " IST"]


@given(parts=st.lists(st.sampled_from(PARTS)))
def test_only_the_case_of_letters_changes(parts: list[str]) -> None:
    text = "".join(parts)
    changed, case = CASE.apply(text)
    assert changed.casefold() == text.casefold() or changed.lower() == text.lower()
    assert len(changed) == len(text)
    assert (case == "usual") <= (changed == text)


@pytest.mark.parametrize(
    ("text", "changed", "case"),
    [
        ("DER HUND LÄUFT.", "Der Hund läuft.", "upper"),
        ("DER HUND. DIE UNBEKANNTE KATZE!", "Der Hund. Die unbekannte Katze!", "upper"),
        ("HUND", "Hund", "upper"),
        ("USA", "USA", "usual"),
        ("PLZ", "PLZ", "usual"),
        ("DER HUND läuft", "DER HUND läuft", "usual"),
        ("1 2 3", "1 2 3", "usual"),
        ("Der Hund Läuft In Die USA Und Bellt", "Der Hund läuft in die USA und bellt", "title"),
        ("Läuft. Der Hund Bellt Und Läuft", "Läuft. Der Hund bellt und läuft", "title"),
        ("Der Hund Bellt.", "Der Hund Bellt.", "usual"),
        ("पाठ IST HUND", "पाठ IST HUND", "usual"),
        ("東京 Hund Läuft Und Bellt", "東京 Hund Läuft Und Bellt", "usual"),
        ("DER 1ª HUND", "DER 1ª HUND", "usual"),
        ("Die 1ª Katze Läuft Und Bellt", "Die 1ª Katze läuft und bellt", "title"),
        ("Anna Maria Schmidt Und Otto Weber", "Anna Maria Schmidt Und Otto Weber", "usual"),
        ("Läuft Bellt", "Läuft Bellt", "usual"),
    ],
)
def test_sentences_in_other_case(text: str, changed: str, case: str) -> None:
    assert CASE.apply(text) == (changed, case)


def test_title_case_remains_where_it_is_usual() -> None:
    title = "Der Hund Läuft In Die Stadt"
    assert CASE.apply(title)[1] == "title"
    assert UsualCase(CASE.words, has_titles=True).apply(title) == (title, "usual")
    counts = CaseCounts()
    for number in range(1000):
        counts.add("Save The File As" if number < 20 else "the file is saved")
    assert counts.usual().has_titles


def test_spans_remain_and_translations_have_the_case_of_the_source() -> None:
    mask = Masking(case=CASE).mask("DER %s HUND LÄUFT {In}!")
    assert mask.text == "Der \ufdd0 Hund läuft \ufdd1!"
    assert mask.restore("the \ufdd1 dog \ufdd0") == "THE {In} DOG %s"
    assert mask.apply("THE {In} DOG %s. IT RUNS") == "The \ufdd1 dog \ufdd0. It runs"
    many = "".join(map(chr, range(0xFDD0, 0xFDF0))) + " HUND 1 2 3 4 5 6 7 8 9" + " {A}" * 40
    assert Masking(case=CASE).mask(many).restore(Masking(case=CASE).mask(many).text) == many
    assert change_case("the dog", "title") == "The Dog"


def test_a_translation_is_that_of_the_usual_sentence() -> None:
    bundle = make_bundle("placeholders")
    assert isinstance(bundle.source, SubwordTokenizer)
    assert isinstance(bundle.target, SubwordTokenizer)
    masking = Masking(case=CASE)
    source, target = bundle.source.with_masking(masking), bundle.target.with_masking(masking)
    settings = Decoding(beam_size=1, min_length=5)
    translator = Translator(type(bundle)(bundle.recipe, bundle.model, source, target), settings)
    usual, capitals = translator(["Der Hund läuft in die USA.", "DER HUND LÄUFT IN DIE USA."])
    assert capitals.text == usual.text.upper() != usual.text
    assert capitals.log_probabilities == pytest.approx(usual.log_probabilities, abs=1e-4)


@pytest.mark.parametrize(
    ("before", "starts"), [("", True), ("(„", True), ("Ja. ", True), ("Ja!“ „", True), ("Ja, ", False), ("z.B.", False)]
)
def test_words_that_start_a_sentence(before: str, starts: bool) -> None:
    assert starts_sentence(f"{before}Hund", len(before)) == starts
