"""The package `translate` of npm, unmodified."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from running_server import Running

PACKAGES = Path(__file__).parents[2] / ".venv" / "npm"
"""Where `make node` installs it."""

SCRIPT = """
import translate from "translate";

const [url, ...texts] = process.argv.slice(2);
Object.assign(translate, { engine: "libre", url, from: "de" });
console.log(JSON.stringify(await Promise.all(texts.map((text) => translate(text, "en")))));
"""


def test_translate(server: Running) -> None:
    if not shutil.which("node") or not (PACKAGES / "node_modules" / "translate").is_dir():
        assert "REQUIRE_NODE" not in os.environ, "node, or its package translate, is not installed"
        pytest.skip("node, or its package translate, is not installed; make node installs both")
    texts = ["Ein Hund läuft.", "Zeile 1\nZeile 2 & <b>", "Eine Frau liest. Sie lacht."]
    command = ["node", "--input-type=module", "-", f"{server.url}/translate", *texts]
    completed = subprocess.run(command, cwd=PACKAGES, input=SCRIPT, capture_output=True, text=True, timeout=60)
    assert completed.returncode == 0, completed.stderr
    assert json.loads(completed.stdout) == [
        "en[Ein Hund läuft.]",
        "en[Zeile 1]\nen[Zeile 2 & <b>]",
        "en[Eine Frau liest.] en[Sie lacht.]",
    ]
