"""A small text in three languages: the captions in German and English, and a made-up relative of English."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conftest import TINY, fixed_captions
from dragoman.recipe import build_recipe
from dragoman.settings import Recipe

LETTERS = str.maketrans("aeioutdgbpkASTW", "áêìøùdtkpbgÁŠDV")
"""Spellings of the relative, whose words are those of English: its texts share no words with it, but their order."""

PAIRS = (("de", "en"), ("de", "hsb"), ("en", "hsb"))


def relative(text: str) -> str:
    """An English text in the made-up language."""
    return text.translate(LETTERS)


def write_texts(directory: Path, split: str = "train", pairs: int = 300) -> None:
    """Write ``de-en/train.de`` and so on, each two languages with other captions, of which some are in two corpora."""
    captions = fixed_captions(split)
    for number, languages in enumerate(PAIRS):
        texts = (captions * 2)[number * pairs * 3 // 4 % len(captions) :][:pairs]
        folder = directory / "-".join(languages)
        folder.mkdir(parents=True, exist_ok=True)
        for code in languages:
            lines = (german if code == "de" else english for german, english in texts)
            content = "".join(f"{relative(line) if code == 'hsb' else line}\n" for line in lines)
            (folder / f"{split}.{code}").write_text(content, encoding="utf-8")


def documents(directory: Path, split: str = "train") -> list[dict[str, Any]]:
    """The corpora in a recipe, as plain data."""
    return [
        {
            "source": str(directory / "-".join(languages) / f"{split}.{languages[0]}"),
            "target": str(directory / "-".join(languages) / f"{split}.{languages[1]}"),
            "languages": list(languages),
        }
        for languages in PAIRS
    ]


def recipe_of_many(directory: Path, *overrides: str, **data: Any) -> Recipe:
    """A tiny recipe for all directions of the texts; `data` changes that section."""
    corpora = {"train": documents(directory), "validation": documents(directory, "validation"), **data}
    return build_recipe({**TINY, "text": {"vocabulary_size": 600}, "data": corpora}, overrides)
