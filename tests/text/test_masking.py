"""Masking and restoring are inverse, pairs are masked alike, and no text is encoded as a reserved token."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from span_texts import TEXTS

from dragoman.errors import UserError
from dragoman.explanation.tokens import LabelledTokenizer
from dragoman.settings import Text
from dragoman.text.bpe_dropout import BPEDropout
from dragoman.text.known_characters import KnownCharacters
from dragoman.text.masking import ALL_RESERVED, KINDS, RESERVED, SLOTS, Mask, Masking
from dragoman.text.registry import load_tokenizer, train_tokenizers
from dragoman.text.subword import SubwordTokenizer

GERMAN = ["Der Hund \ufdd0 läuft.", "Siehe \ufde0, „\ufde1“!", "Die Katze schläft im Garten \ufde4 "] * 3
MASKING = Masking(frozenset({"0", "0,0"}))  # single digits and decimals stay text


def train(**settings: object) -> SubwordTokenizer:
    text = Text.model_validate({"vocabulary_size": 400, "placeholders": True, **settings})
    tokenizer, _ = train_tokenizers(GERMAN, [], text, source_language="de", target_language="en")
    assert isinstance(tokenizer, SubwordTokenizer)
    return tokenizer.with_masking(MASKING)


TRAINED = {
    "bpe": train(),
    "unigram": train(tokenizer="unigram"),
    "no bytes": train(byte_fallback=False),
    "folding": train(normalization="nfkc", lowercase=True),
}


def reserved(text: str) -> list[str]:
    return [character for character in text if character in KINDS]


@given(text=st.one_of(TEXTS, st.text(st.sampled_from(ALL_RESERVED + "a 1%s{}"))))
def test_masking_and_restoring_gives_any_text_back(text: str) -> None:
    mask = MASKING.mask(text)
    assert mask.restore(mask.text) == text
    assert set(reserved(mask.text)) == mask.spans.keys()


@pytest.mark.parametrize("name", TRAINED)
@given(text=TEXTS)
def test_spans_survive_the_tokenizer_and_no_text_is_a_reserved_token(name: str, text: str) -> None:
    tokenizer, mask = TRAINED[name], MASKING.mask(text)
    (ids,) = tokenizer.encode_masked([mask.text])
    tokens = [tokenizer.vocabulary.tokens[index] for index in ids]
    assert Counter(filter(KINDS.__contains__, tokens)) == Counter(reserved(mask.text))
    assert not reserved("".join(token for token in tokens if token not in KINDS))
    assert mask.problems(tokens, tokens) == []
    restored = tokenizer.restore(ids, mask)
    assert all(restored.count(span) >= mask.text.count(character) for character, span in mask.spans.items())
    (plain,) = tokenizer.encode([text])
    assert not any(tokenizer.vocabulary.tokens[index] in KINDS for index in plain)
    assert not reserved(tokenizer.decode(ids))


@given(source=TEXTS, target=TEXTS)
def test_pairs_get_equal_tokens_for_spans_that_occur_equally_often(source: str, target: str) -> None:
    masked = MASKING.mask_pair(source, target)
    assert Counter(reserved(masked[0])) == Counter(reserved(masked[1]))
    assert masked == MASKING.mask_pair(source, target)


def test_spans_that_differ_between_the_sides_stay_text() -> None:
    pairs = [
        ("Siehe https://a.de und %s.", "See https://a.en and %s.", 1),
        ("%s %s", "%s", 0),
        ("@tom liest. #buch :smile:", "@tom reads. #book :smile:", 2),
        (r"Er sagt \"ja\".\nEnde", r"He says \"yes\".\nEnd", 3),
        (r"%1 von %10 in C:\neu\x", r"%1 of %10 in C:\neu\x", 3),
        ("\ud800 {a}", "{a} \udfff", 1),
        ("Im Jahr 1.500", "In the year 1,500", 0),
        ("12 Hunde, 12 Katzen", "12 dogs and cats", 0),
        ("3 Hunde", "3 dogs", 0),  # as single digits stay text
        ("2,5 Liter", "2,5 litres", 0),  # as this form does
        ("100 %s {a} {a}", "{a}, {a}: 100 %s", 4),
    ]
    for source, target, count in pairs:
        masked = MASKING.mask_pair(source, target)
        assert [len(reserved(side)) for side in masked] == [count, count], source
        if not count:
            assert masked == (source, target)


def test_numbers_of_tokens_are_in_order_for_translation_and_random_for_training() -> None:
    text = "{a} {b} %s {a}"
    assert MASKING.mask(text).text == "{0} {1} {2} {0}".format(*RESERVED["placeholder"])
    used = {MASKING.mask_pair(f"%s {word}", f"{word} %s")[0][0] for word in map(str, range(200, 400))}
    assert used == set(RESERVED["placeholder"])


def test_more_spans_than_tokens_of_their_kind_use_others_and_then_stay_text() -> None:
    text = " ".join(f"{{{number}}}" for number in range(40))
    mask = MASKING.mask(text)
    assert len(mask.spans) == sum(SLOTS.values())
    assert reserved(mask.text)[:8] == list(RESERVED["placeholder"])
    assert mask.text.endswith(" {39}")
    assert mask.restore(mask.text) == text
    source, target = MASKING.mask_pair(text, text)
    assert source == target
    assert len(reserved(source)) == sum(SLOTS.values())


def test_many_reserved_characters_in_a_text_are_one_span() -> None:
    text = " ".join(["{a}", *ALL_RESERVED])
    mask = MASKING.mask(text)
    assert len(mask.text) == 1
    assert mask.restore(f"x {mask.text}") == f"x {text}"


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("it costs €5, 10 € or 7% of that", ["€5", "10 €", "7%"]),
        ("25°C and 5 😀 or 6 → 7", ["25°", "5", "😀", "6", "→", "7"]),
        ("R&D since 2024-01-05T10:30:00Z", ["R&D", "2024-01-05T10:30:00Z"]),
    ],
)
def test_a_number_stays_together_with_a_sign_that_the_model_does_not_know(text: str, spans: list[str]) -> None:
    known = KnownCharacters("abcdefghijklmnopqrstuvwxyz0123456789.,'-")
    mask = Masking(known=known).mask(text)
    assert (list(mask.spans.values()), mask.restore(mask.text)) == (spans, text)
    aware = Masking(known=KnownCharacters(f"{known.characters}€%")).mask("it costs €5 or 7%")
    assert list(aware.spans.values()) == ["5", "7"], "the model has learned where to write known signs"


def test_unknown_tokens_are_dropped_and_reported() -> None:
    mask = MASKING.mask("Lösche {a} und {b} jetzt.")
    a, b, other, *_ = list(RESERVED["placeholder"])
    number = RESERVED["number"][0]
    output = ["Delete", a, "and", other, a, number, "now"]
    assert mask.problems(list(mask.text), output) == [
        "repeated: {a}",
        "missing: {b}",
        "invented: [placeholder]",
        "invented: [number]",
    ]
    assert mask.restore(f"Delete {a} and {other} {a}{number}.") == "Delete {a} and {a}."
    assert [mask.label(token) for token in ("x", b, number)] == ["x", "{b}", "[number]"]


def test_a_span_after_the_end_of_a_sentence_gets_its_space() -> None:
    first, second, *_ = list(RESERVED["placeholder"])
    assert MASKING.mask("Siehe {a}.").restore(f"See.{first}") == "See. {a}"
    assert MASKING.mask("{a} fehlt.").restore(f"Missing!{first}") == "Missing! {a}"
    assert MASKING.mask("Siehe x.{a} {b}").restore(f"See.{first}{second}") == "See.{a}{b}"


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("Ein <b>sehr</b> großer Hund.", "A <b> very </b> large dog.", "A <b>very</b> large dog."),
        ("Ein <b>sehr</b> großer Hund.", "A<b> very </b>large dog.", "A <b>very</b> large dog."),
        ("Ein <b>sehr</b> großer Hund.", "A <b>  very  </b> large dog.", "A <b>very</b> large dog."),
        ("Ein <b><i>Hund</i></b>.", "A <b> <i> dog </i> </b> .", "A <b><i>dog</i></b> ."),
        ("Ein <b><i>Hund</i></b> da.", "A<b><i> dog </i></b>there.", "A <b><i>dog</i></b> there."),
        ("Das <b>Auto</b> <i>fährt</i>.", "The <b> car </b><i> drives </i>.", "The <b>car</b> <i>drives</i>."),
        ("Der <b>Hund</b> (groß)", "The<b> dog </b>(big)", "The <b>dog</b> (big)"),
        ("Er sagt: <b>ja</b>", "He says:<b> yes</b>", "He says: <b>yes</b>"),
        ('Er sagt "<b>ja</b>".', 'He says "<b> yes </b>".', 'He says "<b>yes</b>".'),
        ('The "car" <b>drives</b>.', "Das „Auto“<b> fährt</b>.", "Das „Auto“ <b>fährt</b>."),
        ('<b>The</b> "car"', "<b>Das </b>»Auto«", "<b>Das</b> »Auto«"),
        ('The "<b>car</b>" drives', "Das „<b> Auto </b>“ fährt", "Das „<b>Auto</b>“ fährt"),
        ('<i>Big</i> "cars"', '<i>Große </i>"Autos"', '<i>Große</i> "Autos"'),
        ("<b>Tom</b>’s car is red.", "<b>Toms </b>„Auto“ ist rot.", "<b>Toms</b> „Auto“ ist rot."),
        (
            '"<b>red</b>" and <i>big</i> car',
            "„<b> rot </b>“ und<i> großes </i>„Auto“",
            "„<b>rot</b>“ und <i>großes</i> „Auto“",
        ),
        ("Le « <b>chien</b> » court", "The “<b> dog </b>” runs", "The “<b>dog</b>” runs"),
        ("„<b>Hallo</b>“ <i>sagte</i> er.", "“<b> Hello </b>”<i> said </i>he.", "“<b>Hello</b>” <i>said</i> he."),
        ("He <b>said</b> “<i>no</i>”.", "Er <b> sagte </b>„<i> nein </i>“.", "Er <b>sagte</b> „<i>nein</i>“."),
        ("„<b>Rot</b>“", "the dogs' “<b> red </b>”", "the dogs' “<b>red</b>”"),
        ("„<b>Rot</b>“", "the dogs' '<b> red </b>'", "the dogs' '<b>red</b>'"),
        ("„<b>Rot</b>“", '5" "<b> red </b>"', '5" "<b>red</b>"'),
        ("Tom's <b>car</b> “<i>M</i>”", "Tom’s<b> Auto </b>‹<i> M </i>›", "Tom’s <b>Auto</b> ‹<i>M</i>›"),
        (
            'She <b>asked</b> "<i>it</i>".',
            'Ella <b> preguntó </b>"¿<i> eso </i>?"',
            'Ella <b>preguntó</b> "¿<i>eso</i>?"',
        ),
        ("「<b>犬</b>」だ", "It is “<b> a dog </b>”", "It is “<b>a dog</b>”"),
        ("<b>Speichern als</b> .docx", "<b>Save as </b>.docx", "<b>Save as</b> .docx"),
        ("<x/>foo <x>bar</x>", "und<x/> foo <x>bar</x>", "und<x/> foo <x>bar</x>"),
        ("<b>Un</b>glaublich, 5 <i>%</i>!", "<b> In </b>credible, 5<i> % </i>!", "<b>In</b> credible, 5 <i>%</i>!"),
        ("这是<b>狗</b>。", "This is<b> a dog </b>.", "This is <b>a dog</b>."),
        ("the <b>dog</b> runs", "那只<b>狗</b>跑", "那只<b>狗</b>跑"),
        ("Ein <b> sehr </b> großer Hund.", "A <b> very </b> large dog.", "A <b> very </b> large dog."),
        ("<file> fehlt, wie <Enter>.", "Missing: <file> , as <Enter> now.", "Missing: <file> , as <Enter> now."),
        ("Eins,<br/>zwei <br>", "One,<br/> two <br> now", "One,<br/> two <br> now"),
    ],
)
def test_pairs_of_tags_enclose_no_spaces_that_the_source_lacks(source: str, translation: str, expected: str) -> None:
    mask = MASKING.mask(source)
    translation = mask.apply(translation)
    assert mask.restore(translation) == expected
    assert mask.restore(mask.apply(expected)) == expected


def test_a_prefix_gets_the_tokens_of_its_source() -> None:
    mask = MASKING.mask("Siehe {a} und 2019.")
    assert mask.apply("See {a} or {b}, 2019\ufdd5") == f"See {mask.text[6]} or {{b}}, {RESERVED['number'][0]}\ufffd"
    assert Mask("x", {}).apply("{a}") == "{a}"


@pytest.mark.parametrize("name", TRAINED)
def test_masking_is_part_of_the_tokenizer(name: str) -> None:
    data = json.loads(json.dumps(TRAINED[name].to_json()))
    loaded = load_tokenizer(data)
    assert isinstance(loaded, SubwordTokenizer)
    assert loaded.masking == MASKING
    assert loaded.to_json() == TRAINED[name].to_json()
    assert set(ALL_RESERVED) <= loaded.vocabulary.ids.keys()
    del data["numbers_as_text"]  # a tokenizer without reserved tokens, as in older bundles
    older = load_tokenizer(data)
    assert isinstance(older, SubwordTokenizer)
    assert older.masking is None
    assert older.encode_masked(["a 12"]) == older.encode(["a 12"])


@pytest.mark.parametrize("break_it", [lambda data: data.update(numbers_as_text=5)])
def test_a_broken_masking_is_refused(break_it: Callable[[dict[str, object]], None]) -> None:
    data = json.loads(json.dumps(TRAINED["bpe"].to_json()))
    break_it(data)
    with pytest.raises(UserError, match="numbers_as_text"):
        load_tokenizer(data)


def test_a_vocabulary_without_reserved_tokens_is_refused() -> None:
    plain, _ = train_tokenizers(GERMAN, [], Text(vocabulary_size=400), source_language="de", target_language="en")
    with pytest.raises(UserError, match="lacks reserved tokens"):
        load_tokenizer(plain.to_json() | {"numbers_as_text": []})


@pytest.mark.parametrize(
    "settings", [{"tokenizer": "whitespace"}, {"tokenizer": "spacy"}, {"pre_tokenizer": "whitespace"}]
)
def test_only_tokenizers_that_restore_spaces_can_mask(settings: dict[str, str]) -> None:
    with pytest.raises(UserError, match="placeholders needs tokenizer"):
        Text(placeholders=True, **settings)


def test_too_small_a_vocabulary_is_refused() -> None:
    with pytest.raises(UserError, match=r"text\.byte_fallback and text\.placeholders take 292"):
        train(vocabulary_size=290)


def test_bpe_dropout_keeps_reserved_tokens() -> None:
    tokenizer, mask = TRAINED["bpe"], MASKING.mask("Der Hund (%s) läuft, siehe https://a.de/b.")
    (ids,) = tokenizer.encode_masked([mask.text])
    dropout = BPEDropout(tokenizer, 0.5, seed=1, limit=200)
    generator = np.random.default_rng(1)
    changed = [list(dropout(ids, generator)) for _ in range(20)]
    assert any(each != ids for each in changed)
    assert {tokenizer.restore(each, mask) for each in changed} == {tokenizer.restore(ids, mask)}


def test_people_see_spans_instead_of_reserved_tokens() -> None:
    tokenizer, mask = TRAINED["bpe"], MASKING.mask("Hund %s.")
    labelled = LabelledTokenizer(tokenizer, mask)
    (ids,) = labelled.encode(["Hund %s."])
    shown = [labelled.vocabulary.tokens[index] for index in ids]
    assert "%s" in shown
    assert labelled.decode(ids) == "Hund %s."
    assert not reserved("".join(labelled.vocabulary.tokens))
    assert labelled.to_json() == tokenizer.to_json()
    assert labelled.starts_word("▁Hund")


def test_point_and_comma_are_exchanged_where_targets_do_so() -> None:
    masking = Masking(numbers_with_exchange=frozenset({"0,0", "0.000"}))
    source, target = "2,5 von 1.500 am 1.2. um 12:30, v1.500", "2.5 of 1,500 on 1.2. at 12:30, v1.500"
    mask = masking.mask(source)
    assert mask.restore(mask.text) == source.replace("2,5", "2.5").replace(" 1.500", " 1,500")
    assert reserved(mask.apply(target)) == reserved(mask.text)
    assert mask.apply(source) == mask.text
    assert mask.starts()[-1] == len(source)
    assert Counter(reserved(masking.mask_pair(source, target)[0])) == Counter(
        reserved(masking.mask_pair(source, target)[1])
    )
    assert len(reserved(masking.mask_pair(source, target)[0])) == len(mask.spans)
    assert not reserved(masking.mask_pair("2,5", "2,5")[0])


def test_forms_of_numbers_are_stored_with_the_tokenizer() -> None:
    masking = Masking(frozenset({"0"}), None, frozenset({"0,0"}))
    assert load_tokenizer(TRAINED["bpe"].with_masking(masking).to_json()).masking == masking
