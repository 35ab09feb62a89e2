"""Changes to ids are the same as changes to text."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from dragoman.languages.sentence_marks import without_end
from dragoman.settings import Text
from dragoman.text.augmentation import add_typos, to_title_case, to_upper_case
from dragoman.text.masking import Masking
from dragoman.text.registry import train_tokenizers
from dragoman.text.sentence_changes import SentenceChanges
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.tokenizer import Tokenizer

ODD = ["<0x41> <unk> ▁ ☃", "日本語。 क्षत्रिय।", "a", "Hund ! ?", "...", "Ein Hund", "ein „hund“?!"]


@pytest.fixture(scope="module")
def texts(corpus: Path) -> list[str]:
    return [*corpus.joinpath("train.de").read_text("utf-8").splitlines(), *ODD]


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(texts: list[str], request: pytest.FixtureRequest) -> Tokenizer:
    settings = Text(vocabulary_size=600, tokenizer=request.param)
    return train_tokenizers(texts[:300], texts[:300], settings, source_language="de", target_language="en")[0]


def test_changed_ids_are_those_of_the_changed_text(texts: list[str], tokenizer: Tokenizer) -> None:
    changes = SentenceChanges(tokenizer, "de")
    for text, ids in zip(texts, map(np.array, tokenizer.encode(texts)), strict=True):
        text = tokenizer.decode(ids.tolist())
        expected = tokenizer.encode(
            [to_upper_case(text, "de"), to_title_case(text, "de"), without_end(text), add_typos(text, Random("5"))]
        )
        found = [changes.upper_case(ids), changes.title_case(ids), changes.without_end(ids), changes.typos(ids, "5")]
        assert found == expected


def test_unknown_words_remain_unknown(texts: list[str]) -> None:
    settings = Text(vocabulary_size=100, byte_fallback=False)
    tokenizer = train_tokenizers(texts[:9], texts[:9], settings, source_language="de", target_language="en")[0]
    changes, unk = SentenceChanges(tokenizer, "de"), tokenizer.vocabulary.unk
    (ids,) = map(np.array, tokenizer.encode(["ein ☃."]))
    assert unk in ids
    for changed in (changes.upper_case(ids), changes.title_case(ids), changes.without_end(ids), changes.typos(ids, "")):
        assert tokenizer.decode(changed).endswith(tokenizer.decode(ids.tolist()).split()[-1])


def test_reserved_tokens_remain(texts: list[str]) -> None:
    settings = Text(vocabulary_size=800, placeholders=True)
    trained = train_tokenizers(texts[:300], texts[:300], settings, source_language="de", target_language="en")[0]
    assert isinstance(trained, SubwordTokenizer)
    masked = trained.with_masking(Masking())
    changes, reserved = SentenceChanges(masked, "de"), set(masked.reserved_ids)
    masks = [mask.text for mask in masked.mask(["Ein Hund (%s) läuft 12:30 los.", "{name}: https://a.b/c!"])]
    for ids in map(np.array, masked.encode_masked(masks)):
        before = [index for index in ids.tolist() if index in reserved]
        assert len(before) == 2
        changed = [changes.upper_case(ids), changes.title_case(ids), changes.without_end(ids), changes.typos(ids, "1")]
        for each in changed:
            assert [index for index in each if index in reserved] == before
        assert masked.decode(changed[0]) == masked.decode(ids.tolist()).upper()
