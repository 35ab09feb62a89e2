import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.reference.attention import (
    AdditiveScorer,
    Array,
    Linear,
    Mask,
    Projections,
    additive_attention,
    causal_mask,
    feed_forward,
    layer_norm,
    multi_head_attention,
    padding_mask,
    scaled_dot_product_attention,
    sinusoidal_positions,
    softmax,
)

TARGET, SOURCE, D_MODEL, HEADS = 5, 7, 12, 3
close = np.testing.assert_allclose


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture
def qkv(generator: np.random.Generator) -> tuple[Array, Array, Array]:
    shapes = ((2, HEADS, TARGET, 4), (2, HEADS, SOURCE, 4), (2, HEADS, SOURCE, 6))
    q, k, v = (generator.normal(size=shape) for shape in shapes)
    return q, k, v


@pytest.fixture
def mask(generator: np.random.Generator) -> Mask:
    mask = generator.random((2, 1, TARGET, SOURCE)) < 0.5
    mask[..., 0] = True  # everyone has somebody to attend to
    return mask


def random_projections(generator: np.random.Generator) -> Projections:
    linears = (Linear(generator.normal(size=(D_MODEL, D_MODEL)), generator.normal(size=D_MODEL)) for _ in range(4))
    return Projections(*linears)


def tensor(array: Array | Mask) -> Tensor:
    return torch.from_numpy(array)


def equal(ours: Array, theirs: Tensor) -> None:
    close(ours, theirs.detach().numpy(), rtol=1e-10, atol=1e-10)


def test_softmax_gives_shares_that_only_differences_of_scores_decide(generator: np.random.Generator) -> None:
    scores = generator.normal(size=(4, 9))
    shares = softmax(scores)
    close(shares.sum(axis=-1), 1.0)
    close(np.log(shares[:, 1:] / shares[:, :-1]), np.diff(scores))
    close(softmax(scores + 1e4), shares, rtol=1e-9)
    equal(shares, tensor(scores).softmax(dim=-1))


def test_softmax_of_minus_infinity_is_exactly_nothing() -> None:
    close(softmax(np.array([[-np.inf, 3.0, 3.0], [-np.inf] * 3])), [[0.0, 0.5, 0.5], [0.0] * 3], rtol=0)


def test_weights_sum_to_one_and_masked_cells_are_exactly_zero(qkv: tuple[Array, Array, Array], mask: Mask) -> None:
    _, weights = scaled_dot_product_attention(*qkv, mask)
    close(weights.sum(axis=-1), 1.0)
    assert np.array_equal(weights > 0, np.broadcast_to(mask, weights.shape))


def test_masked_keys_might_as_well_not_be_there(qkv: tuple[Array, Array, Array]) -> None:
    q, k, v = qkv
    output, weights = scaled_dot_product_attention(q, k, v, np.arange(SOURCE) < 4)
    short_output, short_weights = scaled_dot_product_attention(q, k[..., :4, :], v[..., :4, :])
    close(output, short_output)
    close(weights[..., :4], short_weights)


def test_a_query_that_may_attend_to_nothing_gives_zeros(qkv: tuple[Array, Array, Array], mask: Mask) -> None:
    mask[0, 0, 2] = False
    output, weights = scaled_dot_product_attention(*qkv, mask)
    assert not output[0, :, 2].any()
    assert not weights[0, :, 2].any()
    assert np.isfinite(output).all()


def test_order_of_keys_does_not_matter(
    qkv: tuple[Array, Array, Array], mask: Mask, generator: np.random.Generator
) -> None:
    q, k, v = qkv
    order = generator.permutation(SOURCE)
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    permuted, moved = scaled_dot_product_attention(q, k[..., order, :], v[..., order, :], mask[..., order])
    close(permuted, output)
    close(moved, weights[..., order])


def test_uniform_scores_give_the_mean_of_the_values(qkv: tuple[Array, Array, Array]) -> None:
    q, k, v = qkv
    output, _ = scaled_dot_product_attention(np.zeros_like(q), k, v)
    close(output, np.broadcast_to(v.mean(axis=-2, keepdims=True), output.shape))


