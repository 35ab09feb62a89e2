"""Train with Eole 0.6. Arguments: DIRECTORY PRECISION STEPS."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from loop import arguments


def configuration(directory: Path, output: Path, precision: str, steps: int) -> dict[str, object]:
    """The settings of the benchmark with the keys of its documentation."""
    return {
        "seed": 1,
        "share_vocab": True,
        "src_vocab": str(directory / "vocabulary.txt"),
        "tgt_vocab": str(directory / "vocabulary.txt"),
        "src_vocab_size": 10_000,
        "tgt_vocab_size": 10_000,
        "report_every": 5,
        "data": {"corpus": {"path_src": str(directory / "train.de"), "path_tgt": str(directory / "train.en")}},
        "training": {
            "model_path": str(output),
            "world_size": 0,
            "gpu_ranks": [],
            "compute_dtype": {"float32": "fp32", "bfloat16": "bf16"}[precision],
            "num_workers": 0,
            "bucket_size": 29_000,
            "batch_type": "tokens",
            "batch_size": 4096,
            "normalization": "tokens",
            "optim": "adam",
            "adam_beta2": 0.98,
            "learning_rate": 0.0001,
            "decay_method": "none",
            "warmup_steps": 0,
            "max_grad_norm": 0,
            "label_smoothing": 0.1,
            "dropout": [0.1],
            "attention_dropout": [0.0],
            "train_steps": steps,
            "valid_steps": 100_000,
            "save_checkpoint_steps": 100_000,
        },
        "model": {
            "architecture": "transformer",
            "layers": 3,
            "hidden_size": 256,
            "heads": 4,
            "transformer_ff": 1024,
            "add_qkvbias": True,
            "add_ffnbias": True,
            "share_embeddings": True,
            "share_decoder_embeddings": True,
            "embeddings": {"word_vec_size": 256, "position_encoding_type": "SinusoidalInterleaved"},
        },
    }


if __name__ == "__main__":
    directory, precision, steps = arguments()
    with tempfile.TemporaryDirectory() as runs:
        settings = Path(runs) / "settings.yaml"
        settings.write_text(yaml.safe_dump(configuration(directory, Path(runs) / "run", precision, steps)))
        command = [sys.executable, "-m", "eole.bin.main", "train", "-config", str(settings)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(done.stdout)
    speeds = [float(speed) for speed in re.findall(r"/\s*([\d.]+) tok/s", done.stdout)]
    print(json.dumps({"tokens_per_second": statistics.median(speeds[len(speeds) // 3 :])}))
