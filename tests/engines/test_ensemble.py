"""An ensemble predicts with the mean of its models' probabilities."""

from __future__ import annotations

import torch
from tiny_models import padded_source, random_ids, tiny_model
from torch import Tensor

from dragoman.engines.ensemble import EnsembleCache, EnsembleStep
from dragoman.engines.torch.prefix import PrefixCache, PrefixStep
from dragoman.model.transformer import Transformer

SOURCE, TARGET = padded_source(5, 3, 4), random_ids(3, 6)


def run(models: list[Transformer]) -> Tensor:
    """Probabilities of each next token, (rows, target, vocabulary), with one row taken twice on the way."""
    step = EnsembleStep([model.step for model in models])
    cache = EnsembleCache([model.start(SOURCE) for model in models])
    found = []
    for position in range(TARGET.shape[1]):
        found.append(step(TARGET[:, position], cache).exp())
        cache.select(torch.tensor([0, 1, 2]), None)
    return torch.stack(found, dim=1)


def test_probabilities_are_the_mean_of_those_of_the_models() -> None:
    models = [tiny_model(norm="post"), tiny_model(positions="rotary", d_model=12), tiny_model(encoder_layers=1)]
    expected = torch.stack([model(SOURCE, TARGET).softmax(dim=-1) for model in models]).mean(dim=0)
    torch.testing.assert_close(run(models), expected, check_dtype=False, rtol=1e-5, atol=1e-6)


def test_one_model_is_itself() -> None:
    model = tiny_model()
    torch.testing.assert_close(
        run([model, model]), model(SOURCE, TARGET).softmax(dim=-1), check_dtype=False, rtol=1e-5, atol=1e-6
    )


def test_rows_and_sentences_are_selected_in_every_cache() -> None:
    model = tiny_model()
    step = EnsembleStep([model.step, PrefixStep(model)])
    cache = EnsembleCache([model.start(SOURCE), PrefixCache(SOURCE)])
    step(TARGET[:, 0], cache)
    kept = torch.tensor([2, 0])
    cache.select(kept, kept)
    found = step(TARGET[kept, 1], cache).exp()
    expected = model(SOURCE[kept], TARGET[kept, :2])[:, -1].softmax(dim=-1)
    torch.testing.assert_close(found, expected, check_dtype=False, rtol=1e-5, atol=1e-6)