def test_a_query_like_one_key_only_gives_its_value() -> None:
    k, v = np.eye(4) * 100, np.arange(8.0).reshape(4, 2)
    output, _ = scaled_dot_product_attention(k[[2, 0]], k, v)
    close(output, v[[2, 0]])


@pytest.mark.parametrize("masked", [False, True])
def test_attention_equals_torch(qkv: tuple[Array, Array, Array], mask: Mask, masked: bool) -> None:
    q, k, v = map(tensor, qkv)
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=tensor(mask) if masked else None)
    equal(scaled_dot_product_attention(*qkv, mask if masked else None)[0], theirs)


def test_one_head_of_identities_is_plain_attention(generator: np.random.Generator) -> None:
    query, memory = generator.normal(size=(2, TARGET, D_MODEL)), generator.normal(size=(2, SOURCE, D_MODEL))
    identities = Projections(*[Linear(np.eye(D_MODEL))] * 4)
    output, weights = multi_head_attention(query, memory, identities, heads=1)
    plain_output, plain_weights = scaled_dot_product_attention(query, memory, memory)
    close(output, plain_output)
    close(weights[:, 0], plain_weights)


def test_each_head_sees_its_own_columns_of_the_projections(generator: np.random.Generator) -> None:
    query, memory = generator.normal(size=(TARGET, D_MODEL)), generator.normal(size=(SOURCE, D_MODEL))
    projections = random_projections(generator)
    output, weights = multi_head_attention(query, memory, projections, HEADS)
    q, k, v = projections.query(query), projections.key(memory), projections.value(memory)
    columns = np.split(np.arange(D_MODEL), HEADS)
    heads = [scaled_dot_product_attention(q[:, part], k[:, part], v[:, part]) for part in columns]
    close(output, projections.output(np.concatenate([head for head, _ in heads], axis=-1)))
    close(weights, np.stack([head_weights for _, head_weights in heads]))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_multi_head_attention_equals_torch(generator: np.random.Generator, bias: bool, masked: bool) -> None:
    query, memory = generator.normal(size=(2, TARGET, D_MODEL)), generator.normal(size=(2, SOURCE, D_MODEL))
    padding = np.arange(SOURCE) < np.array([[4], [7]])  # (batch, source), True = may attend
    module = nn.MultiheadAttention(D_MODEL, HEADS, bias=bias, batch_first=True, dtype=torch.float64)
    seeded = torch.Generator().manual_seed(1)
    for parameter in module.parameters():
        nn.init.normal_(parameter, generator=seeded)
    theirs, their_weights = module(
        tensor(query),
        tensor(memory),
        tensor(memory),
        key_padding_mask=~tensor(padding) if masked else None,  # torch's True = may not attend
        average_attn_weights=False,
    )
    ours, weights = multi_head_attention(
        query, memory, copied(module), HEADS, padding[:, None, None, :] if masked else None
    )
    equal(ours, theirs)
    equal(weights, their_weights)


def copied(module: nn.MultiheadAttention) -> Projections:
    q, k, v = module.in_proj_weight.detach().numpy().reshape(3, D_MODEL, D_MODEL)
    biases = np.zeros((4, D_MODEL))
    if module.in_proj_bias is not None:
        biases[:3] = module.in_proj_bias.detach().numpy().reshape(3, D_MODEL)
        biases[3] = module.out_proj.bias.detach().numpy()
    matrices = (q, k, v, module.out_proj.weight.detach().numpy())
    return Projections(*(Linear(matrix.T, bias) for matrix, bias in zip(matrices, biases, strict=True)))


def test_under_the_causal_mask_the_future_changes_nothing(generator: np.random.Generator) -> None:
    x, projections = generator.normal(size=(SOURCE, D_MODEL)), random_projections(generator)
    output, weights = multi_head_attention(x, x, projections, HEADS, causal_mask(SOURCE))
    assert np.array_equal(weights[0] > 0, np.tril(np.ones((SOURCE, SOURCE), dtype=bool)))
    for length in range(1, SOURCE):
        changed = x.copy()
        changed[length:] = generator.normal(size=(SOURCE - length, D_MODEL))
        again, _ = multi_head_attention(changed, changed, projections, HEADS, causal_mask(SOURCE))
        close(again[:length], output[:length])
        assert not np.allclose(again[length:], output[length:])


