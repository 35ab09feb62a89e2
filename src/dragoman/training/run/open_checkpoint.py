"""The translator of a checkpoint, to inspect or compare it before or after the end of training."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dragoman.bundle import Bundle, find_bundle
from dragoman.errors import UserError
from dragoman.model.build import build_model
from dragoman.recipe import load_recipe
from dragoman.system.uninitialized import WithoutInitialWeights
from dragoman.training.loop.state import load_weights
from dragoman.training.run.checkpoint import checkpoint_steps, deployed_weights
from dragoman.training.run.directory import saved_tokenizers


def open_checkpoint(path: Path) -> Bundle:
    """The translator with the weights of a checkpoint that its validation has scored.

    Args:
        path: ``RUN/checkpoints/step-NUMBER``.

    Raises:
        UserError: There is no such checkpoint, or it is damaged, or the run has no tokenizers.
    """
    run, step = path.parents[1], path.name.removeprefix("step-")
    steps = checkpoint_steps(run)
    if not step.isdecimal() or int(step) not in steps:
        existing = ", ".join(f"step-{each:08d}" for each in steps) or "none"
        raise UserError(f"{path}: no such checkpoint; {run} has: {existing}")
    tokenizers = saved_tokenizers(run)
    if tokenizers is None:
        raise UserError(f"{run}: the tokenizers of this run are missing")
    source, target = tokenizers
    recipe = load_recipe(run / "recipe.toml")
    with WithoutInitialWeights():
        model = build_model(recipe.model, len(source.vocabulary), len(target.vocabulary), source.vocabulary.pad, seed=0)
    load_weights(model, deployed_weights(run, int(step)))
    profiles = dict[str, str]()
    if recipe.data.directions:
        with suppress(UserError):  # the run is not finished, or was deleted in part
            profiles = Bundle.load(find_bundle(run)).profiles
    return Bundle(recipe, model.eval(), source, target, origin=str(path), profiles=profiles)
