"""The baseline is what translations reach without a model."""

from __future__ import annotations

from itertools import islice

from dragoman.corpus.synthetic.captions import captions
from dragoman.evaluation.baseline import trivial_baseline
from dragoman.evaluation.metrics import corpus_scores

SOURCES, REFERENCES = (list(side) for side in zip(*islice(captions("test"), 100), strict=True))


def test_one_sentence_for_all_is_one_of_the_references_and_scores_low() -> None:
    baseline = trivial_baseline(SOURCES, REFERENCES)
    scores = []
    for index, text in enumerate(REFERENCES):
        others = REFERENCES[:index] + REFERENCES[index + 1 :]
        scores.append(corpus_scores([text] * len(others), others)["bleu"])
    assert baseline.name == "the same sentence for every source"
    assert baseline.bleu in scores
    assert baseline.bleu >= sorted(scores)[len(scores) // 2]
    assert 0 < baseline.bleu < 30


def test_copies_are_the_baseline_of_similar_languages() -> None:
    sources = [text.replace("the", "ze") for text in REFERENCES]
    baseline = trivial_baseline(sources, REFERENCES)
    assert baseline.name == "copying the source"
    assert baseline.bleu == corpus_scores(sources, REFERENCES)["bleu"]


def test_copies_are_no_baseline_of_the_copy_task() -> None:
    assert trivial_baseline(REFERENCES, REFERENCES).name == "the same sentence for every source"


def test_a_sentence_is_no_baseline_of_itself() -> None:
    baseline = trivial_baseline(["Hallo Welt, wie geht es dir?"], ["Hello world, how are you?"])
    assert baseline.name == "copying the source"
    assert baseline.bleu < 20


def test_empty_references_have_a_baseline() -> None:
    assert trivial_baseline(["a", "b"], ["", ""]).bleu == 0
