"""Compare the training speed of dragoman and other toolkits, on one machine and in one run.

Multi30k German to English, joint BPE of 10,000, 3+3 layers of 256 (4 heads, feed-forward 1,024), tied embeddings, label
smoothing 0.1, dropout 0.1, Adam, 4,096 target tokens per batch. Speed is target tokens per second without padding;
memory is the peak resident size of the process. The other toolkits read the same subwords, each in a separate virtual
environment.

make bench-training
python benchmarks/training.py --peers dragoman marian tutorial --steps 40
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch

from dragoman.dataset.prepare import Dataset, prepare
from dragoman.recipe import build_recipe, save_recipe
from dragoman.settings import Recipe

HERE = Path(__file__).parent
PEERS = ("dragoman", "tutorial", "marian", "joeynmt", "eole")
HALF = {"dragoman", "tutorial", "marian", "eole"}
"""Toolkits that can train in bfloat16 on a CPU."""

SOURCE_LAYER = 4 * 256**2 + 2 * 256 * 1024  # multiplications per token: four projections of attention, and feed-forward
TARGET_LAYER = 6 * 256**2 + 2 * 256 * 1024  # in addition, queries and outputs of attention to the source
MEMORY_LAYER = 2 * 256**2  # keys and values of the source, in each decoder layer
LAYERS, D_MODEL = 3, 256


@dataclass(frozen=True)
class Outcome:
    """Target tokens per second, memory in MB, and the fraction of tokens that are not padding, if known."""

    tokens_per_second: float
    memory: float
    real: float | None = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", nargs="+", choices=PEERS, help="default: all that are installed")
    parser.add_argument("--precisions", nargs="+", choices=("float32", "bfloat16"), default=("float32", "bfloat16"))
    parser.add_argument("--steps", type=int, default=60, help="steps of a run; the first third is not measured")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--environments", type=Path, default=Path(".venv-peers"), help="of other toolkits")
    arguments = parser.parse_args()
    arguments.peers = arguments.peers or [peer for peer in PEERS if installed(peer, arguments.environments)]
    with tempfile.TemporaryDirectory() as directory:
        recipe = make_recipe(arguments.steps)
        data = prepare(recipe, None, None, lambda text: None)
        write_data(data, Path(directory))
        save_recipe(recipe, Path(directory) / "recipe.toml")
        for precision in arguments.precisions:
            peers = [peer for peer in arguments.peers if precision == "float32" or peer in HALF]
            outcomes: dict[str, list[Outcome]] = {peer: [] for peer in peers}
            matrix_products = []
            for _ in range(
                arguments.repeats
            ):  # in turn, so that changes in the speed of the machine affect all equally
                matrix_products.append(large_product(precision))
                for peer in peers:
                    outcomes[peer].append(run(peer, precision, Path(directory), arguments))
            report(precision, outcomes, statistics.median(matrix_products), arithmetic(data))


def installed(peer: str, environments: Path) -> bool:
    """Whether a toolkit is installed; make bench-training installs those with separate environments."""
    if peer == "marian":
        return find_spec("transformers") is not None
    return peer in ("dragoman", "tutorial") or (environments / peer).is_dir()


def make_recipe(steps: int) -> Recipe:
    """The recipe of the configuration above."""
    return build_recipe(
        {
            "name": "benchmark",
            "data": {
                "source_language": "de",
                "target_language": "en",
                "train": ["multi30k:train"],
                "validation": ["multi30k:val"],
            },
            "text": {"tokenizer": "bpe", "vocabulary_size": 10_000},
            "model": {
                "d_model": D_MODEL,
                "heads": 4,
                "d_ff": 1024,
                "encoder_layers": LAYERS,
                "decoder_layers": LAYERS,
                "dropout": 0.1,
            },
            "training": {
                "steps": steps,
                "batch_tokens": 4096,
                "label_smoothing": 0.1,
                "validations": 1,
                "validation_sentences": 1,
                "log_every": 5,
            },
        }
    )


def write_data(data: Dataset, directory: Path) -> None:
    """Write ids for toolkits that read arrays, and subwords for those that read text."""
    vocabulary = data.source.vocabulary
    np.savez(
        directory / "ids.npz",
        source=data.train.source.ids,
        source_offsets=data.train.source.offsets,
        target=data.train.target.ids,
        target_offsets=data.train.target.offsets,
        specials=np.array(vocabulary.special_ids),
        size=np.array(len(vocabulary)),
    )
    for language, store in (("de", data.train.source), ("en", data.train.target)):
        lines = (" ".join(vocabulary.tokens[index] for index in store[number]) for number in range(len(store)))
        directory.joinpath(f"train.{language}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    directory.joinpath("vocabulary.txt").write_text("\n".join(vocabulary.tokens[4:]) + "\n", encoding="utf-8")


def run(peer: str, precision: str, directory: Path, arguments: argparse.Namespace) -> Outcome:
    """Train with a toolkit in a new process."""
    foreign = arguments.environments / peer / "bin" / "python"
    python = str(foreign) if foreign.exists() else sys.executable
    command = [python, str(HERE / "peers" / f"{peer}_training.py"), str(directory), precision, str(arguments.steps)]
    read, write = os.pipe()
    with open(os.devnull, "w") as nowhere:
        actions = [(os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_DUP2, nowhere.fileno(), 2)]
        process = os.posix_spawn(python, command, os.environ, file_actions=actions)
    os.close(write)
    with os.fdopen(read) as output:
        lines = output.read().strip().splitlines()
    _, status, usage = os.wait4(process, 0)
    if status or not lines:
        sys.exit(f"{' '.join(command)} failed; run this command to see why")
    result = json.loads(lines[-1])
    return Outcome(result["tokens_per_second"], usage.ru_maxrss / 1024, result.get("real"))


def large_product(precision: str) -> float:
    """GFLOP/s of a product of two large matrices."""
    size = 4096
    a, b = (torch.randn(size, size, dtype=getattr(torch, precision)) for _ in range(2))
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        a @ b
        seconds.append(time.perf_counter() - started)
    return 2 * size**3 / statistics.median(seconds) / 1e9


def arithmetic(data: Dataset) -> float:
    """Floating-point operations of training on one target token, without the products inside attention."""
    ratio = len(data.train.source.ids) / len(data.train.target.ids)  # source tokens per target token
    source = LAYERS * (SOURCE_LAYER + MEMORY_LAYER) * ratio
    target = LAYERS * TARGET_LAYER + D_MODEL * len(data.target.vocabulary)
    return 3 * 2 * (source + target)  # forward, and twice as much backward; a multiplication and an addition


def report(precision: str, outcomes: dict[str, list[Outcome]], product: float, operations: float) -> None:
    """Print medians, and the ratio of our speed to each."""
    speeds = {peer: statistics.median(one.tokens_per_second for one in runs) for peer, runs in outcomes.items()}
    print(f"\n{precision}: a large matrix product computes {product:.0f} GFLOP/s")
    print(f"{'':10} tokens/s  ours is  of the product  memory  not padding")
    for peer, speed in speeds.items():
        memory = statistics.median(one.memory for one in outcomes[peer]) / 1024
        real = outcomes[peer][0].real
        print(
            f"{peer:10} {speed:8,.0f}  {speeds.get('dragoman', speed) / speed:6.2f}x  "
            f"{speed * operations / product / 1e9:14.0%}  {memory:4.2f} GB  {f'{real:.1%}' if real else '':>10}"
        )


if __name__ == "__main__":
    main()
