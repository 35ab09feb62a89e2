"""The batches of several processes contain the sentences of those of one, within the limit."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest
import torch

from dragoman.dataset.batch import Batch
from dragoman.dataset.buckets import Plan, plan_epoch
from dragoman.dataset.prepare import prepare
from dragoman.system.progress import no_log
from dragoman.training.loop.batches import LONGER, BatchStream
from dragoman.training.loop.distributed import Ranks
from dragoman.training.loop.progress import Progress

if TYPE_CHECKING:
    from conftest import RecipeMaker, TrainerMaker
    from dragoman.dataset.prepare import Dataset

Pair = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
DROPOUT = "text.bpe_dropout=0.3"
AUGMENTED = tuple(
    f"training.augmentation.{kind}=0.2"
    for kind in ("upper_case", "title_case", "no_end_punctuation", "typos", "fuzzy_matches")
)


def pairs(batch: list[Batch], data: Dataset) -> Counter[Pair]:
    """The pairs that have a loss: source, and input and output of the decoder, without padding."""
    source_pad, target_pad = data.source.vocabulary.pad, data.target.vocabulary.pad
    found: Counter[Pair] = Counter()
    for group in batch:
        for source, target_input, output in zip(group.source, group.target_input, group.target_output, strict=True):
            length = int((output != target_pad).sum())
            if length:
                sides = source[source != source_pad], target_input[:length], output[:length]
                found[tuple(tuple(side.tolist()) for side in sides)] += 1  # type: ignore[index]
    return found


def streams(recipe: Any, data: Dataset, size: int) -> list[BatchStream]:
    return [BatchStream(recipe, data, Progress(), Ranks(rank, size)) for rank in range(size)]


@pytest.mark.parametrize("more", [(), (DROPOUT,), ("training.batch_sentences=3",), AUGMENTED, (DROPOUT, *AUGMENTED)])
@pytest.mark.parametrize(("groups", "size"), [(1, 2), (1, 3), (3, 2), (4, 2), (2, 4)])
def test_processes_share_the_sentences_of_a_batch(
    groups: int, size: int, more: tuple[str, ...], make_recipe: RecipeMaker, prepared: Dataset
) -> None:
    recipe = make_recipe(f"training.length_groups={groups}", "training.accumulation=2", *more)
    (alone,), together = streams(recipe, prepared, 1), streams(recipe, prepared, size)
    for _ in range(3):
        expected, shares = alone.next_step(), [stream.next_step() for stream in together]
        for index, batch in enumerate(expected):
            parts = [share[index] for share in shares]
            assert sum((pairs(part, prepared) for part in parts), Counter()) == pairs(batch, prepared)
            tokens = [sum(group.target_tokens for group in part) for part in (*parts, batch)]
            assert sum(tokens[:-1]) == tokens[-1]
            assert len({len(part) for part in parts}) == 1, "all processes compute the same number of groups"


def test_a_process_without_a_sentence_has_no_loss(make_trainer: TrainerMaker) -> None:
    settings = ("training.batch_sentences=1", "training.accumulation=4", "model.dropout=0")
    trainer = make_trainer(*settings)
    batches = BatchStream(trainer.recipe, trainer.data, Progress(), Ranks(1, 2)).next_step()
    for kernels in (True, False):
        trainer = make_trainer(*settings, f"training.kernels={str(kernels).lower()}")
        loss, nll = trainer.state.loss(batches[0])
        assert loss.item() == nll.item() == 0.0
        loss.backward()
        gradients = [parameter.grad for parameter in trainer.state.model.parameters()]
        assert all(gradient is not None and not gradient.any() for gradient in gradients)


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("groups", [1, 4])
def test_segments_of_bpe_dropout_stay_within_the_limit(
    groups: int, size: int, make_recipe: RecipeMaker, prepared: Dataset
) -> None:
    settings = ("training.batch_tokens=1024", f"training.length_groups={groups}")
    dropped, plain = (make_recipe(*settings, *more) for more in (("text.bpe_dropout=0.9",), ()))
    sentences, more_parts = 0, 0
    for stream in streams(dropped, prepared, size):
        at_once = stream.groups_at_once
        for _ in range(5):
            (batch,) = stream.next_step()
            assert len(batch) % at_once == 0
            more_parts += len(batch) > at_once
            for start in range(0, len(batch), at_once):
                part = batch[start : start + at_once]
                for side in ("source", "target_output"):
                    assert sum(getattr(group, side).numel() for group in part) <= LONGER * 1024 / size + 128 * (
                        size - 1
                    )
            sentences += sum(pairs(batch, prepared).values())
    (alone,) = streams(plain, prepared, 1)
    expected = chain.from_iterable(alone.next_step()[0] for _ in range(5))
    assert sentences == sum(len(group.source) for group in expected)
    assert more_parts


def test_bpe_dropout_segments_each_side_with_its_own_vocabulary(make_recipe: RecipeMaker) -> None:
    recipe = make_recipe("text.joint=false", "text.bpe_dropout=0.9", "model.tie='target'")
    data = prepare(recipe, None, None, no_log)
    (stream,) = streams(recipe, data, 1)
    known = {data.source.decode(data.train.source[index].tolist()) for index in range(len(data.train.source))}
    (batch,) = stream.next_step()
    for source, _, _ in pairs(batch, data):
        assert data.source.decode(source[:-1]) in known


def test_batches_contain_changed_pairs(make_recipe: RecipeMaker, prepared: Dataset) -> None:
    (plain,), (changed,) = (
        streams(make_recipe(*more), prepared, 1) for more in ((), ("training.augmentation.upper_case=1",))
    )
    for stream, expected in ((plain, False), (changed, True)):
        (batch,) = stream.next_step()
        texts = [prepared.source.decode(source[:-1]) for source, _, _ in pairs(batch, prepared)]
        assert all(text.isupper() == expected for text in texts)


def test_without_growth_batches_are_not_cut(make_recipe: RecipeMaker, prepared: Dataset) -> None:
    (stream,) = streams(make_recipe("training.length_groups=4", "text.bpe_dropout=1e-9"), prepared, 1)
    (plain,) = streams(make_recipe("training.length_groups=4"), prepared, 1)
    for _ in range(5):
        (batch,), (expected,) = stream.next_step(), plain.next_step()
        for group, other in zip(batch, expected, strict=True):
            for name in ("source", "target_input", "target_output"):
                assert torch.equal(getattr(group, name), getattr(other, name))


def test_the_plan_of_an_epoch_is_made_once(
    make_recipe: RecipeMaker, prepared: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With augmentation, it takes seconds for each million pairs."""
    planned: list[int] = []

    def plan(*arguments: Any) -> Plan:
        planned.append(arguments[4])
        return plan_epoch(*arguments)

    monkeypatch.setattr("dragoman.training.loop.batches.plan_epoch", plan)
    stream = BatchStream(make_recipe(*AUGMENTED), prepared, Progress())
    while stream.epoch < 2:
        stream.next_step()
    assert planned == [0, 1, 2]
