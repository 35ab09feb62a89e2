"""Subwords: exact round trips, special tokens that no text can produce, reproducible training."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import UserError
from dragoman.settings import Specials, Text
from dragoman.text.registry import load_tokenizer, train_tokenizers
from dragoman.text.subword_training import BYTES
from dragoman.text.tokenizer import Tokenizer

PLACES = ["im Garten", "auf der Straße", "am Fluss"]
GERMAN = [
    f"{who} {verb} {place}." for who in ("Der Hund", "Die Katze") for verb in ("läuft", "schläft") for place in PLACES
]
ENGLISH = [f"The {who} {verb} here." for who in ("dog", "cat", "child") for verb in ("runs", "sleeps", "waits")]
MARKUP = ["<s>bold</s> <pad> <unk> <0x41>"] * 50
BRACKETS = Specials(unk="[UNK]", pad="[PAD]", bos="[SOS]", eos="[EOS]")
Kind = Literal["bpe", "unigram"]
KINDS: tuple[Kind, ...] = ("bpe", "unigram")

assigned = st.text(
    st.characters(exclude_categories=["Cs", "Cn"]).filter(lambda one: unicodedata.ucd_3_2_0.category(one) != "Cn")
)
"""Text of characters in Unicode 3.2: the library's tables are older than Python's, but both contain these."""
spellings = st.lists(st.sampled_from(["<s>", "</s>", "<pad>", "<unk>", "<0x41>", "<0xff>", "<", ">", " ", "s", "ä"]))


def train(settings: Text, source: list[str] = GERMAN, target: list[str] = ENGLISH) -> tuple[Tokenizer, Tokenizer]:
    return train_tokenizers(source, target, settings, source_language="de", target_language="en")


TRAINED = {kind: train(Text(tokenizer=kind, vocabulary_size=340), GERMAN + MARKUP)[0] for kind in KINDS}
RELOADED = {kind: load_tokenizer(json.loads(json.dumps(TRAINED[kind].to_json()))) for kind in KINDS}
FOLDING = {
    kind: train(Text(tokenizer=kind, vocabulary_size=340, normalization="nfkc", lowercase=True))[0] for kind in KINDS
}


def cleaned(text: str) -> str:
    return re.sub(r"[\s\x00-\x1f\x7f-\x9f▁]+", " ", unicodedata.normalize("NFC", text)).strip(" ")


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.one_of(assigned, spellings.map("".join)))
def test_decoding_restores_the_cleaned_text_and_encoding_uses_no_special_token(kind: Kind, text: str) -> None:
    tokenizer = TRAINED[kind]
    (ids,) = tokenizer.encode([text])
    assert tokenizer.decode(ids) == cleaned(text)
    assert all(4 <= index < len(tokenizer.vocabulary) for index in ids)


@pytest.mark.parametrize("kind", KINDS)
@given(text=assigned)
def test_nfkc_and_lowercase_apply_before_encoding(kind: Kind, text: str) -> None:
    tokenizer = FOLDING[kind]
    compatible = unicodedata.normalize("NFKC", text)
    lower = "".join(character.lower() for character in compatible)
    assert tokenizer.decode(tokenizer.encode([text])[0]) == re.sub(r"[\s\x00-\x1f\x7f-\x9f▁]+", " ", lower).strip(" ")


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_any_ids_decode_to_one_clean_line(kind: Kind, data: st.DataObject) -> None:
    tokenizer = TRAINED[kind]
    ids = data.draw(st.lists(st.integers(0, len(tokenizer.vocabulary) - 1)))
    text = tokenizer.decode(ids)
    assert text == re.sub(r"[\s\x00-\x1f\x7f-\x9f▁]+", " ", text).strip(" ")


@pytest.mark.parametrize("kind", KINDS)
@given(texts=st.lists(st.text(max_size=20), max_size=5))
def test_json_preserves_the_ids(kind: Kind, texts: list[str]) -> None:
    assert RELOADED[kind].encode(texts) == TRAINED[kind].encode(texts)


@pytest.mark.parametrize("kind", KINDS)
def test_loading_restores_tokens_and_specials(kind: Kind) -> None:
    before, after = TRAINED[kind], RELOADED[kind]
    assert after.vocabulary.tokens == before.vocabulary.tokens
    assert after.vocabulary.special_ids == before.vocabulary.special_ids
    assert after.to_json() == before.to_json()


@pytest.mark.parametrize("kind", KINDS)
def test_lone_surrogates_and_empty_texts_are_encoded(kind: Kind) -> None:
    tokenizer = TRAINED[kind]
    broken, *empty = tokenizer.encode(["a\ud800b", "", " \t\n\0"])
    assert tokenizer.decode(broken) == "a\ufffdb"
    assert empty == [[], []]


@pytest.mark.parametrize("specials", [Specials(), BRACKETS], ids=["angles", "brackets"])
@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_come_first_then_bytes_and_decoding_omits_them(kind: Kind, specials: Specials) -> None:
    tokenizer, _ = train(Text(tokenizer=kind, vocabulary_size=330, specials=specials))
    vocabulary = tokenizer.vocabulary
    assert vocabulary.tokens[:4] == [specials.unk, specials.pad, specials.bos, specials.eos]
    assert vocabulary.special_ids == (0, 1, 2, 3)
    assert vocabulary.tokens[4:260] == BYTES
    (ids,) = tokenizer.encode(["Der Hund"])
    assert tokenizer.decode([vocabulary.bos, *ids, vocabulary.eos, vocabulary.pad]) == "Der Hund"
    assert specials.unk in tokenizer.decode([*ids, vocabulary.unk])


@pytest.mark.parametrize("kind", KINDS)
def test_bos_and_eos_may_be_one_token(kind: Kind) -> None:
    tokenizer, _ = train(Text(tokenizer=kind, vocabulary_size=330, specials=Specials(bos="</s>")))
    vocabulary = tokenizer.vocabulary
    assert vocabulary.bos == vocabulary.eos
    assert vocabulary.tokens[3:259] == BYTES
    (ids,) = tokenizer.encode(["Der Hund"])
    assert tokenizer.decode([vocabulary.bos, *ids, vocabulary.eos]) == "Der Hund"


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_in_training_text_are_not_learned(kind: Kind) -> None:
    tokens = TRAINED[kind].vocabulary.tokens
    assert len(set(tokens)) == len(tokens)
    assert {*"<>"} <= {*"".join(tokens[260:])}, "the sentences with markup were used for training"


@pytest.mark.parametrize("size", [700, 1500])
@pytest.mark.parametrize("kind", KINDS)
def test_the_vocabulary_has_exactly_the_requested_size(data_directory: Path, kind: Kind, size: int) -> None:
    texts = gzip.decompress((data_directory / "multi30k" / "val.de.gz").read_bytes()).decode().splitlines()
    tokenizer, _ = train(Text(tokenizer=kind, vocabulary_size=size), texts)
    assert len(tokenizer.vocabulary) == size


@pytest.mark.parametrize("byte_fallback", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_if_there_are_too_many_characters_the_most_frequent_are_kept(kind: Kind, byte_fallback: bool) -> None:
    rare = [chr(0x4E00 + index) for index in range(100)]
    size = 30 + 256 * byte_fallback
    settings = Text(tokenizer=kind, vocabulary_size=size, byte_fallback=byte_fallback)
    tokenizer, _ = train(settings, [*rare, *["aeiou"] * 50], ["n"] * 50)
    assert len(tokenizer.vocabulary) == size
    assert set("aeioun") <= set("".join(tokenizer.vocabulary.tokens[4 + 256 * byte_fallback :]))
    assert (tokenizer.vocabulary.unk in tokenizer.encode([rare[-1]])[0]) != byte_fallback


@pytest.mark.parametrize("kind", KINDS)
def test_joint_returns_one_object_and_separate_two(kind: Kind) -> None:
    source, target = train(Text(tokenizer=kind, vocabulary_size=300))
    assert source is target
    source, target = train(Text(tokenizer=kind, vocabulary_size=300, joint=False))
    assert "ß" in "".join(source.vocabulary.tokens)
    assert "ß" not in "".join(target.vocabulary.tokens)


@pytest.mark.parametrize("kind", KINDS)
def test_without_bytes_only_unknown_characters_are_unk(kind: Kind) -> None:
    tokenizer, _ = train(Text(tokenizer=kind, vocabulary_size=60, byte_fallback=False))
    known, unknown = tokenizer.encode(["Der Hund wartet.", "Der Hund 字 wartet."])
    assert tokenizer.vocabulary.unk not in known
    assert unknown.count(tokenizer.vocabulary.unk) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_whitespace_pre_tokenizer_splits_off_punctuation_and_decodes_with_usual_spacing(
    kind: Kind,
) -> None:
    tokenizer, _ = train(Text(tokenizer=kind, vocabulary_size=330, pre_tokenizer="whitespace"))
    for text in ("Der Hund, (die Katze) läuft!", 'The child\'s T-shirt: "runs".'):
        (ids,) = tokenizer.encode([text])
        pieces = [tokenizer.vocabulary.tokens[index] for index in ids if index >= 260]
        assert not any(re.search(r"\w[^\w\s▁]", piece) for piece in pieces)
        assert tokenizer.decode(ids) == text


def test_rare_merges_are_left_out() -> None:
    often, _ = train(Text(vocabulary_size=1000, minimum_frequency=20))
    always, _ = train(Text(vocabulary_size=1000, minimum_frequency=1))
    assert set(often.vocabulary.tokens) < set(always.vocabulary.tokens)


@pytest.mark.parametrize("kind", KINDS)
def test_very_long_words_are_encoded_but_not_used_for_training(kind: Kind) -> None:
    settings = Text(tokenizer=kind, vocabulary_size=300)
    without, _ = train(settings)
    tokenizer, _ = train(settings, [*GERMAN, "ab" * 10_000])
    assert tokenizer.to_json() == without.to_json()
    assert tokenizer.decode(tokenizer.encode(["ab" * 10_000])[0]) == "ab" * 10_000


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (Text(vocabulary_size=260), "text.vocabulary_size"),
        (Text(specials=Specials(pad="_")), "text.specials.pad"),
        (Text(specials=Specials(unk="<0x00>")), "text.specials.unk"),
    ],
)
def test_settings_that_cannot_work_are_rejected(settings: Text, named: str) -> None:
    with pytest.raises(UserError, match=re.escape(named)):
        train(settings)


def test_hindi_is_restored_exactly(data_directory: Path) -> None:
    texts = gzip.decompress((data_directory / "tatoeba-hi-en" / "dev.hi.gz").read_bytes()).decode().splitlines()[:2000]
    assert any("।" in text and "्" in text for text in texts)
    for kind in KINDS:
        tokenizer, _ = train(Text(tokenizer=kind, vocabulary_size=1000), texts, ENGLISH)
        assert [tokenizer.decode(ids) for ids in tokenizer.encode(texts)] == [cleaned(text) for text in texts]


PROGRAM = """
import gzip, hashlib, json, sys
from dragoman.settings import Text
from dragoman.text.registry import train_tokenizers
texts = gzip.open(sys.argv[1], "rt", encoding="utf-8").read().splitlines()[:3000]
for kind in ("bpe", "unigram"):
    tokenizer, _ = train_tokenizers(texts, [], Text(tokenizer=kind, vocabulary_size=1500),
                                    source_language="de", target_language="en")
    print(hashlib.sha256(json.dumps(tokenizer.to_json()).encode()).hexdigest())
"""


def test_two_processes_learn_identical_tokenizers(data_directory: Path) -> None:
    corpus = data_directory / "multi30k" / "val.de.gz"
    command = [sys.executable, "-c", PROGRAM, str(corpus)]
    first, second = (subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(2))
    assert first == second
    assert len(first.split()) == 2
