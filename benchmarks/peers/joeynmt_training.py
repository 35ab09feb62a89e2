"""Train with JoeyNMT 2.3, which trains in float32 on a CPU. Arguments: DIRECTORY PRECISION STEPS."""

from __future__ import annotations

import json
import re
import statistics
import sys
import tempfile
from pathlib import Path

import yaml
from joeynmt.__main__ import main as joeynmt
from loop import arguments


def configuration(directory: Path, output: Path, steps: int) -> dict[str, object]:
    """The settings of the benchmark with the keys of its documentation."""
    side = {"level": "word", "lowercase": False, "max_length": 256, "voc_file": str(directory / "vocabulary.txt")}
    layers = {
        "type": "transformer",
        "num_layers": 3,
        "num_heads": 4,
        "embeddings": {"embedding_dim": 256, "scale": True, "dropout": 0.1},
        "hidden_size": 256,
        "ff_size": 1024,
        "dropout": 0.1,
        "layer_norm": "pre",
    }
    return {
        "name": "benchmark",
        "model_dir": str(output),
        "use_cuda": False,
        "data": {
            "train": str(directory / "train"),
            "dev": str(directory / "few"),
            "dataset_type": "plain",
            "src": {"lang": "de", **side},
            "trg": {"lang": "en", **side},
        },
        "testing": {"batch_size": 10, "batch_type": "sentence", "eval_metrics": []},
        "training": {
            "optimizer": "adam",
            "adam_betas": [0.9, 0.98],
            "learning_rate": 0.0001,
            "learning_rate_min": 1e-9,
            "scheduling": "exponential",
            "label_smoothing": 0.1,
            "normalization": "tokens",
            "batch_size": 4096,
            "batch_type": "token",
            "epochs": 10,
            "updates": steps,
            "logging_freq": 5,
            "validation_freq": 100_000,
        },
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": layers,
            "decoder": layers,
        },
    }


if __name__ == "__main__":
    directory, precision, steps = arguments()
    assert precision == "float32"
    for language in ("de", "en"):
        lines = directory.joinpath(f"train.{language}").read_text(encoding="utf-8").splitlines(keepends=True)
        directory.joinpath(f"few.{language}").write_text("".join(lines[:10]), encoding="utf-8")
    with tempfile.TemporaryDirectory() as runs:
        output, settings = Path(runs) / "run", Path(runs) / "settings.yaml"
        settings.write_text(yaml.safe_dump(configuration(directory, output, steps)), encoding="utf-8")
        sys.argv = ["joeynmt", "train", str(settings), "--skip-test"]
        joeynmt()
        log = (output / "train.log").read_text(encoding="utf-8")
    speeds = [float(speed) for speed in re.findall(r"Tokens per Sec:\s*([\d.]+)", log)]
    print(json.dumps({"tokens_per_second": statistics.median(speeds[len(speeds) // 3 :])}))
