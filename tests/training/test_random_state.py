"""Random generators: those of the device in use are saved, and others are left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from tiny_models import tiny_model

from dragoman.training.loop.distributed import SINGLE_PROCESS
from dragoman.training.loop.state import random_state, set_random_state
from dragoman.training.run.checkpoint import load_checkpoint, save_checkpoint, snapshot

if TYPE_CHECKING:
    from conftest import TrainerMaker


@pytest.fixture
def generators(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """The states of the generators of three imitated GPUs."""
    states = [torch.tensor([index], dtype=torch.uint8) for index in range(3)]

    def write(state: torch.Tensor, device: torch.device) -> None:
        assert device.index is not None
        states[device.index] = state.clone()

    def read(device: torch.device) -> torch.Tensor:
        return states[device.index or 0].clone()

    monkeypatch.setattr(torch.cuda, "get_rng_state", read)
    monkeypatch.setattr(torch.cuda, "set_rng_state", write)
    return states


def test_the_state_is_that_of_the_device_in_use(generators: list[torch.Tensor]) -> None:
    device = torch.device("cuda:1")
    state = random_state(device)
    generators[:] = [torch.tensor([9], dtype=torch.uint8)] * 3
    set_random_state(state, device)
    assert [int(each) for each in generators] == [9, 1, 9]


def test_checkpoints_contain_the_generator_of_the_device_in_use(
    generators: list[torch.Tensor], make_trainer: TrainerMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer()
    monkeypatch.setattr(type(trainer.state), "device", torch.device("cuda:1"))
    save_checkpoint(trainer.run, trainer.state.progress, snapshot(trainer.state, SINGLE_PROCESS))
    generators[:] = [torch.tensor([9], dtype=torch.uint8)] * 3
    load_checkpoint(trainer.run, 0, trainer.state)
    assert [int(each) for each in generators] == [9, 1, 9]


def test_building_a_model_leaves_the_generators_of_gpus_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs build models after seeding them, and between steps."""
    seeded: list[int] = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    monkeypatch.setattr(torch.cuda, "manual_seed", seeded.append)
    before = torch.get_rng_state()
    tiny_model()
    assert seeded == []
    assert torch.equal(torch.get_rng_state(), before)
