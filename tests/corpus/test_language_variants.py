"""A code of a language without script or country may stand for several variants in a translation memory."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from dragoman.corpus.corpus import read_corpus


def read(tags: list[str], language: str, directory: Path) -> tuple[list[str], list[str]]:
    """The targets of a memory with a unit for each tag, and the warnings."""
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>Text {number}.</seg></tuv><tuv xml:lang="{tag}"><seg>{tag}</seg></tuv></tu>'
        for number, tag in enumerate(tags)
    )
    path = directory / "m.tmx"
    path.write_text(f'<tmx version="1.4"><header/><body>{units}</body></tmx>')
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        pairs = list(read_corpus(str(path), source_language="en", target_language=language))
    return [pair.target for pair in pairs], [str(each.message) for each in shown]


@pytest.mark.parametrize(
    ("tags", "language"),
    [(["zh-Hans", "zh-Hant"], "zh"), (["sr-Latn", "sr-Cyrl"], "sr"), (["pt-BR", "pt-PT", "pt-BR"], "pt")],
)
def test_mixed_variants_are_named(tags: list[str], language: str, tmp_path: Path) -> None:
    targets, shown = read(tags, language, tmp_path)
    assert targets == tags
    (message,) = shown
    assert f"{language} stands for {tags[0]} and {tags[1]}, which are mixed" in message
    assert f"--languages en:{tags[1]}" in message
    chosen, shown = read(tags, tags[1], tmp_path)
    assert set(chosen) == {tags[1]}
    assert not any("stands for" in each for each in shown)


@pytest.mark.parametrize("tags", [["pt", "pt-BR"], ["pt-BR", "pt-br", "PT_BR"], ["pt-BR"]])
def test_one_variant_is_not_reported(tags: list[str], tmp_path: Path) -> None:
    targets, shown = read(tags, "pt", tmp_path)
    assert (targets, shown) == (tags, [])
