"""Checkpoints: resumed training is identical to uninterrupted training, and damage is reported."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from dragoman.dataset.batch import Batch
from dragoman.errors import UserError
from dragoman.recipe import load_recipe
from dragoman.system.files import sha256
from dragoman.system.progress import no_log
from dragoman.text.registry import tokenizers_digest
from dragoman.training.loop.distributed import SINGLE_PROCESS
from dragoman.training.loop.progress import Progress
from dragoman.training.loop.state import load_weights
from dragoman.training.loop.trainer import Trainer
from dragoman.training.run.checkpoint import (
    OtherVersionError,
    average_weights,
    checkpoint_path,
    checkpoint_steps,
    find_intact,
    load_checkpoint,
    prune,
    refuse_other_tokenizers,
    refuse_other_versions,
    save_checkpoint,
    snapshot,
)
from dragoman.training.run.directory import start_directory

if TYPE_CHECKING:
    from conftest import FileLimit, TrainerMaker

SETTINGS = ("training.steps=10", "training.validations=3", "model.dropout=0.3")


def state(trainer: Trainer) -> list[torch.Tensor]:
    """All tensors that a run learns: weights, moments of the optimizer, random numbers."""
    state, parameters = trainer.state, list(trainer.state.model.parameters())
    moments = [value for parameter in parameters for _, value in sorted(state.optimizer.state[parameter].items())]
    averages = [] if state.moving_average is None else list(state.moving_average.parameters())
    return [*(parameter.detach() for parameter in (*parameters, *averages)), *moments, torch.get_rng_state()]


def resumed(trainer: Trainer) -> Trainer:
    """A trainer like a new one, but at the last checkpoint of its run directory."""
    load_checkpoint(trainer.run, checkpoint_steps(trainer.run)[-1], trainer.state)
    return Trainer(trainer.recipe, trainer.run, trainer.data, trainer.state, trainer.log)


def save(trainer: Trainer, progress: Progress) -> None:
    save_checkpoint(trainer.run, progress, snapshot(trainer.state, SINGLE_PROCESS))


def untimed(progress: Progress) -> Progress:
    return replace(progress, seconds=0, validation_seconds=0)


def train_one_step(trainer: Trainer) -> bool:
    """Stop after the next step, and after the validation before it if one is due; returns whether that was the end."""
    take_step = trainer.take_step

    def take_step_and_stop(batches: Sequence[list[Batch]]) -> None:
        take_step(batches)
        trainer.stop.requested = True

    trainer.take_step = take_step_and_stop  # type: ignore[method-assign]
    return trainer.train()


@pytest.fixture
def saved(make_trainer: TrainerMaker) -> Trainer:
    """A trainer after one step, with its checkpoint."""
    trainer = make_trainer(*SETTINGS)
    assert not train_one_step(trainer)
    return trainer


@pytest.mark.parametrize(
    "options",
    [
        ("training.optimizer=adam", "training.ema_decay=0.9"),
        ("training.optimizer=adamw", "training.weight_decay=0.01", "text.bpe_dropout=0.3", "data.max_tokens=60"),
        ("training.optimizer=muon", "training.weight_decay=0.01", "training.precision=float32"),
        ("training.augmentation.upper_case=0.3", "training.augmentation.typos=0.3", "text.bpe_dropout=0.1"),
        ("training.augmentation.fuzzy_matches=0.8", "training.augmentation.typos=0.1", "text.bpe_dropout=0.1"),
        ("training.r_drop=2", "training.scheduled_sampling=two_pass", "training.teacher_forcing_decay=0.5"),
    ],
    ids=lambda options: options[0],
)
def test_ten_steps_are_ten_times_one_step_and_resume(options: tuple[str, ...], make_trainer: TrainerMaker) -> None:
    settings = (*SETTINGS, *options)
    whole = make_trainer(*settings)
    assert whole.train()
    expected = [tensor.clone() for tensor in state(whole)]

    run = make_trainer(*settings).run
    for step in range(10):
        torch.manual_seed(999)  # the checkpoint restores the random state
        trainer = make_trainer(*settings, run=run)
        if step:
            trainer = resumed(trainer)
        assert not train_one_step(trainer), "the last validation is due"
        assert trainer.state.progress.step == step + 1
    trainer = resumed(make_trainer(*settings, run=run))
    assert trainer.train()
    assert len(state(trainer)) == len(expected)
    assert all(torch.equal(one, other) for one, other in zip(state(trainer), expected, strict=True))
    assert untimed(trainer.state.progress) == untimed(whole.state.progress)


def test_loading_brings_progress_and_random_numbers_back(saved: Trainer, make_trainer: TrainerMaker) -> None:
    expected = torch.rand(4)
    other = make_trainer(*SETTINGS)
    torch.manual_seed(4)
    load_checkpoint(saved.run, 1, other.state)
    assert other.state.progress == saved.state.progress
    assert torch.equal(torch.rand(4), expected)


def test_checkpoints_hold_safetensors_json_and_copies_only(saved: Trainer) -> None:
    files = sorted(path.name for path in checkpoint_path(saved.run, 1).iterdir())
    assert files == ["metrics.jsonl", "model.safetensors", "optimizer.safetensors", "state.json"]
    state = json.loads((checkpoint_path(saved.run, 1) / "state.json").read_text())
    for name in files[:3]:
        assert state["files"][name] == sha256(checkpoint_path(saved.run, 1) / name)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def write_state(path: Path, **changes: object) -> None:
    """Change a state.json and its checksum, as another version of dragoman would write it."""
    about = json.loads(path.read_text()) | changes
    del about["sha256"]
    path.write_text(
        json.dumps(about | {"sha256": hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()})
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"version": 2}, "format 2"),
        ({"version": 0}, "format 0"),
        ({"learned": "more"}, "unknown keys"),
        ({"files": []}, "unknown keys"),
    ],
)
def test_another_version_is_refused_by_name_and_not_skipped(
    changes: dict[str, object], reason: str, saved: Trainer
) -> None:
    save(saved, replace(saved.state.progress, step=2))
    path = checkpoint_path(saved.run, 2) / "state.json"
    write_state(path, **changes)
    uses: list[Callable[[], object]] = [
        lambda: find_intact(saved.run, lambda text: None).newest,
        lambda: load_checkpoint(saved.run, 2, saved.state),
        lambda: refuse_other_versions(saved.run),
    ]
    for use in uses:
        with pytest.raises(OtherVersionError, match=rf"saved by another version of dragoman \({reason}\)") as error:
            use()
        assert str(path) in str(error.value)
    flip(checkpoint_path(saved.run, 1) / "model.safetensors")
    (checkpoint_path(saved.run, 1) / "state.json").write_text("damaged")
    with pytest.raises(OtherVersionError):
        refuse_other_versions(saved.run)
    shutil.rmtree(path.parent)
    refuse_other_versions(saved.run)


def test_checkpoints_of_other_tokenizers_are_refused(saved: Trainer) -> None:
    own = tokenizers_digest(saved.data.source, saved.data.target)
    refuse_other_tokenizers(saved.run, own)
    other = sha256(checkpoint_path(saved.run, 1) / "model.safetensors")  # any digest
    save(saved, replace(saved.state.progress, step=2, tokenizers=None))  # of an earlier version
    save(saved, replace(saved.state.progress, step=3, tokenizers=other))
    (checkpoint_path(saved.run, 1) / "state.json").write_text("damaged")
    with pytest.raises(UserError, match="the tokenizers are not those of the checkpoints"):
        refuse_other_tokenizers(saved.run, own)
    refuse_other_tokenizers(saved.run, other)


def test_checkpoints_without_a_version_are_those_of_the_first(saved: Trainer) -> None:
    path = checkpoint_path(saved.run, 1) / "state.json"
    about = json.loads(path.read_text())
    assert about.pop("version") == 1
    path.write_text(json.dumps(about))
    write_state(path)
    assert find_intact(saved.run, lambda text: None).newest == 1


DAMAGE: dict[str, Callable[[Path], object]] = {
    "flipped": flip,
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "emptied": lambda path: path.write_bytes(b""),
    "missing": lambda path: path.unlink(),
    "nested": lambda path: path.write_bytes(b'{"a":' + 100_000 * b"["),
}


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "state.json"])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_reported_with_the_file(name: str, damage: Callable[[Path], object], saved: Trainer) -> None:
    path = checkpoint_path(saved.run, 1) / name
    if name == "state.json" and damage is flip:
        path.write_text(path.read_text().replace("{", "(", 1))
    else:
        damage(path)
    with pytest.raises(UserError) as error:
        load_checkpoint(saved.run, 1, saved.state)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "state.json"])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_the_newest_intact_checkpoint_is_used_and_damaged_ones_are_named(
    name: str, damage: Callable[[Path], object], saved: Trainer
) -> None:
    complaints: list[str] = []
    for step in (2, 3):
        save(saved, replace(saved.state.progress, step=step))
    assert find_intact(saved.run, complaints.append).newest == 3
    assert not complaints
    damage(checkpoint_path(saved.run, 3) / name)
    assert find_intact(saved.run, complaints.append).newest == 2
    assert [str(checkpoint_path(saved.run, 3) / name) in text for text in complaints] == [True]


def test_every_digit_of_the_state_is_guarded(saved: Trainer) -> None:
    path = checkpoint_path(saved.run, 1) / "state.json"
    whole = path.read_text()
    for position in (position for position, character in enumerate(whole) if character.isdigit()):
        changed = str((int(whole[position]) + 1) % 10)
        path.write_text(whole[:position] + changed + whole[position + 1 :])
        if json.loads(path.read_text()) != json.loads(whole):  # a float's last digit may not matter
            assert find_intact(saved.run, lambda text: None).newest is None
    path.write_text(whole)
    assert find_intact(saved.run, lambda text: None).newest == 1


def test_the_best_intact_validation_replaces_a_damaged_one(saved: Trainer) -> None:
    progress = replace(saved.state.progress, validated=[], scores=[])
    for step, score in ((3, 5.0), (5, 9.0), (7, 7.0), (9, 6.0)):
        progress.step = step
        progress.record_validation(score, 1.0, saved.settings)
        save(saved, progress)
    for step, name in ((5, "model"), (7, "optimizer")):
        flip(checkpoint_path(saved.run, step) / f"{name}.safetensors")
    complaints: list[str] = []
    intact = find_intact(saved.run, complaints.append)
    assert intact.newest == 9
    assert intact.usable == {1, 3, 7, 9}, "weights are used without the state of the optimizer"
    assert [f"step-0000000{step}" in text for step, text in zip((5, 7), complaints, strict=True)] == [True, True]
    load_checkpoint(saved.run, 9, saved.state)
    loaded = saved.state.progress
    loaded.keep_only(intact.usable)
    assert (loaded.best_step, loaded.best, loaded.averaged(2)) == (7, 7.0, [7, 9])
    loaded.keep_only({1})
    assert (loaded.best_step, loaded.best, loaded.scores) == (0, None, [])


def test_damaged_weights_are_not_averaged(saved: Trainer) -> None:
    for step in (2, 3):
        save(saved, replace(saved.state.progress, step=step))
    flip(checkpoint_path(saved.run, 2) / "model.safetensors")
    complaints: list[str] = []
    mean = average_weights(saved.run, [1, 2, 3], complaints.append)
    expected = average_weights(saved.run, [1, 3], no_log)
    assert all(torch.equal(weight, expected[name]) for name, weight in mean.items())
    assert len(complaints) == 1
    with pytest.raises(UserError, match=r"step-00000002.*damaged"):
        average_weights(saved.run, [1, 2], no_log)


def test_lost_validations_are_not_replaced_by_earlier_ones_in_the_average() -> None:
    progress = Progress(validated=[2, 4, 6, 8], scores=[[2, 1.0, 1.0], [8, 1.0, 1.0]])
    assert progress.averaged(2) == [8]
    assert progress.averaged(4) == [2, 8]


def test_checkpoints_of_earlier_versions_have_only_the_best_score(saved: Trainer) -> None:
    path = checkpoint_path(saved.run, 1) / "state.json"
    about = json.loads(path.read_text())
    del about["scores"]
    path.write_text(json.dumps(about))
    write_state(path, validated=[2, 3, 4], best=7.0, best_loss=2.0, best_step=3)
    load_checkpoint(saved.run, 1, saved.state)
    progress = saved.state.progress
    assert progress.averaged(2) == [3, 4]
    progress.keep_only({2, 3, 4})
    assert (progress.best_step, progress.best) == (3, 7.0)
    progress.keep_only({2, 4})
    assert progress.best_step == 4


def test_a_replacement_that_was_killed_is_undone(saved: Trainer) -> None:
    """Killed between the two renames that replace a checkpoint, and resumed."""
    path = checkpoint_path(saved.run, 1)
    path.rename(path.with_name(f".{path.name}.old-999999999"))
    path.with_name(f".{path.name}.tmp-1").mkdir()
    start_directory(saved.recipe, saved.run, saved.data)
    assert find_intact(saved.run, lambda text: None).newest == 1
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_settings_that_change_when_a_run_is_resumed_are_saved(saved: Trainer) -> None:
    decoding = saved.recipe.decoding.model_copy(update={"beam_size": 7})
    start_directory(saved.recipe.model_copy(update={"decoding": decoding}), saved.run, saved.data)
    assert load_recipe(saved.run / "recipe.toml").decoding == decoding


def test_average_is_the_mean_of_the_weights(saved: Trainer) -> None:
    progress = Progress(step=2)
    load_weights(saved.state.model, {name: 3 * value for name, value in saved.state.model.named_parameters()})
    save(saved, progress)
    first, mean = (average_weights(saved.run, steps, no_log) for steps in ([1], [1, 2]))
    assert first.keys() == mean.keys() == dict(saved.state.model.named_parameters()).keys()
    for name, weight in mean.items():
        torch.testing.assert_close(weight, 2 * first[name])


def test_prune_keeps_the_given_steps_and_other_directories(saved: Trainer) -> None:
    for step in (2, 3, 123_456_789):
        save(saved, Progress(step=step))
    (saved.run / "checkpoints" / ".step-00000009.tmp-1").mkdir()
    (saved.run / "checkpoints" / "step-mine").mkdir()
    assert checkpoint_steps(saved.run) == [1, 2, 3, 123_456_789]
    prune(saved.run, {2, 7})
    assert checkpoint_steps(saved.run) == [2, 123_456_789], "later steps are written again"
    prune(saved.run, {123_456_789})
    assert checkpoint_steps(saved.run) == [123_456_789]
    assert (saved.run / "checkpoints" / "step-mine").exists()


def test_full_disk_leaves_older_checkpoints_and_nothing_else(
    saved: Trainer, files_limited_to: FileLimit, digests: Callable[[Path], dict[str, str]]
) -> None:
    before = digests(saved.run)
    with (
        files_limited_to(100_000),
        pytest.raises(UserError, match=r"step-00000002: could not be saved: .*File too large"),
    ):
        save(saved, Progress(step=2))
    assert digests(saved.run) == before