@pytest.mark.parametrize("shift", [1, 2, 30])
def test_moving_on_turns_every_pair_of_a_position_by_its_own_angle(shift: int) -> None:
    table = sinusoidal_positions(100, D_MODEL)
    for pair in range(D_MODEL // 2):
        angle = shift / 10000 ** (2 * pair / D_MODEL)
        rotation = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
        hands = table[:, 2 * pair : 2 * pair + 2]
        close(hands[:-shift] @ rotation.T, hands[shift:], atol=1e-12)


def test_positions_start_with_all_hands_up_and_are_all_different() -> None:
    table = sinusoidal_positions(512, D_MODEL)
    close(table[0], [0.0, 1.0] * (D_MODEL // 2))
    distances = np.linalg.norm(table[:, None] - table[None, :], axis=-1) + np.eye(512)
    assert distances.min() > 0.1


def test_layer_norm_equals_torch_and_forgets_shift_and_scale(generator: np.random.Generator) -> None:
    x, gain, bias = (generator.normal(size=shape) for shape in ((2, TARGET, D_MODEL), (D_MODEL,), (D_MODEL,)))
    normed = layer_norm(x, gain, bias, 1e-5)
    equal(normed, F.layer_norm(tensor(x), (D_MODEL,), tensor(gain), tensor(bias), 1e-5))
    close(layer_norm(5 * x + 3, gain, bias, 0.0), layer_norm(x, gain, bias, 0.0))
    close(layer_norm(np.ones((1, D_MODEL)), gain, bias, 1e-5), bias[None])


def test_feed_forward_equals_torch_at_each_position_alone(generator: np.random.Generator) -> None:
    x, inner, outer = (generator.normal(size=shape) for shape in ((TARGET, D_MODEL), (D_MODEL, 20), (20, D_MODEL)))
    first, second = Linear(inner, generator.normal(size=20)), Linear(outer, generator.normal(size=D_MODEL))
    together = feed_forward(x, first, second)
    hidden = F.relu(F.linear(tensor(x), tensor(inner.T), tensor(np.asarray(first.bias))))
    equal(together, F.linear(hidden, tensor(outer.T), tensor(np.asarray(second.bias))))
    close(np.stack([feed_forward(position, first, second) for position in x]), together)


class Bahdanau(nn.Module):
    """Additive attention as it is written with torch."""

    def __init__(self, d_q: int, d_k: int, hidden: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(d_q, hidden, dtype=torch.float64), nn.Linear(d_k, hidden, dtype=torch.float64)
        self.scorer = nn.Linear(hidden, 1, bias=False, dtype=torch.float64)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.scorer(torch.tanh(self.query(q).unsqueeze(-2) + self.key(k).unsqueeze(-3))).squeeze(-1)
        weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
        return weights @ v, weights


def test_additive_attention_is_that_of_torch(generator: np.random.Generator, mask: Mask) -> None:
    torch.manual_seed(1)
    theirs = Bahdanau(4, 6, 9)
    q, k = generator.normal(size=(2, TARGET, 4)), generator.normal(size=(2, SOURCE, 6))
    query, key = (
        Linear(linear.weight.T.detach().numpy(), linear.bias.detach().numpy()) for linear in (theirs.query, theirs.key)
    )
    scorer = AdditiveScorer(query, key, theirs.scorer.weight[0].detach().numpy())
    output, weights = additive_attention(q, k, k, scorer, mask[:, 0])
    expected, expected_weights = theirs(tensor(q), tensor(k), tensor(k), tensor(mask[:, 0]))
    equal(output, expected)
    equal(weights, expected_weights)


def test_padding_mask_lets_real_tokens_be_seen() -> None:
    mask = padding_mask(np.array([3, 1]), 4)
    assert mask.tolist() == [[[True, True, True, False]], [[True, False, False, False]]]
