r"""Measure on a GPU: training the base model, ten epochs of R3, translating, and how often the program waits.

The base model trains on random sentences with the lengths of news text, so nothing has to be downloaded. R3 trains on
Multi30k, or with --captions on the generated captions, which need no network either. Speeds are target tokens per
second without padding. Waits are operations for which the program waits until the GPU has finished its work.

python benchmarks/gpu.py --captions
python benchmarks/gpu.py --parts r3 --data-dir DIRECTORY
python benchmarks/gpu.py --captions --device cpu --steps 4 --epochs 0.02 --set model.d_model=64 --set model.d_ff=64 \
    --set model.encoder_layers=1 --set model.decoder_layers=1 --set training.batch_tokens=200 \
    --set decoding.max_length=20 --set training.validation_sentences=5 --set training.threads=1
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dragoman.bundle import Bundle
from dragoman.dataset.pairs import read_pairs
from dragoman.dataset.prepare import Dataset
from dragoman.dataset.token_store import PairStore
from dragoman.errors import UserError
from dragoman.model.transformer import Transformer
from dragoman.recipe import load_recipe
from dragoman.settings import Recipe, Specials
from dragoman.system.device import compute_dtype
from dragoman.system.memory import keep_freed_memory
from dragoman.system.progress import ProgressLine
from dragoman.text.id_store import IdStore
from dragoman.text.vocabulary import Vocabulary, special_tokens
from dragoman.text.words import WordRules, WordTokenizer
from dragoman.training.loop.state import build_state
from dragoman.training.loop.trainer import Trainer
from dragoman.training.run.log import MetricsFile, RunLog
from dragoman.training.run.run import train
from dragoman.translator import Translator

RECIPES = Path(__file__).parent.parent / "recipes"
PARTS = ("base", "r3")
GOAL_TOKENS, GOAL_SECONDS = 800_000, 60
"""Goals on one H200: tokens per second of the base model, and seconds for ten epochs of R3 with their validations."""

BASE_VOCABULARY = 37_000  # section 5.1 of the paper
SENTENCES, MEAN_LENGTH = 200_000, 26
CAPTIONS = (
    "data.train=['captions:train']",
    "data.validation=['captions:validation']",
    "data.test=[]",
    "text.minimum_frequency=1",
)
VIEWS = (
    "view",
    "transpose",
    "permute",
    "expand",
    "slice",
    "select",
    "split",
    "unsqueeze",
    "squeeze",
    "unbind",
    "alias",
)
"""Beginnings of the names of operators that start no kernel, because their result shares memory with their input."""


def main() -> None:
    arguments = parse_arguments()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        print("there is no GPU")
        return
    keep_freed_memory()
    device = torch.device(arguments.device)
    dtype = compute_dtype("auto", device)
    product = large_product(device, dtype)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}: matrix products {product / 1e12:.2f} TFLOP/s in {short(dtype)}")
    with tempfile.TemporaryDirectory() as directory:
        if "base" in arguments.parts:
            measure_base(arguments, Path(directory), device, product)
        if "r3" in arguments.parts:
            measure_r3(arguments, Path(directory) / "r3", device)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what to measure")
    parser.add_argument("--steps", type=int, default=200, help="steps of the base model; the first third is not timed")
    parser.add_argument("--epochs", type=float, default=10, help="epochs of R3")
    parser.add_argument("--captions", action="store_true", help="train R3 on generated captions instead of Multi30k")
    parser.add_argument("--data-dir", type=Path, help="directory with Multi30k (default: $DRAGOMAN_DATA)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting")
    parser.add_argument("--device", default="cuda", help="cuda, or cpu to try this script")
    return parser.parse_args()


def short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def large_product(device: torch.device, dtype: torch.dtype) -> float:
    """FLOP/s of a product of two large matrices."""
    size = 8192 if device.type == "cuda" else 2048
    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    seconds = []
    for _ in range(10):
        seconds.append(timed(lambda: a @ b, device))
    return 2 * size**3 / statistics.median(seconds)


def timed(run: Callable[[], Any], device: torch.device) -> float:
    """Seconds until the device has finished."""
    wait(device)
    started = time.perf_counter()
    run()
    wait(device)
    return time.perf_counter() - started


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure_base(arguments: argparse.Namespace, directory: Path, device: torch.device, product: float) -> None:
    """Train the base model of the paper for some steps."""
    settings = [f"training.steps={arguments.steps}", f"training.device={device}", *arguments.set]
    recipe = load_recipe(RECIPES / "transformer-base.toml", settings)
    trainer = make_trainer(recipe, random_dataset(recipe), directory, device)
    untimed = 1 + arguments.steps // 3
    tokens = 0

    def steps(count: int) -> None:
        nonlocal tokens
        for _ in range(count):
            batches = trainer.batches.next_step()
            tokens += sum(group.target_tokens for batch in batches for group in batch)
            trainer.take_step(batches)

    steps(untimed)
    tokens = 0
    seconds = timed(lambda: steps(max(1, arguments.steps - untimed)), device)
    speed, share = tokens / seconds, tokens / seconds * arithmetic(trainer.state.model) / product
    print(f"\nbase model: {speed:,.0f} tokens/s (goal {GOAL_TOKENS:,}), {share:.0%} of the matrix product")
    if device.type == "cuda":
        print(f"  at most {torch.cuda.max_memory_allocated(device) / 2**30:.1f} GiB of GPU memory")
    batches = trainer.batches.next_step()
    report_operators("training step", lambda: trainer.take_step(batches), device)
    trainer.batches.close()
    trainer.log.metrics.close()


def random_dataset(recipe: Recipe) -> Dataset:
    """Random sentences with the lengths of news text."""
    generator = np.random.default_rng(1)
    tokens = [*special_tokens(Specials()), *map(str, range(BASE_VOCABULARY - 4))]
    rules = WordRules(type="whitespace", language="de", lowercase=False, normalization="none")
    tokenizer = WordTokenizer(rules, Vocabulary(tokens, Specials()))
    source = generator.gamma(3.0, MEAN_LENGTH / 3, SENTENCES).astype(np.int64).clip(1, recipe.model.max_length // 2)
    target = (source * generator.normal(1.0, 0.15, SENTENCES)).astype(np.int64).clip(1, recipe.model.max_length // 2)
    pairs = PairStore(random_ids(generator, source), random_ids(generator, target))
    return Dataset(tokenizer, tokenizer, pairs, [], 0)


def random_ids(generator: np.random.Generator, lengths: Any) -> IdStore:
    ids = generator.integers(4, BASE_VOCABULARY, int(lengths.sum()), dtype=np.int32)
    return IdStore(ids, np.concatenate([[0], np.cumsum(lengths)]))


def make_trainer(recipe: Recipe, data: Dataset, directory: Path, device: torch.device) -> Trainer:
    torch.manual_seed(recipe.training.seed)
    state = build_state(recipe, data, device)
    log = RunLog(ProgressLine("", quiet=True), MetricsFile(directory / "metrics.jsonl", 0))
    return Trainer(recipe, directory, data, state, log)


def arithmetic(model: Transformer) -> float:
    """Floating-point operations of training on one target and one source token, without attention products."""
    matrices = {name: weight.numel() for name, weight in model.named_parameters() if weight.dim() > 1}
    used = sum(size for name, size in matrices.items() if name.startswith(("encoder.", "decoder.")))
    return 3.0 * 2 * (used + model.output.weight.numel())


def measure_r3(arguments: argparse.Namespace, run: Path, device: torch.device) -> None:
    """Train reference system R3 with its validations, then translate its validation texts."""
    validations = max(1, int(arguments.epochs))
    settings = [f"training.epochs={arguments.epochs:g}", f"training.validations={validations}"]
    settings += [f"training.device={device}", "training.early_stopping=none", *(CAPTIONS if arguments.captions else ())]
    settings += [] if find_spec("spacy") else ["text.tokenizer='whitespace'"]
    recipe = load_recipe(RECIPES / "r3-en-de-paper.toml", [*settings, *arguments.set])
    try:
        elapsed = timed(lambda: train(recipe, run, data_directory=arguments.data_dir), device)
    except UserError as error:
        print(f"\nR3 was not measured: {error}")
        return
    if not (run / "bundle").is_dir():
        return  # interrupted
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    logged = [line for line in lines if line["kind"] == "train"]
    validated = [line for line in lines if line["kind"] == "validation"]
    corpus, tokenizer = ", ".join(map(str, recipe.data.train)), recipe.text.tokenizer
    print(f"\nR3 on {corpus} ({tokenizer}): {arguments.epochs:g} epochs in {validated[-1]['seconds']:.1f} s", end="")
    print(f" with validations (goal {GOAL_SECONDS} s for ten), {elapsed:.1f} s with preparation and bundle")
    if logged:
        speed = statistics.median(line["tokens_per_second"] for line in logged[len(logged) // 3 :])
        print(f"  {validated[-1]['step']:,} steps, median {speed:,.0f} tokens/s")
    measure_decoding(Bundle.load(run), arguments.data_dir, device)


def measure_decoding(bundle: Bundle, data_directory: Path | None, device: torch.device) -> None:
    """Translate the validation texts of a bundle, greedily and with a beam."""
    recipe = bundle.recipe
    texts = [pair.source for pair in read_pairs(recipe.data.validation, recipe.data, data_directory)]
    for beam in (1, 4):
        decoding = recipe.decoding.model_copy(update={"beam_size": beam, "n_best": 1})
        translator = Translator(bundle, decoding, str(device))
        translator(texts[:50])  # not measured: the first call is slower
        tokens = 0

        def translate(translator: Translator = translator) -> None:
            nonlocal tokens
            tokens = sum(len(translation.tokens) for translation in translator(texts))

        seconds = timed(translate, device)
        speeds = f"{len(texts) / seconds:,.0f} texts/s, {tokens / seconds:,.0f} tokens/s"
        print(f"  beam {beam}: {len(texts):,} texts in {seconds:.2f} s, {speeds}")
        report_operators(f"translation of {len(texts):,} texts, beam {beam}", translate, device)


class OperatorCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts operators by name."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, operator: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        self.counts[str(operator.overloadpacket.__name__)] += 1
        return operator(*arguments, **(options or {}))


def report_operators(name: str, run: Callable[[], None], device: torch.device) -> None:
    """Print how many operators a function starts, and how often it waits for the GPU."""
    with OperatorCounter() as counter:
        run()
    total = counter.counts.total()
    kernels = sum(count for operator, count in counter.counts.items() if not operator.lstrip("_").startswith(VIEWS))
    print(f"  {name}: {total:,} operators, {kernels:,} of which are not views", end="")
    if device.type != "cuda":
        print()
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        run()
        torch.cuda.set_sync_debug_mode("default")
    waits = Counter(f"{Path(each.filename).name}:{each.lineno}" for each in caught if "synchroniz" in str(each.message))
    print(f"; {waits.total()} waits {dict(waits.most_common(5)) if waits else ''}")


if __name__ == "__main__":
    main()
