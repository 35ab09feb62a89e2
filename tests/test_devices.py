"""On a device that is not the CPU, everything is computed there, without float64, and with the results of the CPU."""

from __future__ import annotations

from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from dragoman.bundle import Bundle, find_bundle
from dragoman.corpus.pair import Pair
from dragoman.dataset.prepare import Dataset
from dragoman.doctor.output.check import check_translator
from dragoman.documents.segment import Segment
from dragoman.documents.translate import TextTranslator
from dragoman.evaluation.evaluate import evaluate
from dragoman.evaluation.scoring import score
from dragoman.explanation.alignment import choose_rows
from dragoman.serving.page.words import PrefixedSegment, WordTranslator
from dragoman.system.progress import ProgressLine
from dragoman.text.glossary import Glossary, Term
from dragoman.training.loop.distributed import SINGLE_PROCESS
from dragoman.training.loop.state import build_state, weights_of
from dragoman.training.loop.trainer import Trainer
from dragoman.training.run.log import MetricsFile, RunLog
from dragoman.translator import Translator
from strict_device import strict_device

if TYPE_CHECKING:
    from conftest import RecipeMaker

TEXTS = ["Ein Hund läuft.", "Zwei Frauen sitzen auf einer Bank und lesen ein Buch.", "Ein Mann.", ""]
SEARCHES: list[dict[str, Any]] = [
    {"beam_size": 1},
    {"beam_size": 3, "n_best": 2},
    {"sampling": True, "n_best": 2},
    {"sampling": True, "top_k": 5, "top_p": 0.9, "temperature": 0.7},
    {"mbr_samples": 4},
    {"beam_size": 2, "min_length": 3, "no_repeat_ngram": 2},
    {"beam_size": 2, "cache": False},
]

SAMPLING = ["training.teacher_forcing_decay=1e-6", "training.teacher_forcing_minimum=0", "training.batch_tokens=60000"]
"""Settings with which the second step is the second epoch, in which no token is from the reference."""


@pytest.fixture(scope="module")
def bundle(finished_run: Path) -> Bundle:
    return Bundle.load(find_bundle(finished_run))


def trained(make_recipe: RecipeMaker, data: Dataset, run: Path, device: torch.device, *settings: str) -> Trainer:
    """A trainer after two steps, a validation and a checkpoint.

    With a tiny epsilon, Adam would also follow gradients that are nothing but rounding errors.
    """
    recipe = make_recipe(
        "training.steps=2", "training.validations=1", "training.epsilon=1e-4", "model.dropout=0", *settings
    )
    run.mkdir()
    state = build_state(recipe, data, device)
    torch.manual_seed(1)
    with closing(MetricsFile(run / "metrics.jsonl", after_step=0)) as metrics:
        trainer = Trainer(recipe, run, data, state, RunLog(ProgressLine(""), metrics))
        assert trainer.train()
    return trainer


@pytest.mark.parametrize(
    "settings",
    [
        ["training.average=1"],
        ["training.ema_decay=0.9"],
        ["training.r_drop=1", "training.kernels=false"],
        ["training.r_drop=1"],
        ["training.clip_norm=0.1", "training.accumulation=2", "training.length_groups=2"],
        ["training.scheduled_sampling=stepwise", *SAMPLING],
        ["training.scheduled_sampling=two_pass", *SAMPLING],
        ["training.optimizer=adam"],
        ["training.optimizer=muon", "model.positions=rotary", "training.teacher_forced_bleu=true"],
        ["model.embedding_init=cooccurrence"],
    ],
    ids=lambda settings: settings[0],
)
def test_training_gives_the_weights_of_the_cpu(
    make_recipe: RecipeMaker, prepared: Dataset, tmp_path: Path, settings: list[str]
) -> None:
    expected = trained(make_recipe, prepared, tmp_path / "cpu", torch.device("cpu"), *settings)
    with strict_device() as device:
        found = trained(make_recipe, prepared, tmp_path / "device", device, *settings)
        assert found.state.model.target_embedding.weight.device == device
        weights = {name: value.cpu() for name, value in weights_of(found.state.model, SINGLE_PROCESS).items()}
    for name, value in weights_of(expected.state.model, SINGLE_PROCESS).items():
        torch.testing.assert_close(weights[name], value, rtol=1e-3, atol=1e-4)
    losses = [each.state.progress.best_loss for each in (expected, found)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_searches_give_the_translations_of_the_cpu(bundle: Bundle, search: dict[str, Any]) -> None:
    expected = Translator(bundle, search, "cpu")(TEXTS, ["", "A", "", ""])
    with strict_device() as device:
        translator = Translator(bundle, search, str(device))
        assert [each.text for each in translator(TEXTS, ["", "A", "", ""])] == [each.text for each in expected]
        assert translator(TEXTS[0]).text == expected[0].text


def test_all_that_needs_the_model_runs_on_the_device(bundle: Bundle, corpus: Path) -> None:
    source, target = ((corpus / f"test.{language}").read_text().splitlines() for language in ("de", "en"))
    source, target = source[:8], target[:8]
    pairs = list(zip(source, target, strict=True))
    glossary = Glossary([Term("Hund", "water spaniel"), Term("Frau", "tall lady")])

    def results(device: str) -> dict[str, Any]:
        translator = Translator(bundle, {"beam_size": 2}, device)
        texts = TextTranslator(translator, glossary)
        explained = translator.explain(source[0])
        return {
            "scores": [each.score for each in score(translator, pairs)],
            "sum": sum(translator.text_search.score(translator.text_search.encode(source), target)),
            "findings": [each.code for each in check_translator(translator, source, target)],
            "loss": evaluate(translator, source, target)[0].loss,
            "terms": [str(each) for each in map(texts, ["Ein Hund läuft.", "Eine Frau und ein Hund."])],
            "links": [
                each.links for each in texts.translate_segments([Segment(text, aligned=True) for text in source[:5]])
            ],
            "rows": choose_rows(translator.bundle_on_device, [Pair(*pair) for pair in pairs], []),
            "cross": explained.attention.mean("cross").tolist(),
            "alternatives": [[token for token, _ in each[:1]] for each in explained.alternatives],
            "words": [each.text for each in WordTranslator(texts).translate([PrefixedSegment(source[1], prefix="A")])],
            "page": WordTranslator(texts).explain([Segment(source[2])])[0].text,
            "other words": WordTranslator(texts).replace_word([PrefixedSegment(source[1], prefix="A")])[0].text,
        }

    expected = results("cpu")
    with strict_device() as device:
        found = results(str(device))
    for name, value in expected.items():
        if name in ("scores", "sum", "loss"):
            assert found[name] == pytest.approx(value, rel=1e-3), name
        elif name == "cross":
            torch.testing.assert_close(torch.tensor(found[name]), torch.tensor(value), rtol=1e-3, atol=1e-4)
        elif name != "page":
            assert found[name] == value, name


def test_ensembles_run_on_the_device(bundle: Bundle) -> None:
    other = replace(bundle, weights=deepcopy(bundle.model))
    expected = Translator(bundle, {"beam_size": 2}, "cpu", [other])
    pairs = [(text, "A dog runs.") for text in TEXTS]
    scores, texts = [each.score for each in score(expected, pairs)], [each.text for each in expected(TEXTS)]
    with strict_device() as device:
        found = Translator(bundle, {"beam_size": 2}, str(device), [other])
        assert [each.text for each in found(TEXTS)] == texts
        assert [each.score for each in score(found, pairs)] == pytest.approx(scores, rel=1e-3)
