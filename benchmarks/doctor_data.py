"""Time and memory of `dragoman doctor data` on many pairs.

Run: python benchmarks/doctor_data.py --pairs 1000000

The built-in captions are written repeatedly, with a number in each line so that no pair is a duplicate, and every
ten-thousandth line is damaged. The output shows seconds, pairs per second and the peak memory of the process. The goal
is 1,000,000 pairs in two minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

from dragoman.corpus.synthetic.captions import captions
from dragoman.doctor.data.check import check_corpora
from dragoman.doctor.data.corpora import corpora_of_files


def write_pairs(directory: Path, pairs: int) -> tuple[Path, Path]:
    """Write line-aligned files with this number of pairs."""
    paths = directory / "train.de", directory / "train.en"
    with paths[0].open("w", encoding="utf-8") as sources, paths[1].open("w", encoding="utf-8") as targets:
        for number, (german, english) in enumerate(islice(cycle(captions("train")), pairs)):
            sources.write(f"{german} {number}\n")
            targets.write(f"{german if number % 10_000 == 0 else english} {number}\n")
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the time and memory of the checks of parallel text.")
    parser.add_argument(
        "--pairs", type=int, default=1_000_000, help="number of pairs to write and check (default: 1000000)"
    )
    pairs = parser.parse_args().pairs
    with tempfile.TemporaryDirectory() as directory:
        files = write_pairs(Path(directory), pairs)
        size = sum(path.stat().st_size for path in files)
        started, computed = time.perf_counter(), time.process_time()
        findings = check_corpora(corpora_of_files(*files, None))
        seconds, computing = time.perf_counter() - started, time.process_time() - computed
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    counts = {finding.code: finding.measured["count"] for finding in findings}
    assert counts == {"copied-source": (pairs + 9_999) // 10_000}, f"only copies are expected, not {counts}"
    print(f"machine: {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    rate = f"{seconds:.1f} s ({computing:.1f} s of computing), {pairs / seconds:,.0f} pairs/s"
    print(f"{pairs:,} pairs, {size / 1e6:,.1f} MB: {rate}, {memory:,.0f} MB peak memory")


if __name__ == "__main__":
    main()
