"""Checkpoints: everything needed to continue training as if it had not been interrupted."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from dragoman import __version__
from dragoman.errors import UserError
from dragoman.system.files import atomic_directory, read_json, sha256
from dragoman.system.tensors import write_tensors
from dragoman.text.registry import SOURCE_FILE, TARGET_FILE
from dragoman.training.distributed import Ranks, collect, distribute_like
from dragoman.training.progress import Progress
from dragoman.training.random_state import random_state, set_random_state
from dragoman.training.state import TrainingState, load_weights, weights_of

WEIGHTS, OPTIMIZER, STATE = "model.safetensors", "optimizer.safetensors", "state.json"
MOVING_AVERAGE = "moving-average.safetensors"
"""The moving average of the weights, in runs with `training.ema_decay`."""

VERSION = 1
"""The version of the format, in state.json; a checkpoint without one has version 1.

Later versions must keep the checksum of state.json, which distinguishes another version from damage.
"""


class OtherVersionError(UserError):
    """A checkpoint is intact but has a format that this version of dragoman cannot read."""


def checkpoint_path(run: Path, step: int) -> Path:
    """The directory of a step's checkpoint."""
    return run / "checkpoints" / f"step-{step:08d}"


def checkpoint_steps(run: Path) -> list[int]:
    """Steps that have a checkpoint, in order."""
    found = (re.fullmatch(r"step-(\d{8,})", path.name) for path in (run / "checkpoints").glob("step-*"))
    return sorted(int(match[1]) for match in found if match)


def snapshot(state: TrainingState, ranks: Ranks) -> dict[str, dict[str, Tensor]]:
    """All tensors of a checkpoint by file and name, in the first process; every process must call this."""
    names = _parameter_names(state.model, state.optimizer)
    moments = (
        (f"{names[index]}|{key}", value)
        for index, entry in state.optimizer.state_dict()["state"].items()
        for key, value in entry.items()
    )
    files = {
        WEIGHTS: weights_of(state.model, ranks),
        OPTIMIZER: collect(moments, ranks) | _random_states(state.device, ranks),
    }
    if state.moving_average is not None:
        files[MOVING_AVERAGE] = weights_of(state.moving_average, ranks)
    return files


def save_checkpoint(run: Path, progress: Progress, files: dict[str, dict[str, Tensor]]) -> None:
    """Write a checkpoint completely or not at all; `files` comes from `snapshot`.

    Raises:
        UserError: The checkpoint cannot be written; older ones are unchanged.
    """
    with atomic_directory(checkpoint_path(run, progress.step)) as directory:
        for name, tensors in files.items():
            write_tensors(directory / name, tensors)
        about = asdict(progress) | {"version": VERSION, "files": {name: sha256(directory / name) for name in files}}
        about["sha256"] = _digest(about)
        (directory / STATE).write_text(json.dumps(about, indent=2), encoding="utf-8")


def newest_intact(run: Path, average: int, report: Callable[[str], None]) -> int | None:
    """The step to resume from: the newest intact checkpoint for which all earlier ones that it needs are intact too.

    Args:
        run: The run's directory.
        average: Number of validations whose weights are averaged at the end of the run.
        report: Called with a message for each checkpoint that is skipped.

    Raises:
        OtherVersionError: A checkpoint has another version, so it must not be skipped and overwritten.
    """
    intact: dict[int, Progress] = {}
    for step in checkpoint_steps(run):
        try:
            intact[step] = _read_progress(checkpoint_path(run, step))
        except OtherVersionError:
            raise
        except UserError as error:
            report(f"{error}; skipped")
    for step in sorted(intact, reverse=True):
        missing = intact[step].needed(average) - intact.keys()
        if not missing:
            return step
        names = ", ".join(f"{each:,}" for each in sorted(missing))
        report(f"{checkpoint_path(run, step)}: needs the checkpoint of step {names}, which is missing; skipped")
    return None


def load_checkpoint(run: Path, step: int, state: TrainingState, rank: int = 0) -> None:
    """Restore a training state and this process's random generators from a checkpoint.

    If the checkpoint was saved with fewer processes, the generators of the additional ones are not changed.

    Raises:
        UserError: The checkpoint is damaged or does not fit.
    """
    directory = checkpoint_path(run, step)
    progress = _read_progress(directory)
    weights, optimizer = (_load(directory / name) for name in (WEIGHTS, OPTIMIZER))
    load_weights(state.model, weights)
    if state.moving_average is not None:
        load_weights(state.moving_average, _load(directory / MOVING_AVERAGE))
    generators = {name: value for name, value in optimizer.items() if name.startswith("rng|")}
    _load_moments(state, {name: value for name, value in optimizer.items() if name not in generators})
    suffix = f"|{rank}"
    of_rank = {name.split("|")[1]: value for name, value in generators.items() if name.endswith(suffix)}
    set_random_state(of_rank, state.device)
    if progress.scaler:
        state.scaler.load_state_dict(progress.scaler)
    state.progress = progress


