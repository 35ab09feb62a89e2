"""Train the same model with other shares of copy examples, and measure what they cost and what they teach.

dragoman init multi30k:train --languages de-en --validation multi30k:val --minutes 5 --output captions.toml
python benchmarks/copy_examples.py captions.toml --shares 0 0.2 --set training.minutes=none --set training.steps=800

Only the share of the pairs that become examples (`COPY_EXAMPLES` in dataset/encode.py) differs; the tokenizers and the
number of steps are the same. The loss is that of the validation text as it is. `placeholders.py` says what the other
figures are.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import torch

from dragoman.bundle import Bundle
from dragoman.dataset import encode
from dragoman.dataset.prepare import Dataset, prepare
from dragoman.engines import EngineRequest
from dragoman.evaluation.teacher_forcing import score_teacher_forced
from dragoman.recipe import load_recipe
from dragoman.settings import Recipe
from dragoman.system.progress import ProgressLine
from dragoman.system.time_limit import evenly_spaced
from dragoman.training.loop.state import build_state
from dragoman.training.loop.trainer import Trainer
from dragoman.training.run.log import MetricsFile, RunLog
from dragoman.translator import Translator
from placeholders import KINDS, measure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", type=Path, help="with training.steps, and a small corpus, which is not cached")
    parser.add_argument("--shares", nargs="+", type=float, default=[0.0, 0.05, 0.1, 0.2, 0.4])
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting")
    parser.add_argument("--sentences", type=int, default=500, help="validation sentences to insert spans into")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    recipe = load_recipe(arguments.recipe, arguments.set)
    tokenizers = None
    for share in arguments.shares:
        encode.COPY_EXAMPLES = round(1 / share) if share else sys.maxsize
        data = prepare(recipe, None, tokenizers, print)
        tokenizers = data.source, data.target
        tokens = len(data.train.source.ids) + len(data.train.target.ids)
        print(f"\nshare {share:g}: {tokens:,} tokens in the training text")
        with tempfile.TemporaryDirectory() as directory:
            train_and_measure(recipe, data, Path(directory), arguments.sentences)


def train_and_measure(recipe: Recipe, data: Dataset, run: Path, sentences: int) -> None:
    started = time.process_time()
    log = RunLog(ProgressLine(""), MetricsFile(run / "metrics.jsonl", after_step=0))
    trainer = Trainer(recipe, run, data, build_state(recipe, data, torch.device("cpu")), log)
    assert recipe.training.steps, "the recipe has training.steps"
    for _ in range(recipe.training.steps):
        trainer.take_step(trainer.batches.next_step())
    log.metrics.close()
    print(f"trained in {time.process_time() - started:.0f} s of CPU time")
    Bundle(recipe, trainer.state.deployed.eval(), data.source, data.target).save(run / "bundle", recipe)
    bundle = Bundle.load(run / "bundle")
    translator = Translator.open(EngineRequest(bundle, recipe.decoding, path=run / "bundle"))
    sources, references = zip(*((pair.source, pair.target) for pair in data.validation), strict=True)
    print(f"loss: {score_teacher_forced(translator, sources, references).loss:.4f}")
    measure(translator, evenly_spaced(data.validation, sentences), list(KINDS), seed=1, shown=0)


if __name__ == "__main__":
    main()
