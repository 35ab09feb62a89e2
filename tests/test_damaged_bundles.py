"""Bundles with random changes: each one still translates, or is rejected with a message."""

from __future__ import annotations

import json
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle import Bundle
from dragoman.errors import LINE_CHARACTERS, UserError
from dragoman.settings import Decoding
from dragoman.system.files import sha256
from dragoman.system.tensors import open_tensors
from dragoman.translator import Translator

CHANGES = 60
"""Number of changes of each file; try a larger one after editing the code that reads bundles."""

VALUES: list[Any] = [
    *(None, True, -1, 0, 1, 2**31, 2**63, 2**64, 10**30, 10**400, 0.5, -0.0, 1e308, float("nan"), float("inf")),
    *("", "x", "<s>", "x" * 100_000, "\ud800", "\0", [], [[]], [0] * 100_000, {}, {"": {}}, {"type": "BPE"}),
    *("\u202ex", "\x1b[2J", {"\u202ex": 0}, {"x" * 100_000: 0}),
]


def change_json(data: Any, generator: random.Random) -> Any:
    """The data with one value replaced, removed or exchanged with another one; large tables are left early."""
    if isinstance(data, dict | list) and data and generator.random() < 0.85:
        keys = list(data) if isinstance(data, dict) else list(range(len(data)))
        key = generator.choice(keys)
        action = generator.random()
        if action < 0.1 and isinstance(data, dict):
            data[generator.choice(["\u202ex", "x" * 100_000])] = generator.choice(VALUES)
        elif action < 0.2:
            data.pop(key)
        elif action < 0.3:
            other = generator.choice(keys)
            data[key], data[other] = data[other], data[key]
        else:
            data[key] = change_json(data[key], generator)
        return data
    return generator.choice(VALUES)


def change_file(path: Path, generator: random.Random) -> None:
    path.write_text(json.dumps(change_json(json.loads(path.read_text("utf-8")), generator)), "utf-8")


def change_header(path: Path, generator: random.Random) -> None:
    """Change the header of a safetensors file, or one of its bytes."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header, rest = content[8 : 8 + size], content[8 + size :]
    if generator.random() < 0.7:
        header = json.dumps(change_json(json.loads(header), generator)).encode()
        path.write_bytes(struct.pack("<Q", len(header)) + header + rest)
    else:
        position = generator.randrange(8 + size)
        path.write_bytes(content[:position] + generator.randbytes(1) + content[position + 1 :])


FILES: dict[str, Callable[[Path, random.Random], None]] = {
    "bundle.json": change_file,
    "source.tokenizer.json": change_file,
    "target.tokenizer.json": change_file,
    "model.safetensors": change_header,
}


@pytest.mark.parametrize("name", FILES)
def test_every_failure_is_reported(name: str, finished_run: Path, tmp_path: Path) -> None:
    kept = shutil.ignore_patterns("ctranslate2-*", ".ctranslate2-*")
    messages: list[str] = []
    for seed in range(CHANGES):
        bundle = Path(shutil.copytree(finished_run / "bundle", tmp_path / str(seed), ignore=kept))
        FILES[name](bundle / name, random.Random(seed))
        if name != "bundle.json":
            about = json.loads((bundle / "bundle.json").read_text("utf-8"))
            about["sha256"][name] = sha256(bundle / name)
            (bundle / "bundle.json").write_text(json.dumps(about), "utf-8")
        try:
            translate = Translator(Bundle.load(bundle), Decoding(beam_size=2, max_length=5))
            translate(["Ein Hund läuft.", "Ω <s> \u2581"])
        except UserError as error:
            messages.append(str(error))
        shutil.rmtree(bundle)
    assert len(messages) > CHANGES / 4
    for message in messages:
        assert str(tmp_path) in message
        assert all(len(line) <= LINE_CHARACTERS and line.isprintable() for line in message.splitlines())


def test_weights_that_cannot_be_opened_are_not_called_damaged(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"^{tmp_path}: Is a directory$"), open_tensors(tmp_path):
        pass
