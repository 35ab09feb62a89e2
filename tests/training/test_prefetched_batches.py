"""The stream of batches: the same with and without prefetching, from every position."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import torch

from dragoman.dataset.batch import Batch, make_batch, take_rows
from dragoman.kernels import accelerate, supports_unpadded
from dragoman.model.build import build_model
from dragoman.training.loop import batches
from dragoman.training.loop.batch_loss import BatchLoss
from dragoman.training.loop.batches import STEPS_AHEAD, BatchStream
from dragoman.training.loop.distributed import SINGLE_PROCESS, Ranks
from dragoman.training.loop.progress import Progress
from dragoman.training.loop.trainer import Trainer

if TYPE_CHECKING:
    from conftest import RecipeMaker, TrainerMaker
    from dragoman.dataset.prepare import Dataset

Ids = list[list[tuple[list[list[int]], list[list[int]]]]]
SETTINGS = ("training.length_groups=4", "training.accumulation=2", "text.bpe_dropout=0.1", "training.batch_tokens=1500")
AUGMENTED = tuple(f"training.augmentation.{kind}=0.3" for kind in ("title_case", "typos", "fuzzy_matches"))


def ids_of(step: list[list[Batch]]) -> Ids:
    return [[(group.source.tolist(), group.target_output.tolist()) for group in batch] for batch in step]


def position(stream: BatchStream) -> tuple[int, int, int]:
    return stream.step, stream.epoch, stream.group


class Streams:
    """Makes streams of the same recipe."""

    def __init__(self, make_recipe: RecipeMaker, prepared: Dataset) -> None:
        self.recipe, self.data = make_recipe(*SETTINGS, *AUGMENTED), prepared

    def __call__(
        self, prefetch: bool, start: tuple[int, int, int] = (0, 0, 0), ranks: Ranks = SINGLE_PROCESS
    ) -> BatchStream:
        stream = BatchStream(self.recipe, self.data, Progress(*start), ranks)
        stream.prefetch = prefetch
        return stream


@pytest.fixture
def streams(make_recipe: RecipeMaker, prepared: Dataset) -> Streams:
    return Streams(make_recipe, prepared)


@pytest.mark.parametrize("ranks", [SINGLE_PROCESS, Ranks(1, 2, 1, 2)], ids=["alone", "second of two"])
def test_prefetching_changes_neither_batches_nor_positions(streams: Streams, ranks: Ranks) -> None:
    plain, prefetched = streams(False, ranks=ranks), streams(True, ranks=ranks)
    for _ in range(3 * plain.groups_per_epoch // plain.groups_per_step):
        assert ids_of(plain.next_step()) == ids_of(prefetched.next_step())
        assert position(plain) == position(prefetched)
    assert plain.epoch >= 2
    prefetched.close()


@pytest.mark.parametrize("prefetch", [False, True])
def test_every_position_continues_with_the_same_batches(streams: Streams, prefetch: bool) -> None:
    stream = streams(prefetch)
    steps = [(position(stream), ids_of(stream.next_step())) for _ in range(20)]
    stream.close()
    for start in range(0, 20, 3):
        resumed = streams(not prefetch, steps[start][0])
        assert [ids_of(resumed.next_step()) for _ in steps[start:]] == [ids for _, ids in steps[start:]]
        resumed.close()


def test_a_closed_stream_continues_after_the_last_step_it_returned(streams: Streams) -> None:
    plain, stream = streams(False), streams(True)
    for _ in range(4):
        assert ids_of(stream.next_step()) == ids_of(plain.next_step())
        stream.close()
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("prefetch")]


def test_few_steps_are_made_in_advance(streams: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(*arguments: Any) -> Batch:
        made.append(1)
        return make_batch(*arguments)

    monkeypatch.setattr(batches, "make_batch", counted)
    stream = streams(True)
    for step in range(1, 4):
        stream.next_step()
        deadline = time.monotonic() + 300
        while len(made) < (step + STEPS_AHEAD) * stream.groups_per_step:
            assert time.monotonic() < deadline, "the next steps are not made while this one is computed"
            time.sleep(0.01)
    time.sleep(0.1)  # a thread that makes too many would go on
    assert len(made) == (3 + STEPS_AHEAD) * stream.groups_per_step
    stream.close()


def test_errors_reach_the_training_loop(streams: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> Batch:
        raise OSError("the store cannot be read")

    stream = streams(True)
    monkeypatch.setattr(batches, "make_batch", fail)
    with pytest.raises(OSError, match="the store cannot be read"):
        stream.next_step()
    stream.close()


def test_training_with_prefetched_batches_gives_the_same_weights(make_trainer: TrainerMaker) -> None:
    trainers = [make_trainer("training.steps=12", "training.validations=3", "text.bpe_dropout=0.1") for _ in range(2)]
    trainers[1].batches.prefetch = True
    for trainer in trainers:
        torch.manual_seed(1)
        assert trainer.train()
        trainer.batches.close()
    weights, prefetched = (trainer.state.model.state_dict() for trainer in trainers)
    assert all(torch.equal(weight, prefetched[name]) for name, weight in weights.items())


def gpu_loss(trainer: Trainer) -> BatchLoss:
    """The loss of a trainer with the modules for a GPU."""
    source, target = trainer.data.source.vocabulary, trainer.data.target.vocabulary
    recipe = trainer.recipe
    model = build_model(recipe.model, len(source), len(target), source.pad, recipe.training.seed)
    accelerate(model.train(), device_type="cuda")
    assert supports_unpadded(model)
    return BatchLoss(model, recipe.training, target.pad)


@pytest.mark.parametrize("more", [(), ("training.r_drop=1",), ("training.kernels=false",)], ids=str)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_loss_without_padding_is_that_of_padded_groups(
    make_trainer: TrainerMaker, precision: str, more: tuple[str, ...]
) -> None:
    settings = (*SETTINGS, "model.dropout=0", f"training.precision={precision}", *more)
    plain, faster = make_trainer(*settings), make_trainer(*settings)
    faster.state.loss = gpu_loss(faster)
    faster.batches.prefetch = True
    losses = [trainer.gradients.compute(trainer.batches.next_step(), [1.0, 1.0]) for trainer in (plain, faster)]
    faster.batches.close()
    tolerance: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-5} if precision == "float32" else {"rtol": 0.05, "atol": 0.02}
    for (_, ours), (_, theirs) in zip(*losses, strict=True):
        torch.testing.assert_close(ours, theirs, **tolerance)
    models = plain.state.model, faster.state.loss.model
    gradients = [[each.grad for each in model.parameters()] for model in models]
    for our, their in zip(*gradients, strict=True):
        torch.testing.assert_close(our, their, **tolerance)


def test_r_drop_without_padding_compares_passes_with_different_dropout(make_trainer: TrainerMaker) -> None:
    losses = []
    for weight in ("1e-6", "1000"):
        trainer = make_trainer(
            *SETTINGS, "model.dropout=0.3", "training.precision=float32", f"training.r_drop={weight}"
        )
        trainer.batches.prefetch = True
        (batch, *_) = trainer.batches.next_step()
        trainer.batches.close()
        torch.manual_seed(1)
        losses.append(gpu_loss(trainer)(batch)[0])
    assert losses[1] > 2 * losses[0]


def test_prefetched_batches_have_pairs_without_padding(streams: Streams) -> None:
    stream = streams(True)
    (batch, _) = stream.next_step()
    stream.close()
    for group in batch:
        assert group.unpadded is not None
        assert group.unpadded.target.shape[1] == group.target_tokens
        assert group.source.device == torch.device("cpu")


def test_a_share_without_sentences_has_no_loss_on_a_gpu(make_trainer: TrainerMaker) -> None:
    trainer = make_trainer("training.batch_sentences=1", "training.accumulation=4", "model.dropout=0")
    stream = BatchStream(trainer.recipe, trainer.data, Progress(), Ranks(1, 2))
    stream.prefetch = True
    (batch, *_) = stream.next_step()
    stream.close()
    loss, nll = gpu_loss(trainer)(batch)
    assert loss.item() == nll.item() == 0.0
    loss.backward()


@pytest.mark.parametrize("r_drop", [0, 1])
def test_a_process_without_tokens_calls_each_layer_as_often_as_the_others(
    make_trainer: TrainerMaker, r_drop: int
) -> None:
    """Otherwise sharded processes would exchange weights of different layers."""
    trainer = make_trainer(*SETTINGS, f"training.r_drop={r_drop}")
    trainer.batches.prefetch = True
    loss, calls = gpu_loss(trainer), Counter[str]()
    for name, module in loss.model.named_modules():
        module.register_forward_pre_hook(lambda *_, name=name: calls.update([name]))
    (full, *_) = trainer.batches.next_step()
    trainer.batches.close()
    pads = trainer.data.source.vocabulary.pad, trainer.data.target.vocabulary.pad
    empty = [take_rows(group, slice(0, 0), *pads) for group in full]
    counts = []
    for batch in (full, empty):
        calls.clear()
        minimized, _ = loss(batch)
        minimized.backward()
        counts.append(dict(calls))
    assert counts[0] == counts[1]
    assert minimized.item() == 0
