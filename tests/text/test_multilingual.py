"""Tokenizers with several languages: sentences begin with the token of a language, and are otherwise the same."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from dragoman.errors import UserError
from dragoman.explanation.tokens import word_tokens
from dragoman.settings import Text
from dragoman.text.augmentation import to_upper_case
from dragoman.text.masking import Mask, Masking
from dragoman.text.multilingual import MultilingualTokenizer, Side, grow, in_direction, without_language
from dragoman.text.registry import load_tokenizer, train_multilingual, train_tokenizers
from dragoman.text.sentence_changes import SentenceChanges
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.loop.state import rows_of_tokens

TEXTS = ["Ein Hund läuft.", "Eine Katze schläft sehr gut."]


@pytest.fixture(scope="module")
def tokenizer() -> MultilingualTokenizer:
    settings = Text.model_validate({"tokenizer": "whitespace"})
    words, _ = train_tokenizers(
        [*TEXTS, *map(str.upper, TEXTS), "__de__ __hi__"], [], settings, source_language="de", target_language="hi"
    )
    return MultilingualTokenizer(words, {"de": "__de__", "hi": "__hi__"}, "de")


def test_only_the_first_token_depends_on_the_language(tokenizer: MultilingualTokenizer) -> None:
    plain = without_language(tokenizer)
    sides: list[tuple[str, Side]] = [("de", "source"), ("hi", "target")]
    for language, side in sides:
        chosen = tokenizer.with_direction(("de", "hi"), side)
        assert chosen.language_ids == [chosen.vocabulary.ids[f"__{language}__"]]
        assert chosen.encode([*TEXTS, ""]) == [*([*chosen.language_ids, *ids] for ids in plain.encode(TEXTS)), []]
        assert [chosen.decode(ids) for ids in chosen.encode(TEXTS)] == TEXTS
        assert load_tokenizer(json.loads(json.dumps(chosen.to_json()))).to_json() == chosen.to_json()
    assert tokenizer.language == "de", "the original does not change"
    assert (plain.language_ids, plain.all_language_ids) == ((), ())
    assert tokenizer.all_language_ids == [tokenizer.vocabulary.ids[token] for token in ("__de__", "__hi__")]


MANY = {"de": [*TEXTS, "3,5 Hunde <2hi>"], "hi": ["कुत्ता दौड़ रहा है।"], "hsb": ["Pos běži."]}


def test_sources_name_the_target_and_each_direction_has_its_masking() -> None:
    source, target = train_multilingual(MANY, Text(vocabulary_size=400, placeholders=True))
    assert isinstance(source, MultilingualTokenizer)
    source.maskings |= {"de-hi": Masking(), "de-hsb": Masking(numbers_as_text=frozenset({"0,0"}))}
    sides: list[tuple[Side, Tokenizer]] = [("source", source), ("target", target)]
    for side, tokenizer in sides:
        for languages in permutations(MANY, 2):
            chosen = in_direction(load_tokenizer(json.loads(json.dumps(tokenizer.to_json()))), languages, side)
            given = [chosen.vocabulary.ids[f"<2{languages[1]}>"]] if side == "source" else []
            plain = without_language(chosen)
            assert (chosen.language_ids, chosen.masking) == (given, plain.masking)
            for text in (text for texts in MANY.values() for text in texts):
                (ids,) = chosen.encode([text])
                assert ids == [*given, *plain.encode([text])[0]]
                assert chosen.decode(ids) == text
                assert not set(chosen.all_language_ids) & set(plain.encode([text])[0]), "text is never a language"
                (mask,) = chosen.mask([text])
                assert chosen.restore(chosen.encode_masked([mask.text])[0], mask) == text
    masked = [in_direction(source, ("de", to), "source").mask(["3,5 Hunde"])[0] for to in ("hi", "hsb")]
    assert masked[0].spans
    assert not masked[1].spans


@pytest.mark.parametrize("change", [{"language": "fr"}, {"tokens": {"de": "missing"}}, {"tokens": 1}, {"more": 1}])
def test_broken_data_is_rejected(change: dict[str, Any], tokenizer: MultilingualTokenizer) -> None:
    with pytest.raises(UserError, match="the multilingual tokenizer is broken"):
        load_tokenizer({**tokenizer.to_json(), **change})


def test_words_are_those_of_the_text(tokenizer: MultilingualTokenizer) -> None:
    plain = word_tokens(without_language(tokenizer), Mask(TEXTS[1], {}), 99)
    words = word_tokens(tokenizer, Mask(TEXTS[1], {}), 99)
    assert words.ids == tokenizer.encode([TEXTS[1]])[0]
    assert (words.words, words.spellings) == (plain.words, plain.spellings)
    assert np.array_equal(words.shares, np.pad(plain.shares, ((0, 0), (1, 0)))), "the language belongs to no word"


def test_changed_sentences_keep_their_language(tokenizer: MultilingualTokenizer) -> None:
    changes = SentenceChanges(tokenizer, "de")
    for text, ids in zip(TEXTS, map(np.array, tokenizer.encode(TEXTS)), strict=True):
        assert changes.upper_case(ids) == tokenizer.encode([to_upper_case(text, "de")])[0]
        assert changes.typos(ids, "seed")[0] == tokenizer.language_ids[0]
        assert changes.without_end(ids)[0] == tokenizer.language_ids[0]


def test_a_new_vocabulary_starts_with_the_rows_of_words_alone(tokenizer: MultilingualTokenizer) -> None:
    plain = without_language(tokenizer)
    assert rows_of_tokens(plain, tokenizer) == rows_of_tokens(plain, plain)
    assert rows_of_tokens(tokenizer, tokenizer) == [[index] for index in range(len(tokenizer.vocabulary))]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_text_is_not_split_into_the_token_of_a_new_language(kind: str) -> None:
    settings = Text.model_validate({"tokenizer": kind, "vocabulary_size": 120, "joint": True, "byte_fallback": False})
    source, target = train_tokenizers(TEXTS * 9, TEXTS * 9, settings, source_language="de", target_language="hi")
    (grown, _) = grow((source, target), {"csb": ["<2csb> Pies"] * 9}, 0.5)
    text = "a <2csb> b<2csb>"
    tokens = [grown.vocabulary.tokens[index] for index in without_language(grown).encode([text])[0]]
    assert "<2csb>" in grown.vocabulary.ids
    assert "<2csb>" not in tokens
