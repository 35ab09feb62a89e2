"""Checkpoints: all that is needed to go on training as if it had never stopped."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from dragoman.bundle import write_tensors
from dragoman.errors import UserError
from dragoman.system.files import atomic_directory, read_json, sha256
from dragoman.training.distributed import Ranks, like, whole

WEIGHTS, OPTIMIZER, STATE = "model.safetensors", "optimizer.safetensors", "state.json"
MOVING_AVERAGE = "moving-average.safetensors"  # of the weights, in runs that have one


@dataclass
class Progress:
    """Where a run stands."""

    step: int = 0  # optimizer steps done
    epoch: int = 0  # the current pass over the data
    group: int = 0  # groups of it done
    seconds: float = 0.0  # of training and validating
    validations: int = 0  # done
    validated: list[int] = field(default_factory=list)  # their steps
    best: float | None = None  # best validation score; higher is better
    best_step: int = 0
    stale: int = 0  # validations since
    stopped_early: bool = False
    batches: int = 0  # since the last validation, of scheduled sampling
    forced: int = 0  # of these, teacher-forced
    scaler: dict[str, Any] = field(default_factory=dict)  # state of the loss scaling of float16

    def averaged(self, average: int) -> list[int]:
        """Steps of the last validations, as many as there are to average."""
        return self.validated[-average:]

    def needed(self, average: int) -> set[int]:
        """Steps whose checkpoints the end of the run needs, if it were now."""
        return {*self.averaged(average), self.best_step} - {0}


def checkpoint_path(run: Path, step: int) -> Path:
    """Where the checkpoint of a step lies."""
    return run / "checkpoints" / f"step-{step:08d}"


def checkpoint_steps(run: Path) -> list[int]:
    """Steps that have a checkpoint, in order."""
    found = (re.fullmatch(r"step-(\d{8,})", path.name) for path in (run / "checkpoints").glob("step-*"))
    return sorted(int(match[1]) for match in found if match)


def snapshot(
    model: nn.Module, optimizer: torch.optim.Optimizer, ranks: Ranks, moving_average: nn.Module | None = None
) -> dict[str, dict[str, Tensor]]:
    """All tensors of a checkpoint by file and name. Every rank must call this, and gets the whole of them."""
    names = _names(model, optimizer)
    moments = optimizer.state_dict()["state"]
    state = {
        f"{names[index]}|{key}": whole(value).contiguous()
        for index, entry in moments.items()
        for key, value in entry.items()
    }
    files = {WEIGHTS: weights_of(model), OPTIMIZER: state | _generator_states(ranks)}
    return files if moving_average is None else files | {MOVING_AVERAGE: weights_of(moving_average)}


def save_checkpoint(run: Path, progress: Progress, files: dict[str, dict[str, Tensor]]) -> None:
    """Write a checkpoint as a whole; `files` are those of `snapshot`.

    Raises:
        UserError: It cannot be written; older ones are untouched.
    """
    with atomic_directory(checkpoint_path(run, progress.step)) as directory:
        for name, tensors in files.items():
            write_tensors(directory / name, tensors)
        about = asdict(progress) | {"files": {name: sha256(directory / name) for name in files}}
        about["sha256"] = _digest(about)
        (directory / STATE).write_text(json.dumps(about, indent=2), encoding="utf-8")


def newest_intact(run: Path, average: int, complain: Callable[[str], None]) -> int | None:
    """The step to resume from: the newest whose checkpoint is intact, as are those it needs for the end of the run.

    Args:
        run: The run's directory.
        average: How many validations' weights are averaged at the end.
        complain: Told of each damaged checkpoint.
    """
    intact: dict[int, Progress] = {}
    for step in checkpoint_steps(run):
        try:
            intact[step] = _read_state(checkpoint_path(run, step))
        except UserError as error:
            complain(f"{error}; skipped")
    return max((step for step in intact if intact[step].needed(average) <= intact.keys()), default=None)


def load_checkpoint(
    run: Path,
    step: int,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    moving_average: nn.Module | None = None,
    rank: int = 0,
) -> Progress:
    """Put model, optimizer, moving average and this rank's random generators back to where they were.

    The generators of a rank that there was not before stay as they are.

    Raises:
        UserError: The checkpoint is damaged or does not fit.
    """
    directory = checkpoint_path(run, step)
    progress = _read_state(directory)
    weights, state = (_load(directory / name) for name in (WEIGHTS, OPTIMIZER))
    load_weights(model, weights)
    if moving_average is not None:
        load_weights(moving_average, _load(directory / MOVING_AVERAGE))
    _set_generators({name: state.pop(name) for name in list(state) if name.startswith("rng|")}, rank)
    parameters = dict(model.named_parameters())
    indices = {name: index for index, name in enumerate(_names(model, optimizer))}
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in state.items():
        parameter, key = name.split("|")
        moments.setdefault(indices[parameter], {})[key] = like(value, parameters[parameter])
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
    return progress


def _generator_states(ranks: Ranks) -> dict[str, Tensor]:
    """The states of all ranks' random generators, by device and rank."""
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state()
    return {
        f"rng|{kind}|{rank}": of_rank
        for kind, state in states.items()
        for rank, of_rank in enumerate(ranks.gather(state))
    }


def _set_generators(states: dict[str, Tensor], rank: int) -> None:
    if (cpu := states.get(f"rng|cpu|{rank}")) is not None:
        torch.set_rng_state(cpu)
    if (cuda := states.get(f"rng|cuda|{rank}")) is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(cuda)


def deployable_weights(run: Path, step: int) -> dict[str, Tensor]:
    """The weights of a checkpoint by name; in runs with a moving average of the weights, that.

    Raises:
        UserError: The checkpoint is damaged.
    """
    directory = checkpoint_path(run, step)
    _read_state(directory)
    moving_average = directory / MOVING_AVERAGE
    return _load(moving_average if moving_average.exists() else directory / WEIGHTS)


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """The weights by name, put together from all ranks if they are sharded; then every rank must call this."""
    return {name: whole(value.detach()) for name, value in model.named_parameters()}


def load_weights(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Copy weights, by name, into a model of the same shape."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(like(weights[name], parameter))


def prune(run: Path, keep: set[int]) -> None:
    """Delete the checkpoints of all other steps."""
    for step in checkpoint_steps(run):
        if step not in keep:
            shutil.rmtree(checkpoint_path(run, step), ignore_errors=True)


def _names(model: nn.Module, optimizer: torch.optim.Optimizer) -> list[str]:
    """Names of the parameters in the order in which the optimizer numbers them."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return [names[id(parameter)] for group in optimizer.param_groups for parameter in group["params"]]


def _read_state(directory: Path) -> Progress:
    """Where the run stood at an intact checkpoint.

    Raises:
        UserError: A file of it is missing or not what was written.
    """
    about = read_json(directory / STATE)
    if about.pop("sha256", None) != _digest(about):
        raise UserError(f"{directory / STATE}: damaged (its SHA-256 is not the one in it)")
    for name, expected in about.pop("files").items():
        path = directory / name
        if not path.is_file():
            raise UserError(f"{path}: missing")
        if sha256(path) != expected:
            raise UserError(f"{path}: damaged (its SHA-256 is not the one in {STATE})")
    return Progress(**about)


def _digest(about: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _load(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: damaged: {error}") from error
