"""The table of tokenizers, saving and loading them, and broken data."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

from dragoman.errors import UserError
from dragoman.settings import Specials, Text
from dragoman.text.registry import (
    SOURCE_FILE,
    TARGET_FILE,
    TOKENIZERS,
    TokenizerType,
    load_tokenizer,
    load_tokenizers,
    save_tokenizers,
    train_tokenizers,
)
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.vocabulary import Vocabulary, special_tokens

TEXTS = ["Ein Hund läuft.", "Eine Katze schläft."]
TRAINABLE = [name for name, tokenizer_type in TOKENIZERS.items() if tokenizer_type.train]


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
    assert set(names) == set(TRAINABLE) == set(TOKENIZERS) - {"sentencepiece", "multilingual"}, (
        "these can only be imported"
    )


@pytest.mark.parametrize("kind", TRAINABLE)
def test_texts_round_trip_and_any_iterable_can_be_trained_on(kind: str) -> None:
    tokenizer = load_tokenizer(stored(kind))
    assert [tokenizer.decode(ids) for ids in tokenizer.encode(TEXTS)] == TEXTS
    settings = Text.model_validate({"tokenizer": kind, "vocabulary_size": 300})
    again, _ = train_tokenizers(iter(TEXTS), iter(TEXTS), settings, source_language="de", target_language="de")
    assert again.to_json() == tokenizer.to_json()


@pytest.mark.parametrize("kind", TRAINABLE)
def test_without_text_only_the_reserved_tokens_remain(kind: str) -> None:
    if kind == "spacy":
        pytest.importorskip("spacy")
    settings = Text.model_validate({"tokenizer": kind, "vocabulary_size": 300})
    tokenizer, _ = train_tokenizers([], [""], settings, source_language="de", target_language="en")
    assert len(tokenizer.vocabulary) in (4, 260)


@pytest.mark.parametrize("kind", TRAINABLE)
def test_a_missing_key_is_reported_by_name(kind: str) -> None:
    complete = stored(kind)
    for missing in complete.keys() - {"type"}:
        with pytest.raises(UserError, match=missing):
            load_tokenizer({key: value for key, value in complete.items() if key != missing})


@pytest.mark.parametrize("data", [{}, [], None, {"type": "bp"}, {"type": 3}, {"type": ["bpe"]}])
def test_other_data_is_rejected(data: Any) -> None:
    with pytest.raises(UserError, match="not a tokenizer"):
        load_tokenizer(data)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("change", [{"model": None}, {"model": {"type": "BPE"}}, {"decoder": {"type": "Unheard"}}])
def test_damaged_library_data_is_rejected(kind: str, change: dict[str, Any]) -> None:
    data = stored(kind)
    with pytest.raises(UserError, match="broken"):
        load_tokenizer({**data, "tokenizer": {**data["tokenizer"], **change}})


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_special_tokens_that_differ_from_the_vocabulary_are_rejected(kind: str) -> None:
    data = stored(kind)
    with pytest.raises(UserError, match="special tokens first"):
        load_tokenizer({**data, "specials": {**data["specials"], "unk": "[UNK]"}})


@pytest.mark.parametrize("tokens", [["<unk>", "<pad>", "<s>"], ["<unk>", "<pad>", "<s>", "</s>", "a", "a"]])
def test_words_without_special_tokens_or_with_duplicates_are_rejected(tokens: list[str]) -> None:
    with pytest.raises(UserError, match="distinct"):
        load_tokenizer({**stored("whitespace"), "tokens": tokens})


def test_text_needs_neither_torch_nor_spacy() -> None:
    program = "import sys, dragoman.text.registry; print({'torch', 'spacy'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == "set()"


class CharacterTokenizer(Tokenizer):
    """A new tokenizer: every character is a token."""

    def __init__(self, characters: Iterable[str]) -> None:
        self.vocabulary = Vocabulary([*special_tokens(Specials()), *characters], Specials())

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [[self.vocabulary.ids.get(character, self.vocabulary.unk) for character in text] for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.vocabulary.tokens[index] for index in ids)

    def starts_word(self, token: str) -> bool:
        return token == " "

    def to_json(self) -> dict[str, Any]:
        return {"type": "characters", "characters": self.vocabulary.tokens[4:]}


def load_characters(data: dict[str, Any]) -> CharacterTokenizer:
    return CharacterTokenizer(data["characters"])


def train_characters(sides: Sequence[tuple[str, Iterable[str]]], settings: Text) -> list[Tokenizer]:
    tokenizer = CharacterTokenizer(sorted({character for _, texts in sides for text in texts for character in text}))
    return [tokenizer] * len(sides)


@pytest.mark.parametrize("joint", [True, False])
def test_a_registered_tokenizer_is_trained_saved_and_loaded(
    joint: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TOKENIZERS, "characters", TokenizerType(load_characters, train_characters))
    settings = Text(joint=joint).model_copy(update={"tokenizer": "characters"})
    source, target = train_tokenizers(["ab"], ["bc"], settings, source_language="de", target_language="en")
    assert (source is target) == joint
    assert (target.vocabulary.unk in target.encode(["a"])[0]) != joint
    save_tokenizers(tmp_path, source, target)
    loaded = load_tokenizers(tmp_path)
    assert [tokenizer.to_json() for tokenizer in loaded] == [source.to_json(), target.to_json()]
    assert (loaded[0] is loaded[1]) == joint


def test_loading_reports_a_missing_or_broken_file(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(stored("whitespace"))
    for name in (SOURCE_FILE, TARGET_FILE):
        save_tokenizers(tmp_path, tokenizer, tokenizer)
        (tmp_path / name).write_text("{")
        with pytest.raises(UserError, match=f"{name}: not valid JSON"):
            load_tokenizers(tmp_path)
        (tmp_path / name).unlink()
        with pytest.raises(UserError, match=f"{name}: No such file"):
            load_tokenizers(tmp_path)


def test_the_target_is_saved_last(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(stored("whitespace"))
    (tmp_path / SOURCE_FILE).mkdir()
    with pytest.raises(UserError, match=f"{SOURCE_FILE}: could not be saved"):
        save_tokenizers(tmp_path, tokenizer, tokenizer)
    assert not (tmp_path / TARGET_FILE).exists()
