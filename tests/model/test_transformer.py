"""What may and what may not change the logits; weights by number and by seed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny_models import PAD, SIZE, TINY, VARIANTS, padded_source, random_ids, tiny_model

from dragoman.model.build import build_model
from dragoman.model.transformer import Transformer, parameter_counts
from dragoman.settings import Model

close = torch.testing.assert_close


@pytest.mark.parametrize("attention", ["explicit", "fused"])
@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_the_future_changes_nothing_before_it(options: dict[str, Any], attention: str) -> None:
    model = tiny_model(**options, attention=attention)
    source, target = padded_source(6, 4), random_ids(2, 7)
    logits = model(source, target)
    for position in range(1, 7):
        changed = target.clone()
        changed[:, position:] = (target[:, position:] + 1) % SIZE
        other = model(source, changed)
        close(other[:, :position], logits[:, :position])
        assert ((other - logits)[:, position].abs().amax(dim=-1) > 1e-6).all()


@pytest.mark.parametrize("attention", ["explicit", "fused"])
@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_padding_and_neighbours_change_nothing(options: dict[str, Any], attention: str) -> None:
    model = tiny_model(**options, attention=attention)
    source, target = padded_source(9, 4, 6), random_ids(3, 5)
    logits = model(source, target)
    for sentence, length in enumerate((9, 4, 6)):
        alone = source[sentence : sentence + 1, :length]
        close(model(alone, target[sentence : sentence + 1])[0], logits[sentence])
    more = torch.nn.functional.pad(source, (0, 3), value=PAD)
    close(model(more, target), logits)
    order = torch.tensor([2, 0, 1])
    close(model(source[order], target[order]), logits[order])


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_every_source_token_counts(options: dict[str, Any]) -> None:
    model, source, target = tiny_model(**options), padded_source(6, 4), random_ids(2, 3)
    logits = model(source, target)
    for sentence, length in enumerate((6, 4)):
        for position in range(length):
            changed = source.clone()
            changed[sentence, position] = PAD + 1 + source[sentence, position] % (SIZE - PAD - 1)
            assert changed[sentence, position] not in (PAD, source[sentence, position])
            assert (model(changed, target) - logits)[sentence].abs().max() > 1e-6


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_every_parameter_learns(options: dict[str, Any]) -> None:
    model = tiny_model(**options).train()
    logits = model(padded_source(6, 4), random_ids(2, 5))
    logits.logsumexp(dim=-1).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_forward_projects_the_hidden_states(options: dict[str, Any]) -> None:
    model, source, target = tiny_model(**options), padded_source(6, 4), random_ids(2, 5)
    hidden = model.hidden(source, target)
    assert hidden.shape == (2, 5, TINY["d_model"])
    close(model(source, target), model.output(hidden))


R3 = Model(
    d_model=512,
    heads=8,
    d_ff=2048,
    encoder_layers=6,
    decoder_layers=6,
    norm="post",
    final_norm=True,
    qkv_bias=False,
    output_bias=True,
    tie="none",
)
R4 = Model(d_model=256, heads=8, d_ff=2048, norm="pre", qkv_bias=True, output_bias=True, tie="none")


@pytest.mark.parametrize(
    ("settings", "source_size", "target_size", "expected"),
    [(R3, 5893, 7853, 55_179_437), (R4, 30_000, 30_000, 40_433_968)],
    ids=["multi30k", "iitb"],
)
def test_parameters_of_published_models(settings: Model, source_size: int, target_size: int, expected: int) -> None:
    with torch.device("meta"):  # numbers of parameters without their memory
        model = Transformer(settings, source_size, target_size, PAD)
    counts = parameter_counts(model)
    assert counts["total"] == expected
    assert sum(counts.values()) == 2 * expected


@pytest.mark.parametrize(("tie", "matrices"), [("none", 3), ("target", 2), ("all", 1)])
def test_tied_matrices_are_one(tie: str, matrices: int) -> None:
    model = tiny_model(tie=tie)
    weights = (model.source_embedding.weight, model.target_embedding.weight, model.output.weight)
    assert len({weight.data_ptr() for weight in weights}) == matrices
    total = parameter_counts(model)["total"]
    assert total == sum(parameter.numel() for parameter in model.parameters())
    assert total == parameter_counts(tiny_model(tie="all"))["total"] + (matrices - 1) * SIZE * TINY["d_model"]


@pytest.mark.parametrize("options", [*VARIANTS, {"embedding_init": "xavier"}, {"qkv_init": "joint"}], ids=str)
def test_the_seed_alone_decides_the_weights(options: dict[str, Any]) -> None:
    settings = Model.model_validate({**TINY, **options})
    before = torch.random.get_rng_state()
    first = build_model(settings, SIZE, SIZE, PAD, seed=1).state_dict()
    assert torch.equal(torch.random.get_rng_state(), before), "drawing weights leaves the caller's random numbers"
    torch.rand(3)
    again, other = (build_model(settings, SIZE, SIZE, PAD, seed=seed).state_dict() for seed in (1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    matrices = [name for name, weight in first.items() if weight.dim() > 1]
    assert matrices
    assert not any(torch.equal(first[name], other[name]) for name in matrices)


@pytest.mark.parametrize(("kind", "rows"), [("separate", 1), ("joint", 3)])
def test_queries_keys_and_values_start_as_three_xavier_matrices_or_as_one(kind: str, rows: int) -> None:
    d_model = 64
    settings = Model.model_validate({**TINY, "qkv_init": kind, "d_model": d_model})
    weight = build_model(settings, SIZE, SIZE, PAD, seed=1).state_dict()["encoder.0.attention.qkv.weight"]
    bound = (6 / (d_model + rows * d_model)) ** 0.5  # Glorot and Bengio 2010, eq. 16
    for part in weight.chunk(3):
        assert 0.98 * bound < part.abs().max() <= bound
