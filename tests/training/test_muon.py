"""Muon orthogonalizes the updates of the matrices of the layers, and leaves everything else to AdamW."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor, nn

from dragoman.errors import UserError
from dragoman.model.build import build_model
from dragoman.model.transformer import Transformer
from dragoman.settings import Model, Training
from dragoman.training.loop.optimizers import BLOCK_ROWS, UPDATE_SIZE, Muon, build_optimizer, orthogonalize

if TYPE_CHECKING:
    from conftest import RecipeMaker

SETTINGS = Model(d_model=96, d_ff=200, heads=4, encoder_layers=2, decoder_layers=1, max_length=32, tie="none")
TRAINING = {"steps": 10, "learning_rate": 0.01, "weight_decay": 0.1, "precision": "float32"}


@pytest.fixture
def model() -> Transformer:
    return build_model(SETTINGS, 50, 60, 0, seed=1)


def gradients(model: Transformer, seed: int) -> None:
    torch.manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_orthogonalized_blocks_have_the_same_directions_and_equal_lengths(dtype: torch.dtype, scale: float) -> None:
    torch.manual_seed(1)
    blocks = torch.randn(3, 16, 40) @ torch.diag(torch.logspace(0, -1, 40))
    found = orthogonalize((blocks * scale).to(dtype)).float()
    left, values, right = torch.linalg.svd(blocks, full_matrices=False)
    inside = left.mT @ found @ right.mT
    diagonal = inside.diagonal(dim1=1, dim2=2)
    assert 0.6 < diagonal.min() < diagonal.max() < 1.3
    assert values.amax(1).div(values.amin(1)).min() > 3, "lengths differed before"
    assert (inside - torch.diag_embed(diagonal)).abs().max() < (0.01 if dtype == torch.float32 else 0.1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(64, 256), (5, 7), (1, 512)])
def test_tiny_numbers_do_not_explode(dtype: torch.dtype, shape: tuple[int, int]) -> None:
    torch.manual_seed(1)
    blocks = torch.randn(2, *shape)
    for exponent in range(-18, -4):
        found = orthogonalize((blocks * 10.0**exponent).to(dtype)).float()
        assert torch.linalg.svdvals(found).max() < 1.3


def test_weights_stay_as_they_are_when_gradients_become_zero() -> None:
    torch.manual_seed(1)
    matrix = nn.Parameter(torch.randn(64, 64))
    optimizer = Muon([matrix], [], 0.0, torch.bfloat16, lr=0.01)
    for step in range(600):  # the momentum becomes smaller and smaller
        matrix.grad = torch.randn(64, 64) if step < 20 else torch.zeros(64, 64)
        before = matrix.detach().clone()
        optimizer.step()
        assert (matrix - before).abs().max() < 0.01
    assert (matrix - before).abs().max() < 1e-5


def test_a_zero_gradient_changes_nothing_but_decay(model: Transformer) -> None:
    optimizer = build_optimizer(model, Training(optimizer="muon", **TRAINING))
    matrix = model.get_parameter("encoder.0.feed_forward.inner.weight")
    before = matrix.detach().clone()
    matrix.grad = torch.zeros_like(matrix)
    optimizer.step()
    torch.testing.assert_close(matrix, before * (1 - 0.01 * 0.1))


def test_embeddings_biases_and_norms_are_those_of_adamw(model: Transformer) -> None:
    other = deepcopy(model)
    optimizers = [
        build_optimizer(each, Training(optimizer=name, **TRAINING))
        for each, name in ((model, "muon"), (other, "adamw"))
    ]
    before = [parameter.detach().clone() for parameter in model.parameters()]
    for step in range(3):
        for each, optimizer in zip((model, other), optimizers, strict=True):
            gradients(each, step)
            optimizer.step()
    equal = {
        name: torch.equal(one, two)
        for (name, one), two in zip(model.named_parameters(), other.parameters(), strict=True)
    }
    of_layers = {name for name, parameter in model.named_parameters() if parameter.dim() > 1 and "." in name[9:]}
    assert {name for name in equal if not equal[name]} == {name for name in of_layers if "embedding" not in name}
    assert not any(map(torch.equal, model.parameters(), before)), "all parameters have changed"


def test_learned_positions_are_those_of_adamw_too(make_recipe: RecipeMaker) -> None:
    recipe = make_recipe("model.positions=learned", "training.optimizer=muon")
    model = build_model(recipe.model, 50, 50, 0, 1)
    optimizer = build_optimizer(model, recipe.training)
    assert isinstance(optimizer, Muon)
    matrices = {id(parameter) for parameter in optimizer.param_groups[0]["params"]}
    tables = [parameter for name, parameter in model.named_parameters() if name.endswith("positions.table")]
    assert tables
    assert matrices.isdisjoint(map(id, tables))


@pytest.mark.parametrize("shape", [(64, 96), (96, 64), (200, 96), (96, 200), (288, 96), (101, 7), (1, 5), (101, 97)])
def test_updates_have_the_same_size_whatever_the_shape(shape: tuple[int, int]) -> None:
    torch.manual_seed(1)
    matrix = nn.Parameter(torch.zeros(shape))
    optimizer = Muon([matrix], [], 0.0, torch.float32, lr=0.5)
    matrix.grad = torch.randn(shape)
    optimizer.step()
    assert matrix.detach().square().mean().sqrt() == pytest.approx(0.5 * UPDATE_SIZE, rel=0.35)
    assert matrix.grad is None


@pytest.mark.parametrize("rows", [514, 1009, 2732])
def test_blocks_are_large_whatever_the_number_of_rows(rows: int) -> None:
    torch.manual_seed(1)
    matrix = nn.Parameter(torch.zeros(rows, 32))
    matrix.grad = torch.outer(torch.randn(rows), torch.randn(32)) + 0.1 * torch.randn(rows, 32)
    Muon([matrix], [], 0.0, torch.float32, lr=1.0).step()
    correlations = torch.corrcoef(matrix.detach()).abs()
    assert correlations.mean() < 0.35, "in small blocks, one direction would remain, as in the gradient"


def test_blocks_are_orthogonalized_separately() -> None:
    torch.manual_seed(1)
    rows = torch.randn(2 * BLOCK_ROWS, BLOCK_ROWS + 1)

    def update(gradient: Tensor) -> Tensor:
        matrix = nn.Parameter(torch.zeros_like(gradient))
        matrix.grad = gradient.clone()  # which is overwritten
        Muon([matrix], [], 0.0, torch.float32, lr=1.0).step()
        return matrix.detach()

    together = update(rows)
    changed = update(torch.cat([rows[:BLOCK_ROWS], torch.randn_like(rows[BLOCK_ROWS:])]))
    assert torch.equal(together[:BLOCK_ROWS], changed[:BLOCK_ROWS])
    assert not torch.equal(together[BLOCK_ROWS:], changed[BLOCK_ROWS:])
    torch.testing.assert_close(update(rows.mT.contiguous()), together.mT)


def test_a_step_that_overflows_in_float16_is_left_out(model: Transformer) -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    optimizer = build_optimizer(model, Training(optimizer="muon", **TRAINING))
    before = [parameter.detach().clone() for parameter in model.parameters()]
    gradients(model, 1)
    model.get_parameter("decoder.0.attention.output.weight").grad = torch.full((96, 96), torch.inf)
    scaler.scale(torch.zeros(()))
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert all(map(torch.equal, model.parameters(), before))


def test_sharded_weights_are_refused(make_recipe: RecipeMaker) -> None:
    assert make_recipe("training.optimizer=muon").training.optimizer == "muon"
    with pytest.raises(UserError, match=r"shard does not support .* or optimizer = 'muon'"):
        make_recipe("training.optimizer=muon", "training.shard=true")
