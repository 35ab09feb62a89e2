"""Pictures of attention: the right numbers with the right labels, in a font that has the letters."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import font_manager

from dragoman.explanation import fonts
from dragoman.explanation.attention_map import AttentionMap, Side, Word
from dragoman.explanation.capture import KINDS
from dragoman.explanation.fonts import choose_fonts
from dragoman.explanation.plots import draw_heads, draw_kinds, save_heat_maps

HINDI = ["जल", "वायु", "परिवर्तन"]


def side(*tokens: str) -> Side:
    return Side(list(tokens), [Word(token, place, place + 1) for place, token in enumerate(tokens)])


@pytest.fixture(scope="module")
def attention() -> AttentionMap:
    """Four source and three target words."""
    generator = np.random.default_rng(1)
    source, read, predicted = side("Ein", "Hund", "<läuft>", "</s>"), side("<s>", "A", "dog"), side("A", "dog", "</s>")
    sizes = {"encoder": (4, 4), "decoder": (3, 3), "cross": (3, 4)}
    weights = {kind: generator.dirichlet(np.ones(sizes[kind][1]), (2, 2, sizes[kind][0])) for kind in KINDS}
    return AttentionMap(source, read, predicted, {kind: each.astype(np.float32) for kind, each in weights.items()})


def panels(figure: Any) -> list[tuple[Any, list[str], list[str]]]:
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


def test_every_head_has_a_row(attention: AttentionMap) -> None:
    drawn = panels(draw_heads(attention))
    assert len(drawn) == 2
    for (numbers, rows, columns), weights in zip(drawn, attention.weights["cross"][-1], strict=True):
        np.testing.assert_array_equal(numbers, weights)
        assert (rows, columns) == (attention.predicted.tokens, attention.source.tokens)


def test_every_kind_has_a_panel(attention: AttentionMap) -> None:
    for kind, (numbers, rows, columns) in zip(KINDS, panels(draw_kinds(attention)), strict=True):
        np.testing.assert_array_equal(numbers, attention.mean(kind)[-1])
        assert (rows, columns) == (attention.queries(kind).tokens, attention.keys(kind).tokens)


def test_pictures_are_whole_and_their_letters_stay_letters(attention: AttentionMap, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        files = save_heat_maps(attention, tmp_path / "new" / "pictures")
    assert sorted(path.suffix for path in files) == [".png", ".png", ".svg", ".svg"]
    for path in files:
        assert path.read_bytes().startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml")
    for path in files[1::2]:
        drawing = path.read_text(encoding="utf-8")
        assert all(f">{token}<" in drawing for token in ("Ein", "Hund", "&lt;läuft&gt;"))


def test_fonts_have_the_letters() -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        families = choose_fonts([*HINDI, "Hund"])
    if any("no font" in str(each.message) for each in warned):
        pytest.skip("no font with Devanagari on this machine")
    covered = set()
    for family in families:
        covered |= set(map(chr, font_manager.get_font(font_manager.findfont(family)).get_charmap()))
    assert set("".join(HINDI)) <= covered


def test_usual_letters_need_no_other_font() -> None:
    assert choose_fonts(["Mädchen", "Straße", "Żółć", "собака"]) == ["DejaVu Sans"]


def test_a_missing_font_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    with pytest.warns(UserWarning, match=r"Devanagari.*fonts-noto-core or fonts-lohit-deva"):
        assert choose_fonts(HINDI) == ["DejaVu Sans"]
    with pytest.warns(UserWarning, match=r"Cjk.*fonts-noto-cjk"):
        choose_fonts(["犬"])


def test_letters_that_would_not_be_joined_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "shapes_text", lambda: False)
    with pytest.warns(UserWarning, match=r"does not join the letters of Arabic"):
        choose_fonts(["كلب"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        choose_fonts(["Hund"])
