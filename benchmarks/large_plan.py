"""Measure how long `dragoman init` takes for a large text, and how much memory.

python benchmarks/large_plan.py --pairs 1000000

Each pair joins two random pairs of real corpora, so that nearly all of them are different. The files stay in
--directory, and the cleaned copy in a cache that is deleted. Memory is that of all processes, shared pages divided
among them.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dragoman.corpus.corpus import read_corpus

CORPORA = ("tatoeba-de-en:train", "libreoffice-de-en:train", "multi30k:train")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--corpora", nargs="+", default=CORPORA, help="German and English text")
    parser.add_argument("--directory", type=Path, default=Path("runs/large_plan"))
    arguments = parser.parse_args()
    files = write_text(arguments.directory, arguments.corpora, arguments.pairs)
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "dragoman", "init", *map(str, files), "--output", f"{directory}/recipe.toml"]
        started = time.monotonic()
        process = subprocess.Popen(command, env=os.environ | {"XDG_CACHE_HOME": directory})
        peak = 0
        while process.poll() is None:
            peak = max(peak, sum(map(memory, [process.pid, *children(process.pid)])))
            time.sleep(2)  # reading the sizes stops the processes
        seconds = time.monotonic() - started
    print(f"{arguments.pairs:,} pairs: {seconds:.1f} s, at most {peak / 1e6:,.0f} MB; exit code {process.returncode}")


def write_text(directory: Path, corpora: list[str], pairs: int) -> list[Path]:
    """The files, written unless they exist."""
    files = [directory / f"{pairs}.{language}" for language in ("de", "en")]
    if not all(file.exists() for file in files):
        directory.mkdir(parents=True, exist_ok=True)
        found = [pair for name in corpora for pair in read_corpus(name, source_language="de", target_language="en")]
        generator = random.Random(1)
        with files[0].open("w", encoding="utf-8") as source, files[1].open("w", encoding="utf-8") as target:
            for _ in range(pairs):
                one, other = generator.choice(found), generator.choice(found)
                source.write(f"{one.source} {other.source}\n")
                target.write(f"{one.target} {other.target}\n")
    return files


def children(process: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:  # it has ended
        return []


def memory(process: int) -> int:
    """Proportional set size in bytes; 0 if the process has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


if __name__ == "__main__":
    main()
