"""Reports how many numbers each process stores of a sharded model, and how many it has after gathering them.

Each process writes rank-N.json to a directory.
"""

from __future__ import annotations

import gc
import json
from pathlib import Path

import torch

from dragoman.dataset.prepare import prepare
from dragoman.recipe import load_recipe
from dragoman.training.loop.distributed import Ranks, join_ranks, local_tensor
from dragoman.training.loop.state import build_state, unsharded_model
from dragoman.training.run.checkpoint import OPTIMIZER, WEIGHTS, snapshot


def report(recipe_file: Path, ranks: Ranks) -> dict[str, int]:
    """Numbers in tensors, by what they are."""
    recipe = load_recipe(recipe_file)
    data = prepare(recipe, None, None, lambda text: None)
    state = build_state(recipe, data, torch.device("cpu"), ranks)
    for parameter in state.model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    state.optimizer.step()
    files = snapshot(state, ranks)
    deployed = unsharded_model(state, recipe, data, ranks)
    moments = [value for name, value in files[OPTIMIZER].items() if name.endswith(("|exp_avg", "|exp_avg_sq"))]
    return {
        "parameters": sum(parameter.numel() for parameter in state.model.parameters()),
        "stored": sum(local_tensor(parameter).numel() for parameter in state.model.parameters()),
        "saved": sum(value.numel() for value in files[WEIGHTS].values()),
        "moments": sum(value.numel() for value in moments),
        "deployed": sum(parameter.numel() for parameter in deployed.parameters()) if deployed else 0,
    }


def main(recipe_file: Path, directory: Path) -> None:
    with join_ranks() as ranks:
        found = report(recipe_file, ranks)
        gc.collect()
        (directory / f"rank-{ranks.rank}.json").write_text(json.dumps(found))
