"""Every string has a translation: with every tokenizer, in every engine, alone and next to others."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from random import Random

import pytest
from isolation import describe_failures, run_cases
from random_bundles import make_bundle

import dragoman
from dragoman.evaluation.scoring import score
from dragoman.translator import Translator

ENGINES = ("torch", "ctranslate2")
TOKENIZERS = ("pre-norm, tied", "words", "unigram, silu", "split words")
"""Variants with different tokenizers."""
RANGES = (
    *((0x00, 0x7F), (0x80, 0x24F), (0x300, 0x36F), (0x400, 0x4FF), (0x590, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F)),
    *((0x2000, 0x206F), (0x2FF0, 0x2FFF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xD800, 0xDFFF), (0xE000, 0xF8FF)),
    *((0xFE00, 0xFE0F), (0xFFF0, 0xFFFF), (0x1F000, 0x1FAFF), (0xE0000, 0xE007F), (0x10FFF0, 0x10FFFF)),
)
"""Code points of many scripts, marks, controls, lone surrogates and unassigned characters."""
FRAGMENTS = (
    *(
        "<s>",
        "</s>",
        "<pad>",
        "<unk>",
        "[UNK]",
        "▁",
        "@@ ",
        "⦅",
        "\u2581\u2581",
        "<0x0A>",
        "\r\n",
        "\u2028",
        "\x00",
        "\ufeff",
    ),
    *(
        "%s",
        "{name}",
        "<b>",
        "&amp;",
        "$x^2$",
        "../..",
        "\\",
        '"',
        "'",
        "Hund",
        "läuft",
        " ",
        "  ",
        "\t",
        "💩",
        "🇩🇪",
        "👨‍👩‍👧",
    ),
)


@pytest.mark.slow
def test_strange_texts(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    count, seed = request.config.getoption("--strings"), request.config.getoption("--case-seed")
    for number, variant in enumerate(TOKENIZERS):
        make_bundle(variant).save(tmp_path / str(number))
    outcomes = list(run_cases(try_strange_texts, (seed, tmp_path), -(-count // 10)))
    refused = sum(outcome.status == "refused" for outcome in outcomes)
    print(
        f"\n{10 * len(outcomes):,} strange texts: {refused:,} of {len(outcomes):,} batches refused, largest memory",
        end=" ",
    )
    print(f"{max(outcome.megabytes for outcome in outcomes):,} MB (--case-seed={seed})")
    assert not (failures := describe_failures(outcomes)), f"--case-seed={seed}\n{failures}"


def try_strange_texts(case: int, seed: int, bundles: Path) -> None:
    """Translate ten random texts together, score them, and explain one."""
    generator = Random(f"{seed} {case}")
    texts = [strange_text(generator) for _ in range(10)]
    translator = _load(bundles / str(case % len(TOKENIZERS)), ENGINES[case // len(TOKENIZERS) % len(ENGINES)])
    with warnings.catch_warnings(action="ignore"):  # some are too long
        translations = translator(texts)
    assert len(translations) == len(texts)
    "".join(map(str, translations)).encode()
    assert len(list(score(translator, zip(texts, reversed(texts), strict=True)))) == len(texts)
    if case % 10 == 0:
        translator.explain(texts[0])


def strange_text(generator: Random) -> str:
    """Characters of a few ranges, mixed with fragments that mean something to some part of a translator."""
    ranges = generator.sample(RANGES, 3)
    length = generator.choice((0, 1, 2, 5, 20, 100, 1000))
    return "".join(
        generator.choice(FRAGMENTS) if generator.random() < 0.2 else chr(generator.randint(*generator.choice(ranges)))
        for _ in range(length)
    )


@cache
def _load(path: Path, engine: str) -> Translator:
    return dragoman.load(path, engine=engine, device="cpu")
