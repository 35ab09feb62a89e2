"""Words: known ones round trip, unknown ones are unk, spaCy's vocabulary sizes match published ones."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import UserError
from dragoman.settings import Specials, Text
from dragoman.text.normalization import SPACES
from dragoman.text.registry import load_tokenizer, train_tokenizers
from dragoman.text.tokenizer import Tokenizer

WORDS = ["Der", "der", "Hund", "läuft.", "über", "T-Shirt", "don't"]
WHITESPACE = Text(tokenizer="whitespace")


def train(settings: Text, source: list[str], target: list[str]) -> tuple[Tokenizer, Tokenizer]:
    return train_tokenizers(source, target, settings, source_language="de", target_language="en")


KNOWN, _ = train(WHITESPACE, WORDS, [])


@given(words=st.lists(st.sampled_from(WORDS)))
def test_known_words_round_trip(words: list[str]) -> None:
    (ids,) = KNOWN.encode([" ".join(words)])
    assert KNOWN.decode(ids) == " ".join(words)
    assert all(4 <= index < len(KNOWN.vocabulary) for index in ids)


@given(text=st.one_of(st.text(), st.lists(st.sampled_from([*WORDS, " ", "\0", "▁"])).map("".join)))
def test_exactly_the_unknown_words_are_unk(text: str) -> None:
    (ids,) = KNOWN.encode([text])
    unk = KNOWN.vocabulary.unk
    assert [index == unk for index in ids] == [word not in WORDS for word in regex.split(SPACES, text) if word]
    assert {*ids} & {*KNOWN.vocabulary.special_ids} <= {unk}


def test_a_word_spelled_like_a_special_is_unk() -> None:
    tokenizer, _ = train(WHITESPACE, ["a </s> <pad> b"], [])
    unk, a, b = tokenizer.vocabulary.unk, *(tokenizer.vocabulary.ids[word] for word in "ab")
    assert tokenizer.encode(["a </s> <s> b"]) == [[a, unk, unk, b]]


def test_decoding_leaves_out_pad_bos_and_eos_and_spells_unk() -> None:
    vocabulary = KNOWN.vocabulary
    ids = [vocabulary.bos, vocabulary.ids["Der"], vocabulary.unk, vocabulary.eos, vocabulary.pad]
    assert KNOWN.decode(ids) == f"Der {vocabulary.specials.unk}"


@pytest.mark.parametrize("specials", [Specials(), Specials(unk="[UNK]", pad="[PAD]", bos="[SOS]", eos="?")])
def test_special_tokens_come_first_whatever_their_spelling(specials: Specials) -> None:
    tokenizer, _ = train(Text(tokenizer="whitespace", specials=specials), ["why ?"], [])
    assert tokenizer.vocabulary.tokens == [specials.unk, specials.pad, specials.bos, specials.eos, *sorted(
        {"why", "?"} - {specials.eos})]  # fmt: skip


def test_frequent_words_come_first_and_rare_ones_are_left_out() -> None:
    tokenizer, _ = train(Text(tokenizer="whitespace", minimum_frequency=2), ["b a c c", "c b a d"], [])
    assert tokenizer.vocabulary.tokens[4:] == ["c", "a", "b"]


def test_lowercase_and_normal_form_apply_in_training_and_encoding() -> None:
    tokenizer, _ = train(Text(tokenizer="whitespace", lowercase=True, normalization="nfkc"), ["ÜBER ﬁne"], [])
    assert set(tokenizer.vocabulary.tokens[4:]) == {"über", "fine"}
    assert tokenizer.vocabulary.unk not in tokenizer.encode(["u\u0308ber Fine"])[0]


def test_joint_returns_one_object_and_separate_two() -> None:
    source, target = train(WHITESPACE, ["ja"], ["yes"])
    assert source is target
    source, target = train(WHITESPACE.model_copy(update={"joint": False}), ["ja"], ["yes"])
    assert (source.vocabulary.tokens[4:], target.vocabulary.tokens[4:]) == (["ja"], ["yes"])


@given(texts=st.lists(st.text()))
def test_json_preserves_the_ids(texts: list[str]) -> None:
    again = load_tokenizer(json.loads(json.dumps(KNOWN.to_json())))
    assert again.encode(texts) == KNOWN.encode(texts)
    assert again.to_json() == KNOWN.to_json()


def test_spacy_joint_shares_the_vocabulary_but_keeps_each_language_s_rules() -> None:
    pytest.importorskip("spacy")
    source, target = train(Text(tokenizer="spacy"), ["Das ist z.B. gut."], ["I don't know."])
    assert source.vocabulary is target.vocabulary
    german, english = (
        [tokenizer.vocabulary.tokens[index] for index in tokenizer.encode(["z.B. don't"])[0]]
        for tokenizer in (source, target)
    )
    assert german[0] == "z.B."
    assert english[-2:] == ["do", "n't"]


def test_spacy_handles_json_and_lone_surrogates() -> None:
    pytest.importorskip("spacy")
    tokenizer, _ = train(Text(tokenizer="spacy", joint=False), ["Ein Hund, ein Ball."], ["x"])
    again = load_tokenizer(json.loads(json.dumps(tokenizer.to_json())))
    texts = ["Ein Ball, ein Hund.", "Ein\ud800 Hund", ""]
    assert again.encode(texts) == tokenizer.encode(texts)
    assert again.decode(again.encode(texts)[0]) == texts[0]


def test_a_language_that_spacy_does_not_support_is_reported() -> None:
    pytest.importorskip("spacy")
    with pytest.raises(UserError, match="'qqq'"):
        train_tokenizers(["a"], ["b"], Text(tokenizer="spacy"), source_language="qqq", target_language="en")


def test_without_spacy_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(UserError, match=r"pip install '\.\[spacy\]'"):
        train(Text(tokenizer="spacy"), ["a"], ["b"])


@pytest.fixture(scope="module")
def captions(data_directory: Path) -> list[list[str]]:
    paths = (data_directory / "multi30k" / f"train.{language}.gz" for language in ("de", "en"))
    return [gzip.decompress(path.read_bytes()).decode().split("\n")[:-1] for path in paths]


@pytest.mark.parametrize(
    ("lowercase", "minimum_frequency", "sizes"), [(False, 1, (19214, 10837)), (True, 2, (7853, 5893))]
)
def test_spacy_vocabulary_sizes_of_multi30k_match_published_ones(
    captions: list[list[str]], lowercase: bool, minimum_frequency: int, sizes: tuple[int, int]
) -> None:
    pytest.importorskip("spacy")
    settings = Text(tokenizer="spacy", joint=False, lowercase=lowercase, minimum_frequency=minimum_frequency)
    source, target = train(settings, *captions)
    assert (len(source.vocabulary), len(target.vocabulary)) == sizes


def test_the_spacing_of_nearly_every_caption_is_restored(captions: list[list[str]]) -> None:
    pytest.importorskip("spacy")
    for tokenizer, texts in zip(train(Text(tokenizer="spacy", joint=False), *captions), captions, strict=True):
        sample = [" ".join(text.split()) for text in texts[:2000]]
        same = sum(tokenizer.decode(ids) == text for ids, text in zip(tokenizer.encode(sample), sample, strict=True))
        assert same / len(sample) > 0.99
