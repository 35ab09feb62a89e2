"""Measures the server on one bundle: sentences per second and waiting times of clients.

    python benchmarks/serving.py runs/mine --corpus multi30k:val
    python benchmarks/serving.py runs/mine --corpus multi30k:val --libretranslate DIRECTORY

With --libretranslate, an environment of Python with the package libretranslate, LibreTranslate serves the same weights
(our export for Argos, int8) in two ways: tuned for this load, and with its defaults. All servers run at the same time,
and are measured in turns, because the speed of machines changes.

Every client is a thread that sends one request after another. The sentences of a measurement are distinct, so nothing
is translated twice; every server gets the same ones.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
from pathlib import Path

from _load import Load, Measurement, distinct
from _servers import BEAM, Server, libretranslate, our_server, prepare_libretranslate, read_sentences, server_parser
from dragoman.cli.options import EngineOptions, open_translator
from dragoman.translator import Translator

OURS, TUNED, DEFAULTS, ENGINE = "dragoman", "LibreTranslate, tuned", "LibreTranslate, defaults", "engine, all at once"
MANY, SOME, ONE, LIST = Load(32, 1), Load(8, 1), Load(1, 1), Load(1, 100)
SPEED_BARS = ((MANY, TUNED, 1.5), (MANY, DEFAULTS, 5.0), (MANY, ENGINE, 0.65), (LIST, TUNED, 2.5))
P95_BARS = ((SOME, TUNED, 0.6), (ONE, TUNED, 1.0))

Results = dict[tuple[Load, str], Measurement]


def main() -> None:
    parser = server_parser(__doc__)
    parser.add_argument("--libretranslate", type=Path, metavar="DIRECTORY", help="compare with LibreTranslate")
    parser.add_argument("--seconds", type=float, default=60, help="for each server and kind of load")
    parser.add_argument("--rounds", type=int, default=4, help="number of turns into which the seconds are divided")
    options = parser.parse_args()
    sentences, languages = read_sentences(options)
    engine = EngineOptions(options.engine, compute_type=options.compute_type, token_scores=False)
    translator = open_translator(options.bundle, [BEAM], engine)
    translator(sentences[:64])
    with contextlib.ExitStack() as stack:
        servers = start_servers(stack, options, languages)
        show_ratios(measure(servers, translator, sentences, options))


def start_servers(
    stack: contextlib.ExitStack, options: argparse.Namespace, languages: tuple[str, str]
) -> dict[str, Server]:
    """The servers by name; the stack stops them."""
    ours = our_server(options.bundle, options.engine, options.compute_type, options.port)
    servers = {OURS: stack.enter_context(ours)}
    if options.libretranslate:
        python = options.libretranslate.absolute()
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        prepare_libretranslate(options.bundle, languages, directory)
        for port, (name, tuned) in enumerate(((TUNED, True), (DEFAULTS, False)), options.port + 1):
            servers[name] = stack.enter_context(libretranslate(python, directory, tuned, port))
    return servers


def measure(
    servers: dict[str, Server], translator: Translator, sentences: list[str], options: argparse.Namespace
) -> Results:
    """Measure each load on each server, in turns, and print it."""
    data = translator.bundle.recipe.data
    results: Results = {}
    seconds = options.seconds / options.rounds
    for load in (MANY, SOME, ONE, LIST):
        streams = {name: distinct(sentences) for name in servers}
        before = {name: server.cpu_seconds for name, server in servers.items()}
        for _ in range(options.rounds):
            for name, server in servers.items():
                languages = data.source_language, data.target_language
                found = load.run(server.url, streams[name], languages, seconds)
                results[load, name] = results.get((load, name), Measurement()) + found
            if load == MANY:
                found = translate_at_once(translator, sentences)
                results[load, ENGINE] = results.get((load, ENGINE), Measurement()) + found
        for name, server in servers.items():
            found = results[load, name]
            cpu = 1000 * (server.cpu_seconds - before[name]) / found.sentences
            print(f"{load}, {name}: {found}, {cpu:.1f} ms of CPU per sentence", flush=True)
    print(f"{ENGINE}: {results[MANY, ENGINE].speed:.1f} sentences/s")
    return results


def translate_at_once(translator: Translator, sentences: list[str]) -> Measurement:
    """The engine without a server."""
    begin = time.perf_counter()
    translator(sentences)
    return Measurement(len(sentences), time.perf_counter() - begin)


def show_ratios(results: Results) -> None:
    """Print what our server is compared with the others, next to what it should be."""
    for load, other, bar in SPEED_BARS:
        if (load, other) in results:
            ratio = results[load, OURS].speed / results[load, other].speed
            print(f"{load}: {ratio:.2f} x the speed of {other} (at least {bar})")
    for load, other, bar in P95_BARS:
        if (load, other) in results:
            ratio = results[load, OURS].p95 / results[load, other].p95
            print(f"{load}: {ratio:.2f} x the p95 of {other} (at most {bar})")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
