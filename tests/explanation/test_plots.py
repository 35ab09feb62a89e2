"""Heat maps: the right numbers with the right labels."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

from dragoman.explanation import plots
from dragoman.explanation.attention_map import AttentionMap
from dragoman.explanation.capture import KINDS
from dragoman.explanation.plots import MAX_SIDE, draw_heads, draw_kinds, save_heat_maps
from dragoman.explanation.token_sequence import TokenSequence, Word


def sequence(*tokens: str) -> TokenSequence:
    """Tokens that are one word each."""
    return TokenSequence(list(tokens), [Word(token, index, index + 1) for index, token in enumerate(tokens)])


@pytest.fixture(scope="module")
def attention() -> AttentionMap:
    """Four source and three target words."""
    generator = np.random.default_rng(1)
    source = sequence("Ein", "Hund", "<läuft>", "</s>")
    target_input, target_output = sequence("<s>", "A", "dog"), sequence("A", "dog", "</s>")
    sizes = {"encoder": (4, 4), "decoder": (3, 3), "cross": (3, 4)}
    weights = {kind: generator.dirichlet(np.ones(sizes[kind][1]), (2, 2, sizes[kind][0])) for kind in KINDS}
    float32 = {kind: each.astype(np.float32) for kind, each in weights.items()}
    return AttentionMap(source, target_input, target_output, float32)


def heat_maps(figure: Any) -> list[tuple[Any, list[str], list[str]]]:
    """Numbers, row labels and column labels of each heat map."""
    return [
        (
            axes.images[0].get_array(),
            [label.get_text() for label in axes.get_yticklabels()],
            [label.get_text() for label in axes.get_xticklabels()],
        )
        for axes in figure.axes
        if axes.images
    ]


def test_every_head_has_a_heat_map(attention: AttentionMap) -> None:
    drawn = heat_maps(draw_heads(attention))
    assert len(drawn) == 2
    for (numbers, rows, columns), weights in zip(drawn, attention.weights["cross"][-1], strict=True):
        np.testing.assert_array_equal(numbers, weights)
        assert (rows, columns) == (attention.target_output.tokens, attention.source.tokens)


def test_every_kind_has_a_heat_map(attention: AttentionMap) -> None:
    for kind, (numbers, rows, columns) in zip(KINDS, heat_maps(draw_kinds(attention)), strict=True):
        np.testing.assert_array_equal(numbers, attention.mean(kind)[-1])
        assert (rows, columns) == (attention.queries(kind).tokens, attention.keys(kind).tokens)


def test_files_are_complete_and_svg_files_keep_text_as_text(attention: AttentionMap, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        files = save_heat_maps(attention, tmp_path / "new" / "pictures")
    assert sorted(path.suffix for path in files) == [".png", ".png", ".svg", ".svg"]
    for path in files:
        assert path.read_bytes().startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml")
    for path in files[1::2]:
        svg = path.read_text(encoding="utf-8")
        assert all(f">{token}<" in svg for token in ("Ein", "Hund", "&lt;läuft&gt;"))


def uniform_attention(source: list[str], target: list[str], heads: int = 2) -> AttentionMap:
    """One layer whose heads attend to everything equally."""
    keys, queries = len(source), len(target)
    sizes = {"encoder": (keys, keys), "decoder": (queries, queries), "cross": (queries, keys)}
    weights = {kind: np.full((1, heads, *sizes[kind]), 1 / sizes[kind][1], np.float32) for kind in KINDS}
    return AttentionMap(sequence(*source), sequence(*target), sequence(*target), weights)


@pytest.mark.parametrize("token", ["$x_1^2$", "$\\frac$", "a$b$c", "\\$5", "100%", "{}_^"])
def test_tokens_are_not_formulas(token: str, tmp_path: Path) -> None:
    files = save_heat_maps(uniform_attention([token, "</s>"], ["A", "</s>"]), tmp_path)
    for path in files[1::2]:
        assert f">{token}<" in path.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(("tokens", "heads"), [(60, 8), (250, 1)])
def test_pictures_of_long_sentences_have_a_limited_size(
    tokens: int, heads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Larger pictures than 2^16 dots are an error of matplotlib. The limit is lower here, to save time."""
    monkeypatch.setattr(plots, "MAX_DOTS", 10_000_000)
    words = [f"w{number}" for number in range(tokens)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        files = save_heat_maps(uniform_attention(words, words, heads), tmp_path)
    for path in files[::2]:
        height, width, _ = imread(path).shape
        assert max(width, height) <= MAX_SIDE + 1
        assert math.isqrt(width * height) <= math.isqrt(plots.MAX_DOTS) + 2
    for path in files[1::2]:
        assert path.stat().st_size < 5_000_000
    assert any("legible" in str(warning.message) for warning in caught) == (tokens == 250)
