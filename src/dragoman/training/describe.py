"""What a bundle, a run or a recipe is, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from dragoman.bundle import Bundle, find_bundle
from dragoman.dataset.prepare import train_recipe_tokenizers
from dragoman.errors import UserError
from dragoman.model.transformer import Transformer, parameter_counts
from dragoman.recipe import load_recipe
from dragoman.settings import Recipe
from dragoman.training.metrics_file import read_metrics


def describe(path: Path, overrides: Sequence[str] = (), data_directory: Path | None = None) -> dict[str, Any]:
    """Parameters by part, vocabulary sizes, settings and scores of a bundle, run or recipe.

    The vocabulary sizes of a recipe with subwords are those it asks for; those of a recipe with words
    are counted in its training corpora.

    Args:
        path: A bundle, a run directory, a recipe file, or the name of a built-in recipe.
        overrides: ``SECTION.KEY=VALUE`` each, for recipes only.
        data_directory: Mirror of the dataset catalog to read before downloading.

    Raises:
        UserError: There is none of these, or it is broken.
    """
    if not path.is_dir():
        recipe = load_recipe(path, overrides)
        return {"kind": "recipe", **_describe_recipe(recipe, data_directory)}
    if overrides:
        raise UserError(f"{path}: --set is for recipes")
    if (path / "recipe.toml").is_file() and not (path / "bundle").exists():
        return _describe_unfinished(path, data_directory)
    bundle = Bundle.load(path)
    return {
        "kind": "bundle",
        "path": str(find_bundle(path)),
        "parameters": parameter_counts(bundle.model),
        "vocabulary": {"source": len(bundle.source.vocabulary), "target": len(bundle.target.vocabulary)},
        "scores": bundle.scores,
        "settings": bundle.recipe.to_dict(),
    }


def _describe_recipe(recipe: Recipe, data_directory: Path | None) -> dict[str, Any]:
    sizes = vocabulary_sizes(recipe, data_directory)
    with torch.device("meta"):
        model = Transformer(recipe.model, *sizes, source_pad=0)
    return {
        "parameters": parameter_counts(model),
        "vocabulary": {"source": sizes[0], "target": sizes[1]},
        "settings": recipe.to_dict(),
    }


def _describe_unfinished(path: Path, data_directory: Path | None) -> dict[str, Any]:
    recipe = load_recipe(path / "recipe.toml")
    metrics = read_metrics(path / "metrics.jsonl") if (path / "metrics.jsonl").exists() else []
    kept = ("step", "epoch", "seconds", "loss", "perplexity", "bleu", "chrf", "bleu_signature", "decoding")
    validations = [line for line in metrics if line["kind"] == "validation"]
    scores = {key: validations[-1][key] for key in kept} if validations else {}
    return {"kind": "unfinished run", "scores": scores, **_describe_recipe(recipe, data_directory)}


def vocabulary_sizes(recipe: Recipe, data_directory: Path | None) -> tuple[int, int]:
    """Entries of source and target vocabulary before training."""
    if recipe.text.tokenizer in ("bpe", "unigram"):
        return recipe.text.vocabulary_size, recipe.text.vocabulary_size
    source, target = train_recipe_tokenizers(recipe, data_directory)
    return len(source.vocabulary), len(target.vocabulary)
