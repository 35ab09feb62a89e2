"""Train on the built-in captions from Python: python examples/train.py RUN [SECTION.KEY=VALUE]..."""

from __future__ import annotations

import sys
from pathlib import Path

import dragoman
from dragoman.recipe import build_recipe
from dragoman.training.run.run import train

DOCUMENT = {
    "name": "captions-en-de",
    "data": {
        "source_language": "en",
        "target_language": "de",
        "train": ["captions:train"],
        "validation": ["captions:validation"],
    },
    "text": {"vocabulary_size": 2000},
    "model": {"d_model": 128, "heads": 4, "d_ff": 512, "encoder_layers": 2, "decoder_layers": 2},
    "training": {"minutes": 3, "warmup_steps": 200, "schedule": "cosine", "validations": 4},
}


def main() -> None:
    """Train an English-German translator in the directory RUN, then use it."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    run, *overrides = sys.argv[1:]
    if train(build_recipe(DOCUMENT, overrides), Path(run)):
        print(dragoman.load(run)("A dog is running through the snow."))


if __name__ == "__main__":
    main()
