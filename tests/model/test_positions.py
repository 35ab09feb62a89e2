"""Positions: the table of the reference, and rotations whose scores depend on distances alone."""

from __future__ import annotations

import pytest
import torch
from tiny_models import PAD, SIZE, TINY, padded_source, random_ids
from torch import Tensor

from dragoman.model.build import build_model
from dragoman.model.positions import POSITIONS, Positions, RotaryPositions, rotate, sinusoids
from dragoman.reference.attention import sinusoidal_positions
from dragoman.settings import Model

close = torch.testing.assert_close
KINDS = Model.model_json_schema()["properties"]["positions"]["enum"]


@pytest.mark.parametrize(("length", "d_model"), [(1, 2), (50, 6), (512, 64)])
def test_sinusoids_are_those_of_the_reference(length: int, d_model: int) -> None:
    close(sinusoids(length, d_model), torch.from_numpy(sinusoidal_positions(length, d_model)).float())


@pytest.mark.parametrize("kind", KINDS)
def test_a_later_start_continues_the_earlier_positions(kind: str) -> None:
    positions = POSITIONS[kind](12, 6, 1)
    for parameter in positions.parameters():
        torch.nn.init.normal_(parameter)
    embeddings = torch.randn(2, 12, 6)
    where = torch.arange(12)
    whole = positions(embeddings, where)
    parts = positions(embeddings[:, :5], where[:5]), positions(embeddings[:, 5:], where[5:])
    close(torch.cat(parts, dim=1), whole)
    assert torch.equal(whole, embeddings) == (kind == "rotary")


def rotated_at(x: Tensor, positions: Tensor) -> Tensor:
    """Queries or keys at these positions."""
    rotation = RotaryPositions(500, x.shape[-1], 1).rotation(positions)
    assert rotation is not None
    return rotate(x, rotation)


def score(q: Tensor, k: Tensor, query_position: int, key_position: int) -> float:
    """The dot product of a query and a key at these positions."""
    return float((rotated_at(q, torch.tensor([query_position])) * rotated_at(k, torch.tensor([key_position]))).sum())


def test_rotary_scores_depend_on_the_distance_alone() -> None:
    torch.manual_seed(1)
    q, k = torch.randn(1, 1, 1, 16, dtype=torch.float64), torch.randn(1, 1, 1, 16, dtype=torch.float64)
    by_distance = {distance: score(q, k, 20 + distance, 20) for distance in range(-20, 21)}
    assert len({round(value, 4) for value in by_distance.values()}) == len(by_distance)
    for distance, expected in by_distance.items():
        for start in (max(0, -distance), 37, 300):
            assert score(q, k, start + distance, start) == pytest.approx(expected, abs=1e-4)


def test_rotation_keeps_lengths_and_leaves_the_first_position() -> None:
    x = torch.randn(2, 3, 9, 8, dtype=torch.float64)
    rotated = rotated_at(x, torch.arange(9))
    close(rotated.norm(dim=-1), x.norm(dim=-1), rtol=1e-6, atol=0.0)
    close(rotated[:, :, 0], x[:, :, 0])
    assert (rotated[:, :, 1:] - x[:, :, 1:]).norm(dim=-1).min() > 0.1


def test_rotation_continues_at_a_later_start() -> None:
    x = torch.randn(2, 3, 9, 8)
    where = torch.arange(9)
    close(
        torch.cat((rotated_at(x[:, :, :4], where[:4]), rotated_at(x[:, :, 4:], where[4:])), dim=2), rotated_at(x, where)
    )


class BinaryPositions(Positions):
    """A new encoding: adds the binary digits of a position to the first dimensions of its embedding."""

    def forward(self, embeddings: Tensor, positions: Tensor) -> Tensor:
        digits = (positions[:, None] >> torch.arange(embeddings.shape[-1])) & 1  # (length, d_model)
        return embeddings + digits


def test_new_encoding_needs_one_class_and_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(POSITIONS, "binary", BinaryPositions)
    settings = Model.model_validate(TINY).model_copy(update={"positions": "binary"})
    model = build_model(settings, SIZE, SIZE, PAD, seed=1).eval()
    source, target = padded_source(6, 4), random_ids(2, 7)
    logits = model(source, target)
    assert not torch.allclose(model(source.flip(1), target), logits), "positions have an effect"
    cache = model.start(source)
    close(torch.stack([model.step(tokens, cache) for tokens in target.T], dim=1), logits)
