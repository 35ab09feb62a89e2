"""The tables of tokenizers, and loading what is broken."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, get_args

import pytest

from dragoman.errors import UserError
from dragoman.settings import Text
from dragoman.text.registry import LOAD, TRAIN, load_tokenizer, train_tokenizers

TEXTS = ["Ein Hund läuft.", "Eine Katze schläft."]


def stored(kind: str) -> dict[str, Any]:
    if kind == "spacy":
        pytest.importorskip("spacy")
    settings = Text.model_validate({"tokenizer": kind, "vocabulary_size": 300})
    tokenizer, _ = train_tokenizers(TEXTS, TEXTS, settings, source_language="de", target_language="de")
    data = tokenizer.to_json()
    assert json.loads(json.dumps(data)) == data
    return data


def test_every_tokenizer_of_the_settings_can_be_trained_and_loaded() -> None:
    names = get_args(Text.model_fields["tokenizer"].annotation)
    assert set(names) == set(TRAIN) == set(LOAD) - {"sentencepiece"}, "that is only imported"


@pytest.mark.parametrize("kind", TRAIN)
def test_texts_come_back_and_any_iterable_trains(kind: str) -> None:
    tokenizer = load_tokenizer(stored(kind))
    assert [tokenizer.decode(ids) for ids in tokenizer.encode(TEXTS)] == TEXTS
    settings = Text.model_validate({"tokenizer": kind, "vocabulary_size": 300})
    again, _ = train_tokenizers(iter(TEXTS), iter(TEXTS), settings, source_language="de", target_language="de")
    assert again.to_json() == tokenizer.to_json()


@pytest.mark.parametrize("kind", TRAIN)
def test_no_text_at_all_leaves_the_reserved_tokens(kind: str) -> None:
    if kind == "spacy":
        pytest.importorskip("spacy")
    settings = Text.model_validate({"tokenizer": kind, "vocabulary_size": 300})
    tokenizer, _ = train_tokenizers([], [""], settings, source_language="de", target_language="en")
    assert len(tokenizer.vocabulary) in (4, 260)


@pytest.mark.parametrize("kind", TRAIN)
def test_a_tokenizer_that_lacks_something_is_refused_by_name(kind: str) -> None:
    complete = stored(kind)
    for missing in complete.keys() - {"type"}:
        with pytest.raises(UserError, match=missing):
            load_tokenizer({key: value for key, value in complete.items() if key != missing})


@pytest.mark.parametrize("data", [{}, [], None, {"type": "bp"}, {"type": 3}, {"type": ["bpe"]}])
def test_something_else_is_not_a_tokenizer(data: Any) -> None:
    with pytest.raises(UserError, match="not a tokenizer"):
        load_tokenizer(data)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("change", [{"model": None}, {"model": {"type": "BPE"}}, {"decoder": {"type": "Unheard"}}])
def test_a_damaged_library_description_is_refused(kind: str, change: dict[str, Any]) -> None:
    data = stored(kind)
    with pytest.raises(UserError, match="broken"):
        load_tokenizer({**data, "tokenizer": {**data["tokenizer"], **change}})


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_specials_other_than_the_vocabulary_s_are_refused(kind: str) -> None:
    data = stored(kind)
    with pytest.raises(UserError, match="specials first"):
        load_tokenizer({**data, "specials": {**data["specials"], "unk": "[UNK]"}})


@pytest.mark.parametrize("tokens", [["<unk>", "<pad>", "<s>"], ["<unk>", "<pad>", "<s>", "</s>", "a", "a"]])
def test_words_without_specials_or_twice_are_refused(tokens: list[str]) -> None:
    with pytest.raises(UserError, match="distinct"):
        load_tokenizer({**stored("whitespace"), "tokens": tokens})


def test_text_needs_neither_torch_nor_spacy() -> None:
    program = "import sys, dragoman.text.registry; print({'torch', 'spacy'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == "set()"
