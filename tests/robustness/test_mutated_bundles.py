"""Damaged and forged bundles are refused with a message, quickly and without much memory, or they translate."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
from isolation import describe_failures, run_cases
from mutations import damage_file, mutate_json, write_json
from random_bundles import VARIANTS, make_bundle

import dragoman
from dragoman.bundle import WEIGHTS
from dragoman.system.files import sha256
from dragoman.text.registry import SOURCE_FILE, TARGET_FILE

ENGINES = ("torch", "ctranslate2")
TEXTS = ["Ein Hund läuft über die Wiese.", ""]


def test_mutated_bundles(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    count, seed = request.config.getoption("--bundles"), request.config.getoption("--case-seed")
    for number, variant in enumerate(VARIANTS):
        make_bundle(variant).save(tmp_path / str(number))
    outcomes = list(run_cases(try_mutated_bundle, (seed, tmp_path, len(VARIANTS)), count))
    refused = sum(outcome.status == "refused" for outcome in outcomes)
    print(f"\n{count:,} mutated bundles: {refused:,} refused, largest memory", end=" ")
    print(f"{max(outcome.megabytes for outcome in outcomes):,} MB (--case-seed={seed})")
    assert not (failures := describe_failures(outcomes)), f"--case-seed={seed}\n{failures}"
    assert count / 5 < refused < count


def try_mutated_bundle(case: int, seed: int, originals: Path, variants: int) -> None:
    """Change a copy of a bundle at random, and translate with it."""
    generator = Random(f"{seed} {case}")
    copy = originals / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(originals / str(generator.randrange(variants)), copy)
    _mutate(copy, generator)
    engine = ENGINES[case % len(ENGINES)] if case % 10 == 0 else "torch"
    translations = dragoman.load(copy, engine=engine, device="cpu")(TEXTS)
    assert len(translations) == len(TEXTS)


def _mutate(bundle: Path, generator: Random) -> None:
    name = generator.choice(("bundle.json", "bundle.json", SOURCE_FILE, TARGET_FILE, WEIGHTS))
    if generator.random() < 0.3:
        damage_file(bundle / name, generator)
    elif name == WEIGHTS:
        _mutate_header(bundle / name, generator)
    else:
        write_json(bundle / name, mutate_json(json.loads((bundle / name).read_text("utf-8")), generator))
    if generator.random() < 0.8:  # as someone would who wants the bundle to be loaded
        _correct_checksum(bundle, name)


def _mutate_header(path: Path, generator: Random) -> None:
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.dumps(mutate_json(json.loads(content[8:end]), generator)).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + content[end:])


def _correct_checksum(bundle: Path, name: str) -> None:
    about = _read_object(bundle / "bundle.json")
    if about is not None and (bundle / name).is_file() and isinstance(about.get("sha256"), dict):
        about["sha256"][name] = sha256(bundle / name)
        write_json(bundle / "bundle.json", about)


def _read_object(path: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
