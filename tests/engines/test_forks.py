"""Engines in forked processes: they translate there too, and the process ends."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.kernels.operators import HAS_ONEDNN_LINEAR

PROGRAM = """
import multiprocessing, sys, torch, dragoman

torch.set_num_threads(3)
path, engine = sys.argv[1:]
translator = dragoman.load(path, engine=engine, batch_tokens=64)
texts = ["Ein Hund läuft.", "Zwei Frauen lesen ein Buch.", "Ein Kind schläft.", "Drei Männer kochen."]
expected = translator(texts)
assert torch.get_num_threads() == 3, "the engine leaves torch's threads as they were"

def translate():
    assert [str(each) for each in translator(texts)] == list(map(str, expected))

def delete():
    global translator
    del translator

for function in (translate, delete):
    child = multiprocessing.get_context("fork").Process(target=function, daemon=True)
    child.start()
    child.join(120)
    assert child.exitcode == 0, f"{function.__name__}: {child.exitcode}"
assert translator(texts) == expected
"""

FORKS_AFTER_BATCHES = """
import multiprocessing, torch
from dragoman.engines.batching import run_batches, use_one_thread_after_fork

torch.set_num_threads(3)
left, right = torch.randn(40, 64), torch.randn(64, 300)

def child():
    use_one_thread_after_fork(-1)
    left @ right

for _ in range(60):
    run_batches(lambda batch: left @ right, [[0], [1], [2]], torch.device("cpu"))
    process = multiprocessing.get_context("fork").Process(target=child, daemon=True)
    process.start()
    process.join(60)
    assert process.exitcode == 0, process.exitcode
"""


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
def test_no_thread_holds_a_lock_of_mkl_when_the_batches_are_done() -> None:
    """Without waiting for the threads, about one child in seven never ends."""
    finished = subprocess.run([sys.executable, "-c", FORKS_AFTER_BATCHES], capture_output=True, text=True)
    assert (finished.returncode, finished.stderr) == (0, "")


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
@pytest.mark.parametrize("engine", ["ctranslate2", "cpu", "torch"])
def test_forked_processes_translate_and_end(engine: str, finished_run: Path) -> None:
    if engine == "ctranslate2":
        pytest.importorskip("ctranslate2")
    if engine == "cpu" and not HAS_ONEDNN_LINEAR:
        pytest.skip("this processor has no AVX-512")
    command = [sys.executable, "-c", PROGRAM, str(finished_run), engine]
    finished = subprocess.run(command, capture_output=True, text=True)
    assert (finished.returncode, finished.stderr) == (0, "")
