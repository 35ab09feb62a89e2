"""Measure on a GPU: training the base model, ten epochs of R3, and translating with both.

Speeds are target tokens per second without padding, the median of the run's log after its first third. They are also
shown as a share of the arithmetic of a large matrix product.

python benchmarks/gpu.py
python benchmarks/gpu.py --device cpu --steps 10 --epochs 1 --set model.d_model=64 --set model.d_ff=128
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import torch

from dragoman.bundle import Bundle
from dragoman.dataset.pairs import read_pairs
from dragoman.recipe import load_recipe
from dragoman.system.device import compute_dtype
from dragoman.system.memory import keep_freed_memory
from dragoman.training.run import train
from dragoman.translator import Translator

RECIPES = Path(__file__).parent.parent / "recipes"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300, help="steps of the base model")
    parser.add_argument("--epochs", type=int, default=10, help="epochs of R3")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting")
    parser.add_argument("--device", default="cuda", help="cuda, or cpu to try this script")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        print("there is no GPU")
        return
    keep_freed_memory()
    device = torch.device(arguments.device)
    dtype = compute_dtype("auto", device)
    product = large_product(device, dtype)
    print(f"{device}: matrix products: {product / 1e12:.2f} TFLOP/s in {str(dtype).removeprefix('torch.')}")
    budgets = {
        "transformer-base": [f"training.steps={arguments.steps}", "training.validations=1"],
        "r3-en-de-paper": [f"training.epochs={arguments.epochs}", f"training.validations={arguments.epochs}"],
    }
    with tempfile.TemporaryDirectory() as directory:
        for name, budget in budgets.items():
            settings = [*budget, "training.validation_sentences=100", "training.log_every=5"]
            settings += [f"training.device={arguments.device}", *arguments.set]
            measure(name, settings, Path(directory) / name, product, device)


def large_product(device: torch.device, dtype: torch.dtype) -> float:
    """FLOP/s of a product of two large matrices."""
    size = 8192 if device.type == "cuda" else 4096
    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    seconds = []
    for _ in range(10):
        started = time.perf_counter()
        float((a @ b)[0, 0])  # waits for the device
        seconds.append(time.perf_counter() - started)
    return 2 * size**3 / statistics.median(seconds)


def measure(name: str, settings: list[str], run: Path, product: float, device: torch.device) -> None:
    """Train a recipe, then translate its validation texts."""
    started = time.perf_counter()
    recipe = load_recipe(RECIPES / f"{name}.toml", settings)
    train(recipe, run)
    elapsed = time.perf_counter() - started
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    logged = [line for line in lines if line["kind"] == "train"]
    speed = statistics.median(line["tokens_per_second"] for line in logged[len(logged) // 3 :])
    bundle = Bundle.load(run)
    texts = [pair.source for pair in read_pairs(recipe.data.validation, recipe.data, None)]
    translator = Translator(bundle, device=str(device))
    translator(texts[:50])  # not measured: the first call is slower
    began = time.perf_counter()
    tokens = sum(len(translation.tokens) for translation in translator(texts))
    decoded = time.perf_counter() - began
    print(f"\n{name}: {speed:,.0f} tokens/s, {speed * arithmetic(bundle) / product:.0%} of the matrix product")
    print(f"  first log after {logged[0]['seconds']:.1f} s, {logged[0]['step']} steps")
    print(f"  {lines[-1]['step']:,} steps in {lines[-1]['seconds']:.1f} s of training, {elapsed:.1f} s in total")
    print(f"  {len(texts):,} texts translated in {decoded:.1f} s, {tokens / decoded:,.0f} tokens/s")


def arithmetic(bundle: Bundle) -> float:
    """Floating-point operations of training on one target and one source token, without attention products."""
    matrices = {name: weight.numel() for name, weight in bundle.model.named_parameters() if weight.dim() > 1}
    used = sum(size for name, size in matrices.items() if name.startswith(("encoder.", "decoder.")))
    return 3 * 2 * (used + bundle.model.output.weight.numel())


if __name__ == "__main__":
    main()
