"""The training loop: what a step's gradient is, when it ends, what it keeps."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.nn import functional as F

from dragoman.errors import UserError
from dragoman.settings import Training
from dragoman.system import cpu
from dragoman.system.progress import ProgressLine, no_log
from dragoman.training.loop import speed_watch
from dragoman.training.loop.distributed import Ranks
from dragoman.training.loop.progress import Budget, Progress
from dragoman.training.loop.stop import StopRequested
from dragoman.training.loop.trainer import DirectionReport, Trainer
from dragoman.training.report.lines import complete_lines
from dragoman.training.report.verdict import judge_run
from dragoman.training.run.checkpoint import average_weights, checkpoint_steps
from dragoman.training.run.log import read_metrics

if TYPE_CHECKING:
    from conftest import TrainerMaker
    from dragoman.dataset.batch import Batch
    from dragoman.model.transformer import Transformer

ONE_STEP = ("training.steps=1", "training.validations=1", "model.dropout=0")
WHOLE = "training.batch_tokens=100000"  # all pairs in one batch


def lines(trainer: Trainer, kind: str) -> list[dict[str, Any]]:
    return [line for line in read_metrics(trainer.run / "metrics.jsonl") if line["kind"] == kind]


def gradients(trainer: Trainer) -> dict[str, torch.Tensor]:
    """The gradients of the last step."""
    found = {name: parameter.grad for name, parameter in trainer.state.model.named_parameters()}
    return {name: gradient for name, gradient in found.items() if gradient is not None}


def expected_loss(trainer: Trainer, smoothing: float) -> torch.Tensor:
    """The mean loss over all training pairs by torch's own cross-entropy, from unpadded pairs one at a time."""
    source, target = trainer.data.source.vocabulary, trainer.data.target.vocabulary
    losses, tokens = [], 0
    for index in range(len(trainer.data.train)):
        sources = torch.tensor([[*trainer.data.train.source[index].tolist(), source.eos]])
        targets = trainer.data.train.target[index].tolist()
        logits = trainer.state.model(sources, torch.tensor([[target.bos, *targets]]))[0]  # (target, vocabulary)
        wanted = torch.tensor([*targets, target.eos])
        losses.append(F.cross_entropy(logits, wanted, label_smoothing=smoothing, reduction="sum"))
        tokens += len(wanted)
    return torch.stack(losses).sum() / tokens


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_step_follows_the_gradient_of_the_mean_over_all_tokens(smoothing: float, make_trainer: TrainerMaker) -> None:
    settings = (*ONE_STEP, WHOLE, f"training.label_smoothing={smoothing}")
    reference, trainer = make_trainer(*settings), make_trainer(*settings)
    reference.state.model.eval()
    loss = expected_loss(reference, smoothing)
    loss.backward()  # type: ignore[no-untyped-call]
    assert trainer.train()
    assert lines(trainer, "train")[0]["loss"] == pytest.approx(loss.item(), abs=1e-4)
    expected = gradients(reference)
    assert expected.keys() == gradients(trainer).keys()
    for name, gradient in gradients(trainer).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-3, atol=1e-5)


def test_accumulated_batches_are_one_large_batch(make_trainer: TrainerMaker) -> None:
    small = "training.batch_tokens=1500"
    batches = make_trainer(small).batches.groups_per_epoch
    assert batches > 4
    accumulating = make_trainer(*ONE_STEP, small, f"training.accumulation={batches}")
    at_once = make_trainer(*ONE_STEP, WHOLE)
    assert accumulating.train()
    assert at_once.train()
    expected = gradients(at_once)
    for name, gradient in gradients(accumulating).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-3, atol=1e-5)
    one, other = lines(accumulating, "train")[0], lines(at_once, "train")[0]
    assert one["loss"] == pytest.approx(other["loss"], abs=1e-4)
    assert one["padding"] < other["padding"], "small batches hold less padding"


def test_clipping_scales_gradients_down_to_the_norm(make_trainer: TrainerMaker) -> None:
    norms = {}
    for clip in ("none", "0.01", "1000.0"):
        trainer = make_trainer(*ONE_STEP, WHOLE, f"training.clip_norm={clip}")
        assert trainer.train()
        norms[clip] = math.sqrt(sum(float(gradient.square().sum()) for gradient in gradients(trainer).values()))
        logged = lines(trainer, "train")[0]["gradient_norm"]
        assert logged == pytest.approx(norms["none"], rel=1e-3), "the norm before clipping is logged"
    assert norms["0.01"] == pytest.approx(0.01, rel=1e-3)
    assert norms["1000.0"] == pytest.approx(norms["none"])


