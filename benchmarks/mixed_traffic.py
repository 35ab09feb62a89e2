"""Measures a server of one model with many languages: clients of all directions at once, and of one after another.

    python benchmarks/mixed_traffic.py runs/de-dsb-hsb --texts ../shared/data/sorbian

The sentences are those of de-dsb/dev.de.gz and so on. Batches mix directions, so a mixture should take no longer than
the same sentences one direction after another; that is the time with which the mixture is compared.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dragoman
from _load import Load, Measurement, distinct
from _servers import our_server
from dragoman.corpus.pair import Languages
from dragoman.text.multilingual import name_direction
from many_languages import find, read

CLIENTS = 6  # of each direction in the mixture


def main() -> None:
    """Print the speed of each direction alone, and that of the mixture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--texts", type=Path, required=True, help="directory with de-hsb/dev.de and so on")
    parser.add_argument("--seconds", type=float, default=10, help="for each direction, and as much for the mixture")
    parser.add_argument("--rounds", type=int, default=3, help="number of turns into which the seconds are divided")
    parser.add_argument("--engine", default="ctranslate2")
    parser.add_argument("--port", type=int, default=5071)
    options = parser.parse_args()
    directions = dragoman.load(options.bundle).bundle.recipe.data.directions
    sources = {each: read(Path(find(options.texts, name_direction(each), "dev")[0])) for each in directions}
    streams = {each: distinct(sentences) for each, sentences in sources.items()}
    alone = {each: Measurement() for each in directions}
    mixed = {each: Measurement() for each in directions}
    seconds = options.seconds / options.rounds

    def run(direction: Languages, clients: int, seconds: float) -> Measurement:
        return Load(clients, 1).run(server.url, streams[direction], direction, seconds)

    with (
        our_server(options.bundle, options.engine, "int8", options.port) as server,
        ThreadPoolExecutor(len(directions)) as threads,
    ):
        for each in directions:
            run(each, CLIENTS, 1)  # the first requests open the engine
        for _ in range(options.rounds):
            for each in directions:
                alone[each] += run(each, CLIENTS * len(directions), seconds)
            together = len(directions) * seconds
            running = {each: threads.submit(run, each, CLIENTS, together) for each in directions}
            for each, future in running.items():
                mixed[each] += future.result()
    for each in directions:
        print(f"{name_direction(each)}: {alone[each]}; in the mixture {mixed[each]}")
    expected = sum(mixed[each].sentences / alone[each].speed for each in directions)
    taken = max(each.seconds for each in mixed.values())
    print(f"the mixture has {expected / taken:.2f} x the speed of one direction after another (at least 0.95)")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
