"""Descriptions of bundles, runs and recipes, for `dragoman info`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from dragoman.bundle import Bundle, find_bundle
from dragoman.dataset.prepare import train_recipe_tokenizers
from dragoman.doctor.data.cleaned_text import clean_data
from dragoman.engines import EngineRequest, choose
from dragoman.errors import UserError
from dragoman.model.transformer import Transformer, parameter_counts
from dragoman.recipe import builtin_recipes, load_recipe
from dragoman.settings import Recipe
from dragoman.system.device import find_device
from dragoman.system.progress import no_log
from dragoman.system.run_paths import explain_no_bundle, resume_command
from dragoman.training.report.lines import complete_lines
from dragoman.training.run.directory import RunResults, saved_tokenizers
from dragoman.training.run.log import read_metrics


def describe(path: Path, overrides: Sequence[str] = (), data_directory: Path | None = None) -> dict[str, Any]:
    """Parameters by part, vocabulary sizes, settings, scores and engine of a bundle, run or recipe.

    The vocabulary sizes of a recipe are its settings if it uses subwords; otherwise the words of its training corpora
    are counted.

    Args:
        path: A bundle, a run directory, a recipe file, or the name of a built-in recipe.
        overrides: ``SECTION.KEY=VALUE`` each, for recipes only.
        data_directory: Mirror of the dataset catalog to read before downloading.

    Raises:
        UserError: The path is none of these, or the bundle is damaged.
    """
    if not path.is_dir():
        _refuse_mistyped_runs(path)
        recipe = load_recipe(path, overrides)
        return {"kind": "recipe", **_describe_recipe(recipe, vocabulary_sizes(recipe, data_directory))}
    if overrides:
        raise UserError(f"{path}: --set can only be used with a recipe")
    if (path / "recipe.toml").is_file() and not (path / "bundle").exists():
        return _describe_unfinished(path, data_directory)
    directory = find_bundle(path)
    bundle, resume = Bundle.load(directory), resume_command(path, data_directory)
    request = EngineRequest(bundle, bundle.recipe.decoding, find_device("auto"), directory, token_scores=False)
    return {
        "kind": "bundle",
        "path": str(directory),
        **({"comparison": f"not made yet; run: {resume}"} if RunResults(path).lack_comparison else {}),
        "engine": str(choose(request)),
        "parameters": parameter_counts(bundle.model),
        "vocabulary": {"source": len(bundle.source.vocabulary), "target": len(bundle.target.vocabulary)},
        "scores": _by_direction(bundle, "scores"),
        "validation": _by_direction(bundle, "validation"),
        "settings": bundle.recipe.to_dict(),
    }


def _by_direction(bundle: Bundle, table: str) -> dict[str, Any]:
    """The scores in a table of a bundle; of a model with several directions, by direction."""
    if not bundle.facts:
        return dict(getattr(bundle, table))
    return {direction: found for direction, tables in bundle.facts.items() if (found := tables.get(table))}


def _refuse_mistyped_runs(path: Path) -> None:
    """Raise UserError for a path that does not exist, and resembles that of a run instead of a recipe."""
    if not os.path.exists(path) and path.suffix != ".toml" and path.stem not in builtin_recipes():
        error = explain_no_bundle(path)
        if error.meant and error.similar:
            raise error


def _describe_recipe(recipe: Recipe, sizes: tuple[int, int]) -> dict[str, Any]:
    with torch.device("meta"):
        model = Transformer(recipe.model, *sizes, source_pad=0)
    return {
        "parameters": parameter_counts(model),
        "vocabulary": {"source": sizes[0], "target": sizes[1]},
        "settings": recipe.to_dict(),
    }


def _describe_unfinished(path: Path, data_directory: Path | None) -> dict[str, Any]:
    recipe = load_recipe(path / "recipe.toml")
    metrics = complete_lines(read_metrics(path / "metrics.jsonl")) if (path / "metrics.jsonl").exists() else []
    kept = (
        "step",
        "epoch",
        "seconds",
        "loss",
        "perplexity",
        "bleu",
        "chrf",
        "bleu_signature",
        "decoding",
        "directions",
    )
    validations = [line for line in metrics if line["kind"] == "validation"]
    scores = {key: validations[-1][key] for key in kept if key in validations[-1]} if validations else {}
    resume = resume_command(path, data_directory)
    tokenizers = saved_tokenizers(path)  # so that text and bundles, which may be gone, are not read again
    if tokenizers:
        source, target = (len(each.vocabulary) for each in tokenizers)
    else:
        source, target = vocabulary_sizes(recipe, data_directory)
    return {"kind": "unfinished run", "resume": resume, "scores": scores, **_describe_recipe(recipe, (source, target))}


def vocabulary_sizes(recipe: Recipe, data_directory: Path | None) -> tuple[int, int]:
    """Sizes of the source and the target vocabulary before training; `data.clean` leaves out words."""
    if recipe.training.start_from is not None and not recipe.training.new_vocabulary:
        start = Bundle.load(recipe.training.start_from)
        return len(start.source.vocabulary), len(start.target.vocabulary)
    if recipe.text.tokenizer in ("bpe", "unigram"):
        return recipe.text.vocabulary_size, recipe.text.vocabulary_size
    data, _ = clean_data(recipe.data, data_directory, no_log)
    source, target = train_recipe_tokenizers(recipe.model_copy(update={"data": data}), data_directory)
    return len(source.vocabulary), len(target.vocabulary)