def test_steps_are_exact_and_validations_evenly_spread(make_trainer: TrainerMaker) -> None:
    trainer = make_trainer("training.steps=10", "training.validations=4")
    assert trainer.train()
    assert trainer.state.progress.step == 10
    steps = [line["step"] for line in lines(trainer, "validation")]
    assert len(steps) == 4
    assert steps[-1] == 10
    gaps = [after - before for before, after in pairwise([0, *steps])]
    assert max(gaps) - min(gaps) <= 1
    assert [line["step"] for line in lines(trainer, "train")] == list(range(1, 11))


def test_more_validations_than_steps_are_one_a_step(make_trainer: TrainerMaker) -> None:
    trainer = make_trainer("training.steps=3", "training.validations=7")
    assert trainer.train()
    assert [line["step"] for line in lines(trainer, "validation")] == [1, 2, 3]


@pytest.mark.parametrize("epochs", [2, 0.5])
def test_epochs_are_an_exact_number_of_batches(epochs: float, make_trainer: TrainerMaker) -> None:
    trainer = make_trainer(f"training.epochs={epochs}", "training.validations=1")
    assert trainer.train()
    assert trainer.state.progress.step == epochs * trainer.batches.groups_per_epoch
    assert trainer.position["epoch"] == epochs


def test_epochs_of_accumulated_batches_end_with_a_whole_step(make_trainer: TrainerMaker) -> None:
    batches = 2 * make_trainer().batches.groups_per_epoch
    accumulation = next(number for number in range(3, batches) if batches % number)
    trainer = make_trainer("training.epochs=2", "training.validations=1", f"training.accumulation={accumulation}")
    assert trainer.train()
    assert trainer.state.progress.step == math.ceil(batches / accumulation)
    assert trainer.position["epoch"] == pytest.approx(
        2 * trainer.state.progress.step * accumulation / batches, abs=1e-3
    )


