"""The states of torch's random generators that training on a device uses."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def random_state(device: torch.device) -> dict[str, Tensor]:
    """The states of the CPU's generator and, on a GPU, of that GPU's generator, by type of device."""
    states = {"cpu": torch.get_rng_state()}
    return states | {"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else states


def set_random_state(states: Mapping[str, Tensor], device: torch.device) -> None:
    """Set the generators to states from `random_state`; generators without a state do not change."""
    if "cpu" in states:
        torch.set_rng_state(states["cpu"])
    if "cuda" in states and device.type == "cuda":
        torch.cuda.set_rng_state(states["cuda"], device)
