"""How fast training, translating and serving are while other programs compute.

Each is measured alone and next to three other programs: a loop in Python (one thread), a product of matrices in torch
(a thread for each core, with torch's own settings), and a second one of the same kind. A round measures all of them in
turn, because the speed of machines changes. It shows medians, and their ratios to the speed alone.

    python benchmarks/busy.py runs/quickstart --corpus captions:test
    python benchmarks/busy.py runs/quickstart --kinds train --rounds 5 --against ../earlier/src

With --against, training alone is also compared with that of another source tree, in pairs.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from _load import Load, distinct
from _servers import our_server, read_sentences

LOOP = "while True: pass"
PRODUCT = "import torch\na = torch.ones(1024, 1024)\nwhile True: a @ a"
OTHERS = {"a loop": LOOP, "a torch product": PRODUCT}
ALONE, SECOND = "alone", "a second one"
STEPS = ("training.minutes=none", "training.steps=1000000", "training.validations=1", "training.log_every=1")
STEPS_BEFORE = 5  # of a training, which are not measured
EIGHT_CLIENTS = Load(8, 1)

Speeds = list[float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--corpus", default="multi30k:val", help="source sentences to translate")
    parser.add_argument("--recipe", default="multi30k-de-en", help="what to train")
    parser.add_argument("--kinds", nargs="+", default=["train", "torch", "ctranslate2", "serve"])
    parser.add_argument("--others", nargs="+", default=[ALONE, *OTHERS, SECOND])
    parser.add_argument("--sentences", type=int, default=3000, help="to translate")
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement of training and serving")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--port", type=int, default=5071)
    parser.add_argument("--against", type=Path, metavar="SRC", help="another source tree")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        measure = measurements(options, Path(directory))
        for kind in options.kinds:
            speeds: dict[str, Speeds] = {other: [] for other in options.others}
            earlier: Speeds = []
            for _ in range(options.rounds):
                if options.against and kind == "train":
                    earlier.append(train(options, environment(options.against)))
                for other, measured in speeds.items():
                    with running(other):
                        measured.extend(at_once(measure[kind], 2 if other == SECOND else 1))
            show(kind, speeds, earlier)


def measurements(options: argparse.Namespace, directory: Path) -> dict[str, Callable[[], float]]:
    """What to measure, by name."""
    measured: dict[str, Callable[[], float]] = {"train": lambda: train(options, environment())}
    if set(options.kinds) == set(measured):
        return measured  # which needs no bundle
    sentences, languages = read_sentences(options)
    source = directory / "source.txt"
    texts = itertools.islice(distinct(sentences), options.sentences)
    source.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    ports = itertools.count(options.port)
    return measured | {
        "torch": lambda: translate(options, source, "torch"),
        "ctranslate2": lambda: translate(options, source, "ctranslate2"),
        "serve": lambda: serve(options, sentences, languages, next(ports)),
    }


def environment(tree: Path | None = None) -> dict[str, str]:
    return os.environ | ({"PYTHONPATH": str(tree.absolute())} if tree else {})


@contextlib.contextmanager
def running(other: str) -> Iterator[None]:
    """Run a block while another program computes."""
    if other not in OTHERS:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", OTHERS[other]])
    try:
        time.sleep(3)  # until it computes
        yield
    finally:
        process.kill()
        process.wait()


def at_once(measure: Callable[[], float], number: int) -> Speeds:
    """The speeds of several that run at the same time."""
    with ThreadPoolExecutor(number) as pool:
        return [each.result() for each in [pool.submit(measure) for _ in range(number)]]


def train(options: argparse.Namespace, variables: dict[str, str]) -> float:
    """Target tokens per second of the command, from its first steps on."""
    with tempfile.TemporaryDirectory() as directory:
        run = Path(directory) / "run"
        settings = [argument for setting in STEPS for argument in ("--set", setting)]
        command = [sys.executable, "-m", "dragoman", "train", options.recipe, "--output", str(run), *settings]
        process = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            first = wait_for(lambda: logged_steps(run)[STEPS_BEFORE - 1 :], process)[0]
            time.sleep(options.seconds)
            steps = wait_for(lambda: logged_steps(run)[STEPS_BEFORE:], process)  # a slow one may not be over yet
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
    starts = [first["seconds"], *(step["seconds"] for step in steps)]
    tokens = sum(
        step["tokens_per_second"] * (end - start)
        for step, (start, end) in zip(steps, itertools.pairwise(starts), strict=True)
    )
    return float(tokens / (starts[-1] - starts[0]))


def logged_steps(run: Path) -> list[dict[str, float]]:
    """The lines of finished steps."""
    path = run / "metrics.jsonl"
    text = path.read_text("utf-8") if path.is_file() else ""
    lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return [line for line in lines if line["kind"] == "train"]


def wait_for(find: Callable[[], list[dict[str, float]]], process: subprocess.Popen[bytes]) -> list[dict[str, float]]:
    """What `find` returns, once it returns something."""
    while not (found := find()):
        if process.poll() is not None:
            raise SystemExit(f"training ended with status {process.returncode}")
        time.sleep(0.2)
    return found


def translate(options: argparse.Namespace, source: Path, engine: str) -> float:
    """Sentences per second of the command, with the time that it takes to start."""
    command = [sys.executable, "-m", "dragoman", "translate", str(options.bundle), "--input", str(source)]
    begin = time.perf_counter()
    subprocess.run([*command, "--engine", engine], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return float(options.sentences / (time.perf_counter() - begin))


def serve(options: argparse.Namespace, sentences: list[str], languages: tuple[str, str], port: int) -> float:
    """Sentences per second of a server with eight clients."""
    with our_server(options.bundle, "ctranslate2", "int8", port) as server:
        EIGHT_CLIENTS.run(server.url, distinct(sentences[:100]), languages, 2)
        return EIGHT_CLIENTS.run(server.url, distinct(sentences), languages, options.seconds).speed


def show(kind: str, speeds: dict[str, Speeds], earlier: Speeds) -> None:
    unit = "target tokens/s" if kind == "train" else "sentences/s"
    alone = statistics.median(speeds[ALONE]) if ALONE in speeds else 0.0
    for other, measured in speeds.items():
        median = statistics.median(measured)
        share = f"  {median / alone:.2f} of alone" if alone and other != ALONE else ""
        print(
            f"{kind:12} {other:16} {median:9,.0f} {unit} ({min(measured):,.0f}–{max(measured):,.0f}){share}", flush=True
        )
    if earlier and alone:
        ratio = statistics.median(new / old for new, old in zip(speeds[ALONE], earlier, strict=True))
        print(f"{kind:12} earlier, alone   {statistics.median(earlier):9,.0f} {unit}; median of the ratios {ratio:.3f}")


if __name__ == "__main__":
    main()
