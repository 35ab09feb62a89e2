"""On a device that is not the CPU, everything is computed there, without float64, and with the results of the CPU."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from dragoman.bundle import Bundle, find_bundle
from dragoman.dataset.prepare import Dataset
from dragoman.system.progress import ProgressLine
from dragoman.training.distributed import SINGLE_PROCESS
from dragoman.training.log import RunLog
from dragoman.training.metrics_file import MetricsFile
from dragoman.training.state import build_state, weights_of
from dragoman.training.trainer import Trainer
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