class Clock:
    """A machine of an even speed: each look at it is 3 ms later."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        self.seconds += 0.003
        return self.seconds


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_minutes_end_in_time_with_a_rate_near_zero(
    schedule: str, make_trainer: TrainerMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = ("training.minutes=0.01", "training.validations=3", "training.validation_sentences=1")
    trainer = make_trainer(*budget, f"training.schedule={schedule}")
    monkeypatch.setattr("dragoman.training.loop.trainer.time", Clock())
    assert trainer.train()
    assert trainer.state.progress.seconds == pytest.approx(0.6, abs=0.05)
    rates = [line["learning_rate"] for line in lines(trainer, "train")]
    assert max(rates) > 0.8 * trainer.settings.learning_rate
    assert rates[-1] < 0.1 * trainer.settings.learning_rate
    assert rates[trainer.settings.warmup_steps :] == sorted(rates[trainer.settings.warmup_steps :], reverse=True)
    validations = lines(trainer, "validation")
    assert len(validations) == 3
    assert validations[-1]["step"] == trainer.state.progress.step


class SlowerOther(Ranks):
    """One of two processes, the other of which is always a minute behind."""

    def largest(self, values: Sequence[float]) -> list[float]:
        """The time, which comes with whether to stop, is that of the other."""
        return [values[0] + 60, *values[1:]] if len(values) == 2 else list(values)


def test_processes_agree_on_the_time_also_after_a_validation(make_trainer: TrainerMaker) -> None:
    trainer = make_trainer("training.minutes=1.01", "training.validations=2", "training.validation_sentences=1")
    trainer.ranks = SlowerOther()
    assert trainer.train()
    assert 60 < trainer.state.progress.seconds < 70
    assert [line["seconds"] > 60 for line in lines(trainer, "validation")] == [True, True]


def test_early_stopping_counts_validations_without_a_better_score(make_trainer: TrainerMaker) -> None:
    frozen = ("training.learning_rate=1e-30", "training.steps=20", "training.validations=10")
    trainer = make_trainer(*frozen, "training.best_by=loss", "training.early_stopping=3")
    assert trainer.train()
    assert trainer.budget.is_finished(trainer.state.progress)
    assert trainer.state.progress.stopped_early
    assert "3 validations in a row were not better than that at step 2" in trainer.budget.reason_to_end(
        trainer.state.progress
    )
    assert [line["best"] for line in lines(trainer, "validation")] == [True, False, False, False]
    patient = make_trainer(*frozen, "training.best_by=loss")
    assert patient.train()
    assert patient.state.progress.step == 20
    assert patient.budget.reason_to_end(patient.state.progress) == "training.steps = 20 reached"
    assert patient.budget.reason_to_end(Progress(step=3)) == "interrupted"


def test_every_step_is_shown(make_trainer: TrainerMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = make_trainer("training.steps=6", "training.log_every=4", "training.validations=1")
    shown: list[str] = []
    monkeypatch.setattr(trainer.log.line, "update", lambda share, text: shown.append(text))
    assert trainer.train()
    steps = [text for text in shown if "epoch" in text]
    assert [text.split("  ")[0] for text in steps] == [f"step {number}" for number in range(1, 7)]
    assert ["loss" in text for text in steps] == [False] * 3 + [True] * 3
    assert all(text.endswith(" left") for text in steps)


@pytest.mark.parametrize("average", [1, 3])
def test_best_and_last_checkpoints_are_kept(average: int, make_trainer: TrainerMaker) -> None:
    trainer = make_trainer("training.steps=12", "training.validations=6", f"training.average={average}")
    trainer.state.progress = Progress(best=math.inf, best_step=4)  # as if the second validation were never surpassed
    assert trainer.train()
    last = list(range(2, 13, 2))[-average:]
    assert checkpoint_steps(trainer.run) == [4, *last]
    assert trainer.state.progress.averaged(average) == last


@pytest.mark.parametrize("best_by", ["bleu", "chrf", "loss"])
def test_best_is_by_the_score_that_was_asked_for(best_by: str, make_trainer: TrainerMaker) -> None:
    trainer = make_trainer(
        "training.steps=60", "training.validations=6", "training.average=1", f"training.best_by={best_by}"
    )
    assert trainer.train()
    validations = lines(trainer, "validation")
    sign = -1 if best_by == "loss" else 1
    best = max(validations, key=lambda line: (sign * float(line[best_by]), -float(line["loss"])))
    assert trainer.state.progress.best_step == best["step"]
    assert [line["step"] for line in validations if line["best"]][-1] == best["step"]


def test_the_loss_decides_while_bleu_is_noise(make_trainer: TrainerMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    """An untrained model may have the highest BLEU of a training that was much too short."""
    trainer = make_trainer("training.steps=30", "training.validations=5", "training.best_by=bleu")
    values, score = iter([0.9, 0.2, 0.0, 1.2, 0.3]), trainer.validator.score
    monkeypatch.setattr(trainer.validator, "score", lambda report: score(replace(report, bleu=next(values))))
    assert trainer.train()
    validations = lines(trainer, "validation")
    losses = [line["loss"] for line in validations]
    assert losses == sorted(losses, reverse=True), "the test needs a model that learns"
    assert [line["best"] for line in validations] == [True, True, True, True, False]


def test_of_equal_scores_the_one_with_the_lowest_loss_is_best(
    make_trainer: TrainerMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BLEU is often equal, at 0, in the first validations."""
    trainer = make_trainer("training.steps=60", "training.validations=6", "training.early_stopping=5")
    monkeypatch.setattr(trainer.validator, "score", lambda report: 0.0)
    assert trainer.train()
    validations = lines(trainer, "validation")
    best = min(validations, key=lambda line: float(line["loss"]))
    assert best["step"] > validations[0]["step"]
    assert trainer.state.progress.best_step == best["step"]
    assert trainer.state.progress.best_loss == best["loss"]


PATIENT = Training(steps=1)


def test_ties_keep_the_best_of_a_checkpoint_without_its_loss() -> None:
    progress = Progress(step=8, best=0.0, best_step=4)  # as an earlier version stored it
    assert not progress.record_validation(0.0, 0.1, PATIENT)
    progress.step = 9
    assert progress.record_validation(0.5, 3.0, PATIENT)
    assert (progress.best_step, progress.stale) == (9, 0)
    assert not progress.record_validation(0.5, math.nan, PATIENT)


