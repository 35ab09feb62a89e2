"""Engines in forked processes: they refuse to translate there, and the process ends."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import multiprocessing, sys, torch, dragoman
from dragoman.errors import UserError

torch.set_num_threads(3)
path, engine = sys.argv[1:]
translator = dragoman.load(path, engine=engine, batch_tokens=64)
texts = ["Ein Hund läuft.", "Zwei Frauen lesen ein Buch.", "Ein Kind schläft.", "Drei Männer kochen."]
expected = translator(texts)
translator.explain(texts[0])
assert torch.get_num_threads() == 3, "the engine leaves torch's threads as they were"

def refused(function):
    try:
        function(texts[0])
    except UserError as error:
        assert "call dragoman.load in each process" in str(error)
    else:
        raise AssertionError("a forked process cannot use the translator")

def translate():
    refused(translator)

def explain():
    refused(translator.explain)

def explain_first():
    refused(other.explain)

def delete():
    global translator
    del translator

other = dragoman.load(path, engine=engine)
for function in (translate, explain, explain_first, delete):
    child = multiprocessing.get_context("fork").Process(target=function, daemon=True)
    child.start()
    child.join(120)
    assert child.exitcode == 0, f"{function.__name__}: {child.exitcode}"
assert translator(texts) == expected
"""


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_forked_processes_refuse_to_translate_and_end(engine: str, finished_run: Path) -> None:
    if engine == "ctranslate2":
        pytest.importorskip("ctranslate2")
    command = [sys.executable, "-c", PROGRAM, str(finished_run), engine]
    finished = subprocess.run(command, capture_output=True, text=True)
    assert (finished.returncode, finished.stderr) == (0, "")
