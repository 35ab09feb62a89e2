"""The commands and the code that the report shows work."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from metric_lines import RECIPE

from dragoman.training.report.report import usages

if TYPE_CHECKING:
    from conftest import Command


def shown_code(run: Path) -> list[str]:
    """The commands and the Python code on the page of a run."""
    page = (run / "report.html").read_text(encoding="utf-8")
    return [unescape(code) for code in re.findall(r"<pre><code>(.*?)</code></pre>", page, re.DOTALL)]


def test_every_command_of_a_report_runs(
    finished_run: Path, corpus: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("input", "my"):
        for language in ("de", "en"):
            Path(f"{name}.{language}").write_text((corpus / f"test.{language}").read_text("utf-8"), "utf-8")
    commands = [code for code in shown_code(finished_run) if code.startswith("dragoman ")]
    assert {shlex.split(each)[1] for each in commands} == {"translate", "inspect", "evaluate", "export"}
    for each in commands:
        outcome = command(*shlex.split(each)[1:])
        assert outcome.code == 0, outcome.error
    assert {"output.en", "inspect.html", "exported"} <= {path.name for path in tmp_path.iterdir()}


def test_the_python_code_of_a_report_runs(finished_run: Path) -> None:
    (code,) = (code for code in shown_code(finished_run) if code.startswith("import "))
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip()


@pytest.mark.parametrize("text", ["-5 Grad", "it's", "$HOME `x`", ""])
def test_any_text_and_path_survive_the_shell(text: str) -> None:
    run = Path("runs/my run")
    translate, *_ = usages(run, RECIPE, ["a longer text than the others", text])
    words = shlex.split(translate.code)
    assert words[:3] == ["dragoman", "translate", str(run)]
    assert words[-1] == (text or "a longer text than the others")
    assert ("--" in words) == text.startswith("-")
