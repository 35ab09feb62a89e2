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
from many_bundles import DIRECTIONS, make_many, texts
from metric_lines import FACTS, RECIPE, sample, validation_line

from dragoman.text.multilingual import name_direction
from dragoman.training.report.report import render_report, usages

if TYPE_CHECKING:
    from conftest import Command


def shown_code(run: Path) -> list[str]:
    """The commands and the Python code on the page of a run."""
    page = (run / "report.html").read_text(encoding="utf-8")
    return [unescape(code) for code in re.findall(r"<pre><code>(.*?)</code></pre>", page, re.DOTALL)]


@pytest.fixture(scope="module")
def run_of_many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of six directions, with the report of its run."""
    run, bundle = tmp_path_factory.mktemp("many") / "run", make_many(decoding__max_length=12)
    bundle.save(run / "bundle")
    samples = [
        sample("…") | {"source": texts("test", 1)[direction[0]][0], "direction": name_direction(direction)}
        for direction in DIRECTIONS[::-1]
    ]
    page = render_report(bundle.recipe, FACTS, [validation_line(100, samples=samples)], run)
    (run / "report.html").write_text(page, "utf-8")
    return run


@pytest.fixture(params=["finished_run", "run_of_many"])
def run(request: pytest.FixtureRequest) -> Path:
    """A run with one direction or with several."""
    found: Path = request.getfixturevalue(request.param)
    return found


def test_every_command_of_a_report_runs(
    run: Path, corpus: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("input", "my"):
        for language in ("de", "en"):
            Path(f"{name}.{language}").write_text((corpus / f"test.{language}").read_text("utf-8"), "utf-8")
    commands = [code for code in shown_code(run) if code.startswith("dragoman ")]
    assert {shlex.split(each)[1] for each in commands} == {"translate", "inspect", "evaluate", "export"}
    for each in commands:
        outcome = command(*shlex.split(each)[1:])
        assert outcome.code == 0, outcome.error
    assert {"output.en", "inspect.html", "exported"} <= {path.name for path in tmp_path.iterdir()}


def test_the_python_code_of_a_report_runs(run: Path) -> None:
    (code,) = (code for code in shown_code(run) if code.startswith("import "))
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip()


def test_the_example_is_in_the_source_language(run_of_many: Path) -> None:
    translate, *_ = shown_code(run_of_many)
    assert shlex.split(translate)[3:] == ["--target-language", "en", texts("test", 1)["de"][0]]


@pytest.mark.parametrize("text", ["-5 Grad", "it's", "$HOME `x`", ""])
def test_any_text_and_path_survive_the_shell(text: str) -> None:
    run = Path("runs/my run")
    translate, *_ = usages(run, RECIPE, ["a longer text than the others", text])
    words = shlex.split(translate.code)
    assert words[:3] == ["dragoman", "translate", str(run)]
    assert words[-1] == (text or "a longer text than the others")
    assert ("--" in words) == text.startswith("-")
