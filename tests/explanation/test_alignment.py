"""Alignments: words and their tokens, and links that do not depend on batches, threads or recordings."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

from dragoman.bundle import AttentionRows, Bundle
from dragoman.corpus.pair import Pair
from dragoman.corpus.synthetic.captions import captions
from dragoman.errors import UserError
from dragoman.explanation.alignment import (
    align,
    attention_between_words,
    choose_rows,
    known_links,
    read_words,
)
from dragoman.explanation.tokens import word_tokens
from dragoman.translator import Translator

PAIRS = [Pair(*pair) for pair in islice(captions("test"), 12)]
SOURCES, TARGETS = [pair.source for pair in PAIRS], [pair.target for pair in PAIRS]
ROWS = AttentionRows(0, shifted=False)


@pytest.fixture(scope="module")
def aligner(translator: Translator) -> Translator:
    """A translator whose bundle aligns words by `ROWS`."""
    return Translator(replace(translator.bundle, alignment=ROWS._asdict()))


TEXTS = [
    "Ein Hund läuft.",
    "  Zwei\u00a0Männer,\tdrei Ümläute — „Haus-Boot“ (42 %)…",
    "\U0001f600 中文字 ﷽ x\u0301 ß don't",
    "a",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
def test_words_are_those_of_the_text_and_tokens_belong_to_words(translator: Translator, text: str) -> None:
    tokenizer = translator.bundle.source
    (mask,) = tokenizer.mask([text])
    read = word_tokens(tokenizer, mask, 1000)
    assert "".join(text[start:end] for start, end in read.words) == "".join(text.split())
    assert read.shares.shape == (len(read.words), len(read.ids))
    np.testing.assert_allclose(read.shares.sum(axis=0), 1, rtol=1e-5)
    assert (read.shares.sum(axis=1) > 0).all()


@pytest.mark.parametrize("text", ["ä" * 2000, "a." * 1000, "e" + "\u0301" * 2000, "\ufffd中" * 500])
def test_tokens_of_a_long_word_are_found_in_linear_time(
    translator: Translator, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded = 0

    decode = type(translator.bundle.source).decode_masked

    def counted(tokenizer: Any, ids: Sequence[int]) -> str:
        nonlocal decoded
        decoded += len(ids)
        return decode(tokenizer, ids)

    monkeypatch.setattr(type(translator.bundle.source), "decode_masked", counted)
    read = word_tokens(translator.bundle.source, translator.bundle.source.mask([text])[0], 100_000)
    assert decoded < 8 * len(read.ids)
    assert read.shares.shape == (len(read.words), len(read.ids))
    np.testing.assert_allclose(read.shares.sum(axis=0), 1, rtol=1e-5)


def test_known_words_have_one_share_per_token(translator: Translator) -> None:
    tokenizer = translator.bundle.source
    (ids,) = tokenizer.encode(["Ein Hund läuft."])
    read = word_tokens(tokenizer, tokenizer.mask(["Ein Hund läuft."])[0], 1000)
    assert read.ids == ids
    assert read.spellings == ["Ein", "Hund", "läuft", "."]
    assert set(np.unique(read.shares.round(3))) <= {0.0, 1.0} or len(ids) < 4


def test_tokens_without_characters_belong_to_the_last_word(translator: Translator) -> None:
    tokenizer = translator.bundle.source
    silent = tokenizer.vocabulary.eos

    class Padded:
        """A tokenizer that adds tokens without characters to each text."""

        def __getattr__(self, name: str) -> object:
            return getattr(tokenizer, name)

        def encode_masked(self, texts: list[str]) -> list[list[int]]:
            return [[*ids, silent, silent] for ids in tokenizer.encode_masked(texts)]

    (mask,) = tokenizer.mask(["Ein Hund"])
    read = word_tokens(Padded(), mask, 1000)  # type: ignore[arg-type]
    assert read.ids.count(silent) == 4
    assert read.shares.shape == (2, len(read.ids))
    np.testing.assert_allclose(read.shares[-1, -3:], 1)


def test_links_are_within_both_texts_and_cover_all_words(aligner: Translator) -> None:
    for source, target, links in zip(
        SOURCES, TARGETS, align(aligner.bundle, aligner.engine, SOURCES, TARGETS), strict=True
    ):
        for link in links:
            for text, start, end in ((source, *link[:2]), (target, *link[2:])):
                assert start < end
                assert not any(map(str.isspace, text[start:end]))
        assert list(links) == sorted(links, key=lambda link: (link.target_start, link.source_start))
        covered = {place for link in links for place in range(link.source_start, link.source_end)}
        assert covered == {place for place, character in enumerate(source) if not character.isspace()}


def test_pairs_together_have_the_attention_of_each_alone(translator: Translator) -> None:
    bundle = translator.bundle
    together = attention_between_words(bundle, read_words(bundle, SOURCES, TARGETS))
    for source, target, weights in zip(SOURCES, TARGETS, together, strict=True):
        (alone,) = attention_between_words(bundle, read_words(bundle, [source], [target]))
        np.testing.assert_allclose(weights, alone, atol=1e-5)


def test_rows_are_those_of_the_attention_map(translator: Translator) -> None:
    text = SOURCES[0]
    explained = translator.explain(text)
    words = read_words(translator.bundle, [text], [explained.translation.text])
    (source, target), (weights,) = words[0], attention_between_words(translator.bundle, words)
    tokens = explained.attention.mean("cross")[:, : len(target.ids), : len(source.ids)]
    sizes = target.shares.sum(axis=1)[:, None]
    np.testing.assert_allclose(weights[:, 0], target.shares / sizes @ tokens @ source.shares.T, atol=1e-5)
    shifted = explained.attention.mean("cross")[:, 1:, : len(source.ids)]
    np.testing.assert_allclose(weights[:, 1], target.shares / sizes @ shifted @ source.shares.T, atol=1e-5)


def test_aligning_in_threads_gives_the_same_links(aligner: Translator) -> None:
    expected = align(aligner.bundle, aligner.engine, SOURCES, TARGETS)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: align(aligner.bundle, aligner.engine, SOURCES, TARGETS), range(8)))
    assert found == [expected] * 8


def test_copied_words_are_linked(aligner: Translator) -> None:
    source, target = "Ein XQZ17 läuft zu Wolfsburg.", "To Wolfsburg an XQZ17 runs."
    (links,) = align(aligner.bundle, aligner.engine, [source], [target])
    pairs = {(source[link[0] : link[1]], target[link[2] : link[3]]) for link in links}
    assert {("XQZ17", "XQZ17"), ("Wolfsburg", "Wolfsburg"), (".", ".")} <= pairs


def test_empty_texts_and_those_that_the_model_cannot_read_at_once_have_no_links(aligner: Translator) -> None:
    short, long = "Ein Hund läuft.", "Ein Hund läuft. " * 100
    sources, targets = ["", short, long, short, short], ["", "", long, long, short]
    links = align(aligner.bundle, aligner.engine, sources, targets)
    assert links[:-1] == [()] * 4
    assert links[-1] == align(aligner.bundle, aligner.engine, [short], [short])[0] != ()


def test_the_layer_is_stored_in_the_bundle(translator: Translator) -> None:
    assert translator.bundle.attention_rows() == AttentionRows(**translator.bundle.alignment)
    assert translator.bundle.alignment, "the run measured it"
    old = replace(translator.bundle, alignment={})
    assert old.attention_rows() == AttentionRows(old.recipe.model.decoder_layers - 1, shifted=False)
    for damaged in ({"layer": 7, "shifted": False}, {"layer": 0}, {"layer": "0", "shifted": True}):
        with pytest.raises(UserError, match="damaged"):
            replace(translator.bundle, alignment=damaged).attention_rows()


def test_the_chosen_rows_agree_best_with_known_words(translator: Translator) -> None:
    bundle, dictionary = translator.bundle, [("Hund", "dog"), ("Mann", "man"), ("Frau", "woman"), ("rot", "red")]
    rows = choose_rows(bundle, PAIRS, dictionary)
    assert rows is not None
    lower = {(source.lower(), target.lower()) for source, target in dictionary}
    words = read_words(bundle, SOURCES, TARGETS)
    attention = attention_between_words(bundle, words)

    def score(chosen: AttentionRows) -> int:
        return sum(
            int(weights[chosen.layer, int(chosen.shifted), target].argmax() == source)
            for each, weights in zip(words, attention, strict=True)
            for source, target in known_links(*each, lower)
        )

    layers = range(bundle.recipe.model.decoder_layers)
    assert score(rows) == max(score(AttentionRows(layer, shifted)) for layer in layers for shifted in (False, True))


def test_without_known_words_nothing_is_chosen(translator: Translator) -> None:
    assert choose_rows(translator.bundle, [Pair("Hund", "dog")], []) is None
    assert choose_rows(translator.bundle, [], []) is None


def test_saving_keeps_the_choice(translator: Translator, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("bundle") / "copy"
    replace(translator.bundle, alignment={"layer": 0, "shifted": True}).save(path)
    assert Bundle.load(path).attention_rows() == AttentionRows(0, shifted=True)
