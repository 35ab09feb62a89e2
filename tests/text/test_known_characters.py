"""Characters that the training text lacks are copied; all other text stays as it is."""

from __future__ import annotations

import unicodedata

import pytest
from growth import assert_linear
from hypothesis import given
from hypothesis import strategies as st
from span_texts import TEXTS

from dragoman.text.known_characters import MIN_COUNT, CharacterCounts, KnownCharacters
from dragoman.text.masking import KINDS, Mask, Masking
from dragoman.text.placeholders import find_spans

TRAINING_TEXT = ["Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.", "Das ist 'gut', sagt er."]


def count(texts: list[str]) -> KnownCharacters:
    counts = CharacterCounts()
    for text in texts:
        counts.add(text)
    return counts.known()


KNOWN = count(TRAINING_TEXT * MIN_COUNT)
MASKING = Masking(known=KNOWN)


def copied(text: str, known: KnownCharacters = KNOWN) -> list[str]:
    return [text[start:end] for start, end, _ in known.find_copied(text, list(find_spans(text)))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Er sagt: Männer & Frauen.", [":", "&"]),
        ("♪ Er jagt ♪", ["♪", "♪"]),
        ("R&D ist gut.", ["R&D"]),
        ("Die Boxer/innen jagen.", ["Boxer/innen"]),
        ("Łukasz jagt.", ["Łukasz"]),
        ("Er liest Нью-Йорк Таймс, sagt er.", ["Нью-Йорк Таймс"]),
        ("DAS IST ÜBER ÖL.", []),  # in another case than in the training text
        ("Das\u00a0ist\tgut\u200b.", []),
        ("Das heißt 東京.", ["東京"]),
        ("→ ← ↑ Das heißt 東京、大阪 名古屋.", ["→ ← ↑", "東京、大阪 名古屋"]),
        ("U\u0308ber", []),  # with a combining character
        ("Rene\u0301 jagt.", ["Rene\u0301"]),
        ("GROẞ", []),
        ("→{name}, {a}+{b}, ♪<i>gut</i>♪", ["→", "+", "♪", "♪"]),
    ],
)
def test_symbols_and_words_that_are_not_known_are_copied(text: str, expected: list[str]) -> None:
    assert copied(text) == expected


@pytest.mark.parametrize("script", ["日本", "กข"])
def test_scripts_without_spaces_have_no_words(script: str) -> None:
    known = count([script])
    assert copied(f"{script}大ค{script}", known) == ["大ค"]


@given(st.text(st.sampled_from("".join(TRAINING_TEXT) + "&→Я大 -"), max_size=40))
def test_what_is_not_copied_is_known(text: str) -> None:
    rest, last = "", 0
    for start, end, _ in KNOWN.find_copied(text, []):
        rest, last = rest + text[last:start], end
        assert not set("&→Я大").isdisjoint(text[start:end])
    assert set("&→Я大").isdisjoint(rest + text[last:])


def test_symbols_must_occur_often_and_letters_once() -> None:
    often, once = count(["Q&A"] * MIN_COUNT), count(["Q&A", *TRAINING_TEXT * (MIN_COUNT - 1)])
    assert copied("Q & a", often) == []
    assert copied("Q & a", once) == ["&"]


@given(TEXTS)
def test_masking_keeps_all_but_rare_quotes_and_hyphens(text: str) -> None:
    mask = MASKING.mask(text)
    restored = mask.restore(mask.text)
    assert KNOWN.replace_rare(restored) == KNOWN.replace_rare(text)
    assert len(restored) == len(text)
    for start, end, _ in find_spans(text):
        assert restored[start:end] == text[start:end]


def test_rare_quotes_and_hyphens_become_common_ones_except_in_spans() -> None:
    text = "Er\u2019s sagt \u2018das\u2019: {x\u2019s}"
    mask = MASKING.mask(text)
    assert mask.restore(mask.text) == "Er's sagt 'das': {x\u2019s}"
    trained_on_both = Masking(known=count([*TRAINING_TEXT, "\u2019"] * MIN_COUNT))
    assert trained_on_both.mask(text).text.startswith("Er\u2019s sagt 'das\u2019")


def test_translations_with_a_copied_symbol_are_masked_like_their_source() -> None:
    mask = MASKING.mask("Boxer & Łukasz")
    assert mask.apply("boxers & Łukasz") == mask.text.replace("Boxer", "boxers")
    assert mask.restore(mask.apply("Łukasz & boxers")) == "Łukasz & boxers"


def test_the_number_of_symbols_is_limited() -> None:
    mask = MASKING.mask("→ ← ↑ ↓ ↔ ↕ Er sagt das.")
    assert {KINDS[character] for character in mask.spans} == {"emoji"}
    assert mask.restore(mask.text) == "→ ← ↑ ↓ ↔ ↕ Er sagt das."


def test_without_counts_nothing_more_is_masked() -> None:
    assert Masking().mask("R&D → 東京") == Mask("R&D → 東京", {}, "R&D → 東京")


@pytest.mark.parametrize("unit", ["Я", "a&", "&", "a", "Я ", "大"])
def test_time_is_proportional_to_length(unit: str) -> None:
    assert_linear(lambda size: list(KNOWN.find_copied(unit * size, [])), 50_000)


def test_letters_are_copied_only_as_whole_words_of_a_translation() -> None:
    mask = MASKING.mask("der Buchstabe é")
    assert mask.apply("the letter é as in café") == f"the letter {next(iter(mask.spans))} as in café"
    chinese = MASKING.mask("Das ist 東京")
    assert chinese.apply("東京です").startswith(next(iter(chinese.spans)))


def test_what_the_tokenizer_normalizes_is_known() -> None:
    folding = KnownCharacters(KNOWN.characters, lambda text: unicodedata.normalize("NFKC", text))
    assert copied("Zwölf ﬁnden das gut") == ["ﬁnden"]
    assert copied("Zwölf ﬁnden das gut", folding) == []
    assert KNOWN.replace_rare("Ｚｗölf") == "Zwölf"


def test_a_source_is_masked_alike_everywhere() -> None:
    text = "Er sagt \u2018das\u2019 & geht"
    mask = MASKING.mask(text)
    assert mask.apply(text) == mask.text


def test_lone_surrogates_are_no_known_characters() -> None:
    """The normalization of the library refuses them."""
    counts = CharacterCounts()
    counts.add(TRAINING_TEXT[0])
    text = "Das ist \ud800 viel"
    assert Masking(known=counts.known(lambda each: each.encode().decode())).mask(text).text == text
