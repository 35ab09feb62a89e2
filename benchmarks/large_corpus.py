"""Measure how fast a large corpus is prepared, how soon training starts, and how much memory it takes.

python benchmarks/large_corpus.py
python benchmarks/large_corpus.py --pairs 10000000 --corpus multi30k:train

The corpus repeats a small one. The second command is the full measurement: ten million pairs take about 3 GB of disk,
in --directory, and about ten minutes. Memory is that of the process that trains, compared with training the same model
on the corpus without repetitions.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import tomli_w

from dragoman.corpus.corpus import read_corpus
from dragoman.dataset.buckets import plan_epoch
from dragoman.dataset.prepare import IN_MEMORY_PAIRS

LANGUAGES = ("de", "en")
MIB = 2**20


@dataclass
class Measured:
    """Seconds until the first step of a run, and its peak memory in mebibytes from then on."""

    start: float
    private: float = 0.0
    mapped: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=2 * IN_MEMORY_PAIRS, help="pairs of the large corpus")
    parser.add_argument("--corpus", default="captions:train", help="corpus to repeat, German and English")
    parser.add_argument("--tokenizer", default="bpe", help="text.tokenizer of the recipe")
    parser.add_argument("--steps", type=int, default=100, help="training steps, while memory is measured")
    parser.add_argument("--threads", type=int, default=2, help="threads that train, and processes that encode")
    parser.add_argument("--directory", type=Path, help="directory for temporary files")
    arguments = parser.parse_args()
    measure_plan(arguments.pairs)
    with tempfile.TemporaryDirectory(dir=arguments.directory) as name:
        directory = Path(name)
        pairs = [
            (pair.source.encode(), pair.target.encode())
            for pair in read_corpus(arguments.corpus, source_language=LANGUAGES[0], target_language=LANGUAGES[1])
        ]
        write(directory / "validation", pairs[:50], 50)
        write(directory / "small", pairs, min(len(pairs), IN_MEMORY_PAIRS))
        write(directory / "large", pairs, arguments.pairs)
        small, first, second = (
            measure(directory, run, corpus, arguments)
            for run, corpus in (("small", "small"), ("first", "large"), ("second", "large"))
        )
        store = sum(file.stat().st_size for file in directory.glob("cache/dragoman/prepared/*/*"))
    print(f"prepared {arguments.pairs / (first.start - second.start) * 60:,.0f} pairs/minute; {store / MIB:,.0f} MiB")
    print("                      first step    memory above that of the small corpus: private  mapped")
    for label, run in (("small corpus", small), ("large, first time", first), ("large, second time", second)):
        above = run.private - small.private, run.mapped - small.mapped
        print(f"{label:20} {run.start:8.1f} s  {above[0]:+55.0f} MiB {above[1]:+6.0f} MiB")


def measure_plan(pairs: int) -> None:
    """Plan an epoch of pairs of random lengths."""
    generator = np.random.default_rng(1)
    source = np.minimum(generator.poisson(15, pairs) + 1, 128).astype(np.int32)
    target = np.clip(source + generator.integers(-4, 5, pairs), 1, 128).astype(np.int32)
    started, before = time.perf_counter(), memory("self", "VmHWM")
    plan = plan_epoch(source, target, 1024, seed=1, epoch=0)
    seconds, peak = time.perf_counter() - started, memory("self", "VmHWM") - before
    held = (plan.order.nbytes + plan.firsts.nbytes + plan.ends.nbytes) / MIB
    print(
        f"plan of {pairs:,} pairs: {len(plan):,} batches in {seconds:.2f} s; peak {peak:.0f} MiB, {held:.0f} MiB kept"
    )


def write(path: Path, pairs: list[tuple[bytes, bytes]], number: int) -> None:
    """Write a line-aligned corpus with a number of pairs, repeating the given ones."""
    for side, language in enumerate(LANGUAGES):
        with path.with_suffix(f".{language}").open("wb") as file:
            file.writelines(pair[side] + b"\n" for pair in islice(cycle(pairs), number))


def measure(directory: Path, run: str, corpus: str, arguments: argparse.Namespace) -> Measured:
    """Train a small model with the command line, and measure time and memory from outside."""
    recipe = {
        "name": run,
        "data": {
            "source_language": LANGUAGES[0],
            "target_language": LANGUAGES[1],
            "train": [f"{directory}/{corpus}.{{lang}}"],
            "validation": [f"{directory}/validation.{{lang}}"],
        },
        "text": {"tokenizer": arguments.tokenizer, "vocabulary_size": 4000},
        "model": {"d_model": 64, "heads": 2, "d_ff": 128, "encoder_layers": 2, "decoder_layers": 2},
        "training": {
            "steps": arguments.steps,
            "threads": arguments.threads,
            "validations": 1,
            "validation_sentences": 1,
            "log_every": 1,
            "precision": "float32",
            "device": "cpu",
        },
    }
    (directory / f"{run}.toml").write_text(tomli_w.dumps(recipe))
    paths = [str(directory / f"{run}.toml"), "--output", str(directory / run)]
    log, started, measured = directory / run / "metrics.jsonl", time.perf_counter(), None
    environment = os.environ | {"XDG_CACHE_HOME": str(directory / "cache")}
    with subprocess.Popen([sys.executable, "-m", "dragoman", "train", *paths], env=environment) as process:
        while process.poll() is None:
            time.sleep(0.02)
            if measured is None and log.exists() and log.stat().st_size:
                measured = Measured(time.perf_counter() - started)
            elif measured and (private := memory(str(process.pid), "RssAnon")):
                measured.private = max(measured.private, private)
                measured.mapped = max(measured.mapped, memory(str(process.pid), "RssFile"))
    if process.returncode or measured is None:
        sys.exit(f"{run}: ended with code {process.returncode}")
    return measured


def memory(process: str, kind: str) -> float:
    """Memory of a process in mebibytes, as Linux reports it; 0 if the process has just ended."""
    found = Path(f"/proc/{process}/status").read_text().partition(f"{kind}:")[2].split()
    return int(found[0]) / 1024 if found else 0.0


if __name__ == "__main__":
    main()
