"""dragoman doctor model: bundles and factories, output and exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import Command, is_running
from dragoman.cli.output import has_colors
from dragoman.doctor.findings.finding import Findings
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.loading import examine_code
from dragoman.errors import UserError
from dragoman.learn.exercises import SOLUTION

FACTORY = """
import torch

def correct():
    from dragoman.model.build import build_model
    from dragoman.settings import Model
    settings = Model(d_model=32, heads=4, d_ff=64, encoder_layers=1, decoder_layers=1, max_length=140)
    model = build_model(settings, 50, 50, source_pad=1, seed=1).eval()
    ids = {"vocabulary_size": 50, "pad_id": 1, "bos_id": 2, "eos_id": 3}
    return {"forward": model, "parameters": model.named_parameters(), **ids}

def leaking():
    arguments = correct()
    model = arguments["forward"]
    arguments["forward"] = lambda source, target: model(source, target) + model(source, target.flip(1)).flip(1)
    return arguments

def mistyped():
    return {**correct(), "vocabulary_sise": 3}

def wrong():
    return torch.zeros(3)

def failing():
    raise ValueError("no data")

number = 3
"""


@pytest.fixture
def factory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")  # restored afterwards
    name = f"models_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(FACTORY, encoding="utf-8")
    return name


def test_a_trained_bundle_is_healthy(command: Command, finished_run: Path) -> None:
    outcome = command("doctor", "model", finished_run, "--json")
    assert outcome.code == 0, outcome.error
    assert all(finding["severity"] == "note" for finding in json.loads(outcome.out))


def test_a_correct_model_of_a_factory_is_healthy(command: Command, factory: str) -> None:
    outcome = command("doctor", "model", f"{factory}:correct", "--overfit")
    assert outcome.code == 0, outcome.out


def test_a_leak_is_reported_with_cause_and_fix_and_exit_code_1(command: Command, factory: str) -> None:
    outcome = command("doctor", "model", f"{factory}:leaking")
    assert outcome.code == 1
    assert outcome.out.startswith("error: future-leak: ")
    assert "\n  cause: " in outcome.out
    assert "\n  fix: " in outcome.out
    findings = json.loads(command("doctor", "model", f"{factory}:leaking", "--json").out)
    assert findings[0]["code"] == "future-leak"
    assert findings[0]["measured"]["probability"] > 1e-3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mistyped", "unknown key 'vocabulary_sise'; did you mean 'vocabulary_size'?"),
        ("wrong", "must return a mapping"),
        ("failing", "in models_"),
        ("number", "number must be a function, not int"),
        ("wrong", '"vocabulary_size": '),
        ("corect", "did you mean 'correct'?"),
    ],
)
def test_wrong_factories_are_refused(factory: str, name: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        list(examine_code(f"{factory}:{name}", overfit=False, device="cpu"))


def test_a_missing_constant_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))  # restored afterwards
    path = tmp_path / "lacks_a_constant.py"
    path.write_text("class Transformer: pass\nPAD, EOS = 0, 2\n", encoding="utf-8")
    with pytest.raises(UserError, match="the constants PAD, BOS and EOS; missing: BOS"):
        list(examine_code(str(path), overfit=False, device="cpu"))


FILES = {
    "right.py": FACTORY.replace("def correct", "def translator"),
    "more/wrong.py": FACTORY + "\nprint('[1, 2]')\ntranslator = leaking\n",
    "broken.py": "import warnings\nwarnings.warn('an old name')\nimport nothing_of_that_name\n",
    "empty.py": "",
    "_helper.py": "raise SystemExit\n",
}


@pytest.mark.slow
def test_a_directory_is_graded_file_by_file(command: Command, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "course.py").write_text(SOLUTION.read_text(encoding="utf-8"), encoding="utf-8")
    outcome = command("doctor", "model", tmp_path, "--seconds", "300", "--json")
    assert outcome.code == 1
    grades = {grade["name"]: grade for grade in json.loads(outcome.out)}
    assert {name: grade["result"] for name, grade in grades.items()} == {
        "right.py": "right",
        "course.py": "right",
        "more/wrong.py": "wrong",
        "broken.py": "failed",
        "empty.py": "failed",
    }
    assert "future-leak" in {finding["code"] for finding in grades["more/wrong.py"]["findings"]}
    assert "nothing_of_that_name" in grades["broken.py"]["summary"]
    assert "def translator(): return" in grades["empty.py"]["summary"]
    assert "class Transformer" in grades["empty.py"]["summary"]


def test_a_file_that_does_not_end_is_ended(command: Command, tmp_path: Path) -> None:
    text = "import subprocess, time\nsubprocess.Popen(['sleep', '1000'])\ntime.sleep(1000)\n"
    (tmp_path / "unfinished.py").write_text(text, encoding="utf-8")
    outcome = command("doctor", "model", tmp_path, "--seconds", "2")
    assert outcome.code == 1
    grade, summary = outcome.out.splitlines()
    assert grade.startswith("failed    unfinished.py  not finished after 2 s")  # and where, if it got so far
    assert summary == "0 of 1 files have no errors"


@pytest.mark.parametrize("end", ["os._exit(0)", "os._exit(1)", "os.kill(os.getpid(), signal.SIGKILL)", "sys.exit(0)"])
def test_what_a_file_prints_before_it_ends_is_no_finding(command: Command, tmp_path: Path, end: str) -> None:
    text = f"import os, signal, sys\ndef translator():\n    print('[]', flush=True)\n    {end}\n"
    (tmp_path / "ended.py").write_text(text, encoding="utf-8")
    outcome = command("doctor", "model", tmp_path)
    assert outcome.code == 1
    assert outcome.out.startswith("failed    ended.py  the ")
    assert ("ended.py, line 4" in outcome.out) == ("SIGKILL" not in end)


def test_names_of_files_are_shown_safely(command: Command, tmp_path: Path) -> None:
    names = [b"a \xff\nb \x1b[31m.py", b"next.py"]
    for name in names:
        with open(os.path.join(os.fsencode(tmp_path), name), "w", encoding="utf-8") as file:
            file.write("raise BaseException('a\\nb \\x1b[31m')\n")
    *rows, summary = command("doctor", "model", tmp_path).out.splitlines()
    assert summary == "0 of 2 files have no errors"
    for row, shown in zip(rows, ["a \\udcff\\nb \\x1b[31m.py", "next.py"], strict=True):
        assert row == f"failed    {shown}  cannot be imported: BaseException in {shown}, line 1: a b \\x1b[31m"
    graded = json.loads(command("doctor", "model", tmp_path, "--json").out)
    assert [os.fsencode(each["name"]) for each in graded] == names


@pytest.mark.parametrize("end", ["os._exit(0)", "exit()", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_file_that_ends_the_program_is_not_healthy(command: Command, tmp_path: Path, end: str) -> None:
    text = f"import os, signal, sys\ndef translator():\n    print('[]', flush=True)\n    {end}\n"
    (tmp_path / "ended.py").write_text(text, encoding="utf-8")
    outcome = command("doctor", "model", tmp_path / "ended.py", "--json")
    assert outcome.code == 2
    assert outcome.out == ""
    assert ("ended.py, line 4" in outcome.error) == ("SIGKILL" not in end)


@pytest.mark.slow
def test_an_interrupted_command_ends_running_files(tmp_path: Path) -> None:
    for name in ("first", "second", "third"):
        text = f"import os, pathlib, time\npathlib.Path('{tmp_path}/{name}.started').write_text(str(os.getpid()))\n"
        (tmp_path / f"{name}.py").write_text(f"{text}time.sleep(1000)\n", encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "dragoman", "doctor", "model", str(tmp_path), "--seconds", "1000"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not (started := [path for path in tmp_path.glob("*.started") if path.read_text("utf-8")]):
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(100) == 130
    finally:
        process.kill()
    assert not any(is_running(int(path.read_text("utf-8"))) for path in started)


def test_colors_are_for_terminals_only(command: Command, factory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in command("doctor", "model", f"{factory}:leaking").out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert has_colors()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not has_colors()


def test_findings_are_shown_in_colors_and_as_a_table() -> None:
    finding = make_finding("future-leak", "1 < 2", {})
    assert finding.shown(color=True).startswith("\x1b[1;31merror\x1b[0m: future-leak")
    table = Findings([finding])._repr_html_()
    assert "1 &lt; 2" in table
    assert table.count("<tr>") == 2
    assert "no problems found" in Findings()._repr_html_()


def test_missing_bundles_and_modules_are_refused(command: Command, tmp_path: Path) -> None:
    assert "no such bundle" in command("doctor", "model", tmp_path / "none").error
    assert "cannot import no_such_module_anywhere" in command("doctor", "model", "no_such_module_anywhere:make").error
