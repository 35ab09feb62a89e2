"""Random damage to JSON documents and files."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from random import Random
from typing import Any

STRANGE: tuple[Any, ...] = (
    *(None, True, False, "", "x", "\ud800", "\x00", "../..", "é" * 70_000, [], {}, [[]], {"": {}}),
    *(0, -1, 1, 2, 3, 7, 1000, 2**31, 2**62, 2**63, 2**64, 10**400, 0.0, -0.5, 0.5, 1e-300, 1e300),
    *(float("nan"), float("inf"), -float("inf")),
)


def mutate_json(document: Any, generator: Random) -> Any:
    """A copy with one to three random changes: values replaced, removed, exchanged or nested deeply."""
    document = copy.deepcopy(document)
    for _ in range(generator.choice((1, 1, 2, 3))):
        containers = [found for found in _containers(document) if found]
        if containers:
            _change(generator.choice(containers), generator)
    return document


def _change(container: Any, generator: Random) -> None:
    keys = list(container) if isinstance(container, dict) else range(len(container))
    key = generator.choice(keys)
    match generator.randrange(6):
        case 0:
            del container[key]
        case 1:
            other = generator.choice(keys)
            container[key], container[other] = container[other], container[key]
        case 2:
            container[key] = [container[key]]
        case 3 if isinstance(container[key], (int, float)):
            container[key] = container[key] * generator.choice((-1, 2, 0.5, 10, 1000))
        case _:
            container[key] = copy.deepcopy(generator.choice(STRANGE))


def _containers(document: Any) -> list[Any]:
    found, stack = [], [document]
    while stack:
        node = stack.pop()
        if isinstance(node, (dict, list)):
            found.append(node)
            stack.extend(node.values() if isinstance(node, dict) else node)
    return found


def write_json(path: Path, document: Any) -> None:
    """Write JSON as Python does, with NaN, infinities and lone surrogates."""
    path.write_bytes(json.dumps(document, ensure_ascii=True).encode())


def damage_file(path: Path, generator: Random) -> None:
    """Truncate, delete or overwrite a file, replace it by a directory, or change some of its bytes."""
    content = bytearray(path.read_bytes())
    place = generator.randrange(len(content))
    match generator.randrange(8):
        case 0:
            path.unlink()
        case 1:
            path.unlink()
            path.mkdir()
        case 2:
            path.write_bytes(b"")
        case 3:
            path.write_bytes(content[:place])
        case 4:
            path.write_bytes(content[:place] + generator.randbytes(generator.randrange(1, 20)) + content[place:])
        case 5:
            path.write_bytes(b"[" * 200_000)  # deeper than a recursive parser can read
        case _:
            for _ in range(generator.choice((1, 1, 10, 1000))):
                content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
            path.write_bytes(content)
