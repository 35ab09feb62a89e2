"""Checkpoints: everything needed to continue training as if it had not been interrupted.

Besides tensors and progress, a checkpoint has copies of the small files of its run, so that they can be restored.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from dragoman.errors import UserError
from dragoman.system.files import atomic_directory, read_json, sha256
from dragoman.system.tensors import write_tensors
from dragoman.system.version import __version__
from dragoman.text.registry import SOURCE_FILE, TARGET_FILE
from dragoman.training.distributed import Ranks, collect, distribute_like
from dragoman.training.progress import Progress, scores_of_earlier_version
from dragoman.training.random_state import random_state, set_random_state
from dragoman.training.state import TrainingState, load_weights, weights_of

WEIGHTS, OPTIMIZER, STATE = "model.safetensors", "optimizer.safetensors", "state.json"
MOVING_AVERAGE = "moving-average.safetensors"
"""The moving average of the weights, in runs with `training.ema_decay`."""
AVERAGE = "average.safetensors"
"""The weights that a validation has scored, in runs with `training.average` above 1."""

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


def save_checkpoint(
    run: Path,
    progress: Progress,
    files: Mapping[str, dict[str, Tensor]],
    copies: Mapping[str, bytes] | None = None,
    *,
    keep_tensors: bool = False,
) -> None:
    """Write a checkpoint completely or not at all.

    Args:
        run: The run's directory.
        progress: The progress at the step.
        files: Tensors by file and name, see `snapshot`.
        copies: Files of the run by name, see `read_copy`.
        keep_tensors: Whether to take those tensors from the checkpoint of the same step that are not in `files`.

    Raises:
        UserError: The checkpoint cannot be written; older ones are unchanged.
    """
    path = checkpoint_path(run, progress.step)
    old = _read_state(path)["files"] if keep_tensors else {}
    kept = {name: digest for name, digest in old.items() if _has_tensors(name) and name not in files}
    with atomic_directory(path) as directory:
        for name in kept:
            _link(path / name, directory / name)
        for name, tensors in files.items():
            write_tensors(directory / name, tensors)
        for name, content in (copies or {}).items():
            (directory / name).write_bytes(content)
        digests = kept | {name: sha256(directory / name) for name in (*files, *(copies or {}))}
        about = asdict(progress) | {"version": VERSION, "files": digests}
        about["sha256"] = _digest(about)
        (directory / STATE).write_text(json.dumps(about, indent=2), encoding="utf-8")


def _link(old: Path, new: Path) -> None:
    """Give a file a second name, or copy it where the file system cannot do that."""
    try:
        os.link(old, new)
    except OSError:
        shutil.copyfile(old, new)


class Intact(NamedTuple):
    """What can be used of the checkpoints of a run.

    Attributes:
        newest: The newest step from which training can continue.
        usable: The steps whose weights can be deployed, even if the state of the optimizer is damaged.
    """

    newest: int | None
    usable: set[int]


def find_intact(run: Path, report: Callable[[str], None]) -> Intact:
    """Check all checkpoints of a run.

    Args:
        run: The run's directory.
        report: Called with a message for each damaged file.

    Raises:
        OtherVersionError: A checkpoint has another version, so it must not be skipped and overwritten.
    """
    newest, usable = None, set[int]()
    for step in checkpoint_steps(run):
        directory = checkpoint_path(run, step)
        try:
            digests = _read_state(directory)["files"]
        except OtherVersionError:
            raise
        except UserError as error:
            report(f"{error}; skipped")
            continue
        damaged = {name: problem for name, digest in digests.items() if (problem := _problem(directory / name, digest))}
        for name, problem in damaged.items():
            report(f"{problem}; {'skipped' if _has_tensors(name) else 'the rest of this checkpoint is used'}")
        if not any(map(_has_tensors, damaged)):
            newest = step
        if _deployed(digests) not in damaged:
            usable.add(step)
    return Intact(newest, usable)


def read_copy(run: Path, name: str, step: int | None = None) -> tuple[int, bytes] | None:
    """The newest intact copy of a file of a run, and the step of its checkpoint.

    Args:
        run: The run's directory.
        name: The name of the file.
        step: Newer checkpoints are left out.
    """
    for each in reversed(checkpoint_steps(run)):
        directory = checkpoint_path(run, each)
        try:
            digest = _read_state(directory)["files"].get(name)
        except UserError:  # damaged, as `find_intact` reports, or of another version
            continue
        if (step is None or each <= step) and digest and not _problem(directory / name, digest):
            return each, (directory / name).read_bytes()
    return None


def load_checkpoint(run: Path, step: int, state: TrainingState, rank: int = 0) -> None:
    """Restore a training state and this process's random generators from a checkpoint.

    If the checkpoint was saved with fewer processes, the generators of the additional ones are not changed.

    Raises:
        UserError: The checkpoint is damaged or does not fit.
    """
    directory = checkpoint_path(run, step)
    progress = read_progress(run, step)
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
    """The weights of a checkpoint by name that a validation scores.

    These are the average of the last checkpoints in runs with `training.average`, once they are validated; or else the
    moving average if there is one.

    Raises:
        UserError: They are damaged.
    """
    return _load_checked(run, step, _deployed)


def averaged_weights(run: Path, step: int) -> dict[str, Tensor]:
    """The weights of a checkpoint by name, of which `training.average` takes the mean.

    These are the moving average if there is one.

    Raises:
        UserError: They are damaged.
    """
    return _load_checked(run, step, lambda names: MOVING_AVERAGE if MOVING_AVERAGE in names else WEIGHTS)


def _load_checked(run: Path, step: int, choose: Callable[[Mapping[str, str]], str]) -> dict[str, Tensor]:
    directory = checkpoint_path(run, step)
    digests = _read_state(directory)["files"]
    name = choose(digests)
    if problem := _problem(directory / name, digests[name]):
        raise UserError(problem)
    return _load(directory / name)


def _deployed(names: Mapping[str, str]) -> str:
    """Which file has the weights that a validation scores."""
    return next(name for name in (AVERAGE, MOVING_AVERAGE, WEIGHTS) if name in names)


def prune(run: Path, keep: set[int]) -> None:
    """Delete the checkpoints of earlier steps than the last one to keep, except those to keep.

    Later steps are those of a run that goes back to an earlier step because its last checkpoint is damaged; training
    writes them again.
    """
    for step in checkpoint_steps(run):
        if step not in keep and step < max(keep):
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


def read_progress(run: Path, step: int) -> Progress:
    """The progress stored in a checkpoint, after checking that its tensors are intact.

    Raises:
        UserError: A file is missing or damaged.
        OtherVersionError: The checkpoint has another version.
    """
    directory = checkpoint_path(run, step)
    about = _read_state(directory)
    for name, digest in about.pop("files").items():
        if _has_tensors(name) and (problem := _problem(directory / name, digest)):
            raise UserError(problem)
    return Progress(**{"scores": scores_of_earlier_version(about), **about})


def _has_tensors(name: str) -> bool:
    return name.endswith(".safetensors")


def _problem(path: Path, digest: str) -> str | None:
    """What is wrong with a file that should have this SHA-256."""
    if not path.is_file():
        return f"{path}: missing"
    if sha256(path) != digest:
        return f"{path}: damaged (its SHA-256 differs from the one in {STATE})"
    return None


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
        except UserError:  # damaged; `find_intact` reports it
            continue


def refuse_other_tokenizers(run: Path, digest: str) -> None:
    """Check that a run's checkpoints were made with the tokenizers that have this `tokenizers_digest`.

    Raises:
        UserError: A checkpoint was made with others; its embeddings would belong to other tokens.
    """
    for step in checkpoint_steps(run):
        try:
            made_with = _read_state(checkpoint_path(run, step)).get("tokenizers")
        except UserError:  # damaged; `find_intact` reports it
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
