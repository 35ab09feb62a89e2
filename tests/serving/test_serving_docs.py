"""The requests in docs/serving.md are answered."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from running_server import StartServer

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
COMMANDS = (
    "".join(re.findall(r"^```bash\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)).replace("\\\n", " ").splitlines()
)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("command", COMMANDS)
def test_documented_requests_are_answered(start_server: StartServer, command: str) -> None:
    server = start_server(corrections=1000)
    words = command.replace("http://127.0.0.1:5000", server.url).replace("curl ", "curl --silent --fail ", 1)
    completed = subprocess.run(["bash", "-c", words], capture_output=True, check=True, text=True)
    assert "error" not in completed.stdout
    assert completed.stdout.startswith(("{", "["))
