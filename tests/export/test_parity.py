"""The parity check: which differences are problems, and what is compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_exporter import FakeModel
from random_bundles import make_bundle, sentences

from dragoman.errors import UserError
from dragoman.export.parity import BLEU_DIFFERENCE, TOLERANCE, Parity, Sample, measure_parity, read_sample

EQUAL = Parity(
    format="fake",
    compute_type="float32",
    compared="logits",
    largest_difference=0.0,
    mean_difference=0.0,
    values=1000,
    decoding="greedy",
    sentences=1000,
    own_sentences=True,
    same_text=1.0,
    bleu=30.0,
    bleu_of_bundle=30.0,
)


def test_equal_models_have_no_problems() -> None:
    assert EQUAL.problems == []
    EQUAL.require()


def test_different_outputs_are_a_problem_in_float32_only() -> None:
    different = replace(EQUAL, largest_difference=2 * TOLERANCE)
    assert "logits differ" in different.problems[0]
    with pytest.raises(UserError, match="the export to fake failed its parity check"):
        different.require()
    assert replace(different, compute_type="int8").problems == []


@pytest.mark.parametrize("compute_type", ["float32", "int8"])
@pytest.mark.parametrize("difference", [float("nan"), float("inf")])
def test_damaged_outputs_are_always_a_problem(difference: float, compute_type: str) -> None:
    damaged = replace(EQUAL, largest_difference=difference, compute_type=compute_type)
    assert damaged.problems == ["some logits are NaN or infinite"]


def test_different_translations_are_a_problem_if_the_user_gave_the_sentences() -> None:
    assert replace(EQUAL, same_text=0.995).problems == []
    assert replace(EQUAL, same_text=0.994).problems == ["6 of 1000 translations differ"]
    assert replace(EQUAL, same_text=0.994, own_sentences=False).problems == []
    assert replace(EQUAL, same_text=0.994, compute_type="int8").problems == []
    assert replace(EQUAL, same_text=0.9, sentences=10).problems == [], "one of a few may always differ"


@pytest.mark.parametrize("compute_type", BLEU_DIFFERENCE)
@pytest.mark.parametrize("sign", [-1, 1])
def test_another_bleu_is_a_problem(compute_type: str, sign: int) -> None:
    allowed = BLEU_DIFFERENCE[compute_type]
    assert replace(EQUAL, compute_type=compute_type, bleu=30 + sign * 0.9 * allowed).problems == []
    (problem,) = replace(EQUAL, compute_type=compute_type, bleu=30 + sign * 1.1 * allowed).problems
    assert "30.00 before the export" in problem


def test_sentences_of_the_user_are_translated_without_the_blank_ones() -> None:
    bundle = make_bundle()
    texts = [*sentences(), "", "  "]
    parity = measure_parity("fake", bundle, FakeModel(bundle), Sample(texts, texts))
    assert (parity.sentences, parity.own_sentences) == (len(sentences()), True)
    assert parity.bleu is not None
    assert parity.bleu == parity.bleu_of_bundle
    assert parity.problems == []


def test_without_sentences_random_ones_are_translated() -> None:
    bundle = make_bundle()
    parity = measure_parity("fake", bundle, FakeModel(bundle), Sample())
    assert parity.sentences > 20
    assert (parity.own_sentences, parity.bleu) == (False, None)
    assert "sentences of random tokens" in str(parity)


def test_another_model_is_recognized() -> None:
    other = FakeModel(make_bundle(model__heads=2))
    parity = measure_parity("fake", make_bundle(), other, Sample(sentences()))
    assert len(parity.problems) == 2
    assert 0 <= parity.same_text < 0.9


def test_a_sample_is_read_from_files(tmp_path: Path) -> None:
    source, reference = tmp_path / "a.de", tmp_path / "a.en"
    source.write_text("Hund\n\nKatze\n", "utf-8")
    reference.write_text("dog\n\ncat\n", "utf-8")
    assert read_sample(None, None) == Sample()
    assert list(read_sample(source, None).texts) == ["Hund", "", "Katze"]
    assert read_sample(source, reference).without_blanks() == Sample(["Hund", "Katze"], ["dog", "cat"])


def test_references_need_sentences_of_the_same_number(tmp_path: Path) -> None:
    source, reference = tmp_path / "a.de", tmp_path / "a.en"
    source.write_text("Hund\nKatze\n", "utf-8")
    reference.write_text("dog\n", "utf-8")
    with pytest.raises(UserError, match="--source"):
        read_sample(None, reference)
    with pytest.raises(UserError):
        read_sample(source, reference)