@pytest.mark.parametrize(("by", "stopped_at"), [("score", 4), ("score_and_loss", 10)])
def test_early_stopping_can_wait_for_the_warm_up_and_for_the_loss(by: str, stopped_at: int) -> None:
    """The score is never better than at first; the loss falls after the warm-up of 4 steps up to step 7."""
    values = {"steps": 20, "warmup_steps": 4, "early_stopping": 3, "early_stopping_by": by}
    progress, settings = Progress(), Training.model_validate(values)
    losses = [5.0, 6.0, 7.0, 6.5, 4.0, 4.5, 3.0, 3.5, 3.1, 3.2, 3.3]
    for step, loss in enumerate(losses, start=1):
        progress.step = step
        assert progress.record_validation(-step, loss, settings) == (step == 1)
        if progress.stopped_early:
            break
    assert progress.step == stopped_at
    assert progress.best_step == 1


@pytest.mark.parametrize("budget", ["minutes=2.5", "steps=100"])
def test_validations_take_at_most_their_share_of_a_budget_in_minutes(
    budget: str, make_trainer: TrainerMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other budgets do not depend on the clock, so that the same recipe gives the same weights again."""
    trainer = make_trainer(f"training.{budget}", "training.validations=50", "training.validation_share=0.2")
    clock = [0.0]
    monkeypatch.setattr("dragoman.training.loop.trainer.time", SimpleNamespace(monotonic=lambda: clock[0]))
    evaluate, take_step = trainer.validator.evaluate, trainer.take_step

    def slow_evaluate(model: Transformer) -> list[DirectionReport]:
        clock[0] += 5.0
        return evaluate(model)

    def slow_step(batches: Sequence[list[Batch]]) -> None:
        clock[0] += 1.0
        take_step(batches)

    monkeypatch.setattr(trainer.validator, "evaluate", slow_evaluate)
    monkeypatch.setattr(trainer, "take_step", slow_step)
    assert trainer.train()
    steps = [line["step"] for line in lines(trainer, "validation")]
    if budget == "steps=100":
        assert steps == list(range(2, 101, 2))
        return
    assert [steps[0], steps[-1]] == [3, 120], "the last validation is part of the time"
    for number, step in enumerate(steps[1:-1], start=2):
        spent = [steps_done + 5 * (number - 1) for steps_done in (step - 4, step)]  # before the last one, and now
        assert 0.2 * spent[0] < 5 * number <= 0.2 * spent[1], "as soon as there is time for it"
    assert len(steps) == 6


@pytest.mark.parametrize("share", [None, 0.5])
@pytest.mark.parametrize(("seconds", "due"), [(585, True), (592, False), (600, True)])
def test_no_validation_ends_when_the_last_one_is_due(seconds: float, due: bool, share: float | None) -> None:
    settings = Training(minutes=10, validations=10, validation_share=share)
    progress = Progress(seconds=seconds, validations=8, validated=[1, 2], validation_seconds=10)
    assert Budget(settings, 1, 1).validation_is_due(progress) == due


def test_the_time_of_an_interrupted_validation_does_not_count(
    make_trainer: TrainerMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer("training.steps=4", "training.validations=2")

    def interrupted(model: Transformer) -> list[DirectionReport]:
        raise StopRequested

    with monkeypatch.context() as patch:
        patch.setattr(trainer.validator, "evaluate", interrupted)
        assert not trainer.train()
    assert (trainer.state.progress.step, trainer.state.progress.validation_seconds) == (2, 0.0)
    trainer.stop.requested = False
    assert trainer.train()
    assert trainer.state.progress.validation_seconds > 0


def test_stop_ends_after_the_step_with_a_checkpoint(make_trainer: TrainerMaker) -> None:
    trainer = make_trainer("training.steps=10", "training.validations=1")
    trainer.stop.requested = True
    assert not trainer.train()
    assert trainer.state.progress.step == 1
    assert checkpoint_steps(trainer.run) == [1]


@pytest.mark.parametrize("override", ["training.log_every=1", "training.log_every=1000", "training.validations=1"])
def test_a_deleted_run_directory_stops_training(override: str, make_trainer: TrainerMaker) -> None:
    trainer = make_trainer("training.log_every=1000", override)
    take_step = trainer.take_step

    def take_step_and_delete(batches: Sequence[list[Batch]]) -> None:
        take_step(batches)
        shutil.rmtree(trainer.run, ignore_errors=True)

    trainer.take_step = take_step_and_delete  # type: ignore[method-assign]
    with pytest.raises(UserError, match=r"trainer-0: the run directory was deleted"):
        trainer.train()
    with pytest.raises(UserError, match="the run directory was deleted"):
        trainer.save()
    assert not trainer.run.exists()


def test_a_stop_between_microbatches_abandons_the_step(
    make_trainer: TrainerMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer("training.steps=10", "training.accumulation=5", "model.dropout=0.3")
    before = {name: weight.detach().clone() for name, weight in trainer.state.model.named_parameters()}
    generator, forward, computed = torch.get_rng_state(), trainer.state.loss.forward, []

    def stop_in_the_second(batch: list[Any], teacher_forcing: float) -> Any:
        computed.append(batch)
        trainer.stop.requested = len(computed) == 2
        return forward(batch, teacher_forcing)

    monkeypatch.setattr(trainer.state.loss, "forward", stop_in_the_second)
    assert not trainer.train()
    assert len(computed) == 2
    assert trainer.state.progress.step == 0
    assert checkpoint_steps(trainer.run) == [0]
    assert torch.equal(torch.get_rng_state(), generator), "the step will be repeated with the same dropout"
    for name, weight in trainer.state.model.named_parameters():
        assert torch.equal(weight, before[name])


class Impatient(ProgressLine):
    """Interrupts the run at once when most of it is done."""

    def update(self, share: float | None, text: str) -> None:
        if share is not None and share > 0.7:
            raise KeyboardInterrupt


@pytest.mark.parametrize(("minutes", "expected"), [("1e-9", [2]), ("10.0", [])])
def test_checkpoints_between_validations_are_as_often_as_asked_for(
    minutes: str, expected: list[int], make_trainer: TrainerMaker
) -> None:
    trainer = make_trainer("training.steps=4", "training.validations=1", f"training.checkpoint_minutes={minutes}")
    trainer.log.line = Impatient("")
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert checkpoint_steps(trainer.run) == expected


@pytest.fixture
def half(monkeypatch: pytest.MonkeyPatch) -> None:
    """float16 on this machine's CPU, which precision = "float16" asks for on GPUs only."""
    for module in ("system.device", "training.loop.state"):
        monkeypatch.setattr(f"dragoman.{module}.compute_dtype", lambda *_: torch.float16)


@pytest.mark.usefixtures("half")
def test_gradients_are_unscaled_before_they_are_clipped(make_trainer: TrainerMaker) -> None:
    settings = (*ONE_STEP, "training.clip_norm=0.01", "training.precision=float16")
    trainer = make_trainer(*settings)
    trainer.state.scaler.load_state_dict({**trainer.state.scaler.state_dict(), "scale": 256.0})
    assert trainer.train()
    norm = torch.stack([gradient.norm() for gradient in gradients(trainer).values()]).norm()
    assert norm == pytest.approx(0.01, rel=1e-3)
    assert lines(trainer, "train")[0]["gradient_norm"] < 100, "of the gradient itself"


@pytest.mark.usefixtures("half")
def test_an_overflow_skips_the_step_and_lowers_the_scale(make_trainer: TrainerMaker) -> None:
    trainer = make_trainer(*ONE_STEP, "training.precision=float16")
    huge = 2.0**60
    trainer.state.scaler.load_state_dict({**trainer.state.scaler.state_dict(), "scale": huge})
    before = {name: parameter.clone() for name, parameter in trainer.state.model.named_parameters()}
    assert trainer.train()
    assert trainer.state.scaler.get_scale() == huge / 2
    for name, parameter in trainer.state.model.named_parameters():
        assert torch.equal(parameter, before[name]), name
    assert trainer.state.progress.scaler["scale"] == huge / 2, "kept for resuming"


def test_on_a_cpu_float16_is_bfloat16_without_scaling(make_trainer: TrainerMaker) -> None:
    float16, bfloat16 = (make_trainer(*ONE_STEP, f"training.precision={name}") for name in ("float16", "bfloat16"))
    assert float16.state.scaler.get_scale() == 1.0
    assert float16.train()
    assert bfloat16.train()
    for one, other in zip(float16.state.model.parameters(), bfloat16.state.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_batches_have_no_more_sentences_than_asked_for(make_trainer: TrainerMaker) -> None:
    trainer = make_trainer("training.batch_sentences=8", "training.length_groups=4", "training.epochs=1")
    assert max(map(len, trainer.batches.plan(0))) == 2
    assert trainer.budget.total_steps == math.ceil(trainer.batches.groups_per_epoch / 4)


def test_the_share_of_teacher_forcing_is_logged_with_each_validation(make_trainer: TrainerMaker) -> None:
    settings = ("training.scheduled_sampling=two_pass", "training.teacher_forcing_decay=0.2")
    trainer = make_trainer(
        *settings, "training.teacher_forcing_minimum=0.1", "training.epochs=4", "training.validations=4"
    )
    assert trainer.train()
    shares = [line["teacher_forced"] for line in lines(trainer, "validation")]
    assert shares[0] == 1.0
    assert shares[-1] < 0.6
    assert "teacher_forced" not in lines(finished(make_trainer(*ONE_STEP)), "validation")[0]


def finished(trainer: Trainer) -> Trainer:
    """The trainer after its run."""
    assert trainer.train()
    return trainer


def test_the_moving_average_is_that_of_the_weights_after_each_step(make_trainer: TrainerMaker) -> None:
    trainer = make_trainer("training.steps=4", "training.validations=1", "training.ema_decay=0.4")
    steps = [0]
    expected = {name: weight.detach().clone() for name, weight in trainer.state.model.named_parameters()}
    update = trainer.state.optimizer.step

    def step_and_average(*arguments: Any) -> Any:
        result = update(*arguments)
        steps[0] += 1
        for name, weight in trainer.state.model.named_parameters():
            decay = min(0.4, (1 + steps[0]) / (10 + steps[0]))
            expected[name] = decay * expected[name] + (1 - decay) * weight.detach()
        return result

    trainer.state.optimizer.step = step_and_average  # type: ignore[assignment, method-assign]
    trainer.train()
    assert trainer.state.moving_average is not None
    for name, weight in trainer.state.moving_average.named_parameters():
        torch.testing.assert_close(weight.detach(), expected[name])
    deployed = average_weights(trainer.run, [4], no_log)
    assert all(torch.equal(deployed[name], weight) for name, weight in trainer.state.moving_average.named_parameters())


def test_the_moving_average_is_what_is_validated(make_trainer: TrainerMaker) -> None:
    trainer = make_trainer("training.steps=3", "training.validations=1", "training.ema_decay=0.5")
    trainer.train()
    assert trainer.state.moving_average is not None
    (validated,) = trainer.validator.evaluate(trainer.state.moving_average)
    assert lines(trainer, "validation")[0]["loss"] == round(validated.report.loss, 5)
    (validated,) = trainer.validator.evaluate(trainer.state.model)
    assert lines(trainer, "validation")[0]["loss"] != round(validated.report.loss, 5)


def test_the_moving_average_of_a_short_run_has_learned(make_trainer: TrainerMaker) -> None:
    trainer = make_trainer("training.steps=40", "training.validations=2", "training.ema_decay=0.9999")
    trainer.train()
    losses = [line["loss"] for line in lines(trainer, "validation")]
    (validated,) = trainer.validator.evaluate(trainer.state.model)
    assert losses[0] - losses[1] > (losses[0] - validated.report.loss) / 2


@pytest.mark.parametrize(("value", "last", "kept"), [(math.nan, 15, [10]), (math.inf, 15, [10]), (math.nan, 5, [])])
def test_diverged_training_stops_and_keeps_earlier_checkpoints(
    value: float, last: int, kept: list[int], make_trainer: TrainerMaker
) -> None:
    trainer = make_trainer("training.steps=40", "training.validations=4")
    step = trainer.take_step

    def poisoned(batches: Sequence[Any]) -> None:
        if trainer.state.progress.step == last:
            with torch.no_grad():
                trainer.state.model.output.weight[5, 5] = value
        step(batches)

    trainer.take_step = poisoned  # type: ignore[method-assign]
    with pytest.raises(UserError, match=f"training diverged after step {last}") as refused:
        trainer.train()
    assert ("checkpoints are kept" in str(refused.value)) == bool(kept)
    (event,) = lines(trainer, "event")
    assert event["step"] == last
    assert event["message"].startswith("training diverged")
    assert checkpoint_steps(trainer.run) == kept
    if kept:
        assert all(weight.isfinite().all() for weight in average_weights(trainer.run, kept, no_log).values())


def test_a_segmentation_differs_from_epoch_to_epoch_and_counts_its_tokens(make_trainer: TrainerMaker) -> None:
    plain = make_trainer("training.steps=1", WHOLE)
    dropped = make_trainer("training.steps=1", WHOLE, "text.bpe_dropout=0.3")
    (whole,) = plain.batches.next_step()
    (first,) = dropped.batches.next_step()
    (second,) = dropped.batches.next_step()
    assert first[0].target_tokens > whole[0].target_tokens
    assert first[0].target_tokens == int((first[0].target_output != dropped.data.target.vocabulary.pad).sum())
    assert first[0].source.shape != second[0].source.shape or not torch.equal(first[0].source, second[0].source)


@pytest.mark.parametrize("fits", [2, 1])
def test_a_batch_that_does_not_fit_into_memory_is_split(
    fits: int, make_trainer: TrainerMaker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = (*ONE_STEP, "training.length_groups=4", "training.batch_tokens=2048")
    expected = make_trainer(*settings)
    assert expected.train()
    trainer = make_trainer(*settings)
    forward = trainer.state.loss.forward

    def small(batch: list[Any], teacher_forcing: float) -> Any:
        if len(batch) > fits:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(batch, teacher_forcing)

    monkeypatch.setattr(trainer.state.loss, "forward", small)
    assert trainer.train()
    for name, gradient in gradients(trainer).items():
        torch.testing.assert_close(gradient, gradients(expected)[name], rtol=1e-4, atol=1e-6)
    assert lines(trainer, "train")[0]["loss"] == pytest.approx(lines(expected, "train")[0]["loss"])
    assert f"out of memory in step 1: from now on {fits} of 4 groups at once" in capsys.readouterr().err


def test_a_group_that_does_not_fit_into_memory_is_reported(
    make_trainer: TrainerMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer(*ONE_STEP)

    def large(batch: list[Any], teacher_forcing: float) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(trainer.state.loss, "forward", large)
    with pytest.raises(UserError, match=r"out of memory in step 1: CUDA out of memory\.; lower training.batch_tokens"):
        trainer.train()


@pytest.mark.parametrize(("waited", "warnings"), [(0.2, 0), (0.6, 1)])
def test_a_busy_machine_is_reported_once_and_in_the_verdict(
    waited: float,
    warnings: int,
    make_trainer: TrainerMaker,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(speed_watch, "PERIOD", 0.0)
    monkeypatch.setattr(cpu, "_waited_seconds", lambda: waited * time.monotonic())
    trainer = make_trainer("training.steps=4", "training.validations=1")
    assert trainer.train()
    assert capsys.readouterr().err.count("warning: training is slow: it waits for a processor 60%") == warnings
    assert sum("waits for a processor" in line["message"] for line in lines(trainer, "event")) == warnings
    assert len(lines(trainer, "slow")) == 4 * warnings
    verdict = judge_run(complete_lines(read_metrics(trainer.run / "metrics.jsonl")), trainer.recipe).training
    assert sum(line.startswith("Training was slow in 4 of 4 minutes: it waits") for line in verdict) == warnings


def test_a_run_slower_than_its_plan_is_reported(
    make_trainer: TrainerMaker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(speed_watch, "LEAST_PERIOD", 0.0)
    monkeypatch.setattr(cpu, "_waited_seconds", lambda: 0.0)
    made = make_trainer("training.steps=4", "training.validations=1")
    trainer = Trainer(made.recipe, made.run, made.data, made.state, made.log, planned_speed=1e9)
    assert trainer.train()
    assert "less than a third of the 1,000,000,000 that the plan assumed" in capsys.readouterr().err


@pytest.mark.parametrize(("rate", "warned"), [(1e-7, True), (1e-3, False), (5.0, True)])
def test_unusual_learning_rates_are_reported(
    rate: float, warned: bool, make_trainer: TrainerMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = make_trainer(*ONE_STEP, f"training.learning_rate={rate}", "training.schedule='inverse_sqrt'")
    capsys.readouterr()
    trainer.log_model()
    assert ("which is unusually" in capsys.readouterr().err) == warned