def deployed_weights(run: Path, step: int) -> dict[str, Tensor]:
    """The weights of a checkpoint by name; in runs with a moving average of the weights, the moving average.

    Raises:
        UserError: The checkpoint is damaged.
    """
    directory = checkpoint_path(run, step)
    _read_progress(directory)
    moving_average = directory / MOVING_AVERAGE
    return _load(moving_average if moving_average.exists() else directory / WEIGHTS)


def prune(run: Path, keep: set[int]) -> None:
    """Delete the checkpoints of all other steps."""
    for step in checkpoint_steps(run):
        if step not in keep:
            shutil.rmtree(checkpoint_path(run, step), ignore_errors=True)


def _load_moments(state: TrainingState, tensors: dict[str, Tensor]) -> None:
    parameters = dict(state.model.named_parameters())
    indices = {name: index for index, name in enumerate(_parameter_names(state.model, state.optimizer))}
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        parameter, key = name.split("|")
        moments.setdefault(indices[parameter], {})[key] = distribute_like(value, parameters[parameter])
    state.optimizer.load_state_dict({**state.optimizer.state_dict(), "state": moments})


def _random_states(device: torch.device, ranks: Ranks) -> dict[str, Tensor]:
    """The random states of all processes, by type of device and rank."""
    return {
        f"rng|{kind}|{rank}": of_rank
        for kind, state in random_state(device).items()
        for rank, of_rank in enumerate(ranks.gather(state))
    }


def _parameter_names(model: nn.Module, optimizer: torch.optim.Optimizer) -> list[str]:
    """Names of the parameters in the order in which the optimizer numbers them."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return [names[id(parameter)] for group in optimizer.param_groups for parameter in group["params"]]


def _read_progress(directory: Path) -> Progress:
    """The progress stored in a checkpoint, after checking that the checkpoint is intact.

    Raises:
        UserError: A file is missing or damaged.
        OtherVersionError: The checkpoint has another version.
    """
    about = _read_state(directory)
    for name, expected in about.pop("files").items():
        path = directory / name
        if not path.is_file():
            raise UserError(f"{path}: missing")
        if sha256(path) != expected:
            raise UserError(f"{path}: damaged (its SHA-256 differs from the one in {STATE})")
    return Progress(**about)


def _read_state(directory: Path) -> dict[str, Any]:
    """The content of state.json, without checksum and version."""
    about = read_json(directory / STATE)
    if about.pop("sha256", None) != _digest(about):
        raise UserError(f"{directory / STATE}: damaged (its SHA-256 differs from the one stored in it)")
    version, known = about.pop("version", VERSION), {"files", *(field.name for field in fields(Progress))}
    if version != VERSION or not about.keys() <= known or not isinstance(about.get("files"), dict):
        reason = f"format {version}" if version != VERSION else "unknown keys"
        raise OtherVersionError(
            f"{directory / STATE}: this checkpoint was saved by another version of dragoman ({reason}), which "
            f"{__version__} cannot read; continue with that version, or choose another --output"
        )
    return about


def refuse_other_versions(run: Path) -> None:
    """Check, before anything is written to a run's directory, that its checkpoints have the version of this program.

    Raises:
        OtherVersionError: A checkpoint has another version.
    """
    for step in checkpoint_steps(run):
        try:
            _read_state(checkpoint_path(run, step))
        except OtherVersionError:
            raise
        except UserError:  # damaged; `newest_intact` reports it
            continue


def refuse_other_tokenizers(run: Path, digest: str) -> None:
    """Check that a run's checkpoints were made with the tokenizers that have this `tokenizers_digest`.

    Raises:
        UserError: A checkpoint was made with others; its embeddings would belong to other tokens.
    """
    for step in checkpoint_steps(run):
        try:
            made_with = _read_state(checkpoint_path(run, step)).get("tokenizers")
        except UserError:  # damaged; `newest_intact` reports it
            continue
        if made_with not in (None, digest):
            raise UserError(
                f"{run}: the tokenizers are not those of the checkpoints: {SOURCE_FILE} or {TARGET_FILE} was changed, "
                "or was deleted and cannot be made again from today's training text; restore the file"
            )


def _digest(about: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _load(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: damaged: {error}") from error
