"""Translate with a trained model and show how sure it was: python examples/translate.py RUN TEXT..."""

from __future__ import annotations

import math
import sys

import dragoman


def main() -> None:
    """Translate every TEXT; below each translation, its tokens with their probabilities."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    run, *texts = sys.argv[1:]
    for translation in dragoman.load(run)(texts):
        print(translation.text)
        tokens = [*translation.tokens, "(end)"]
        for token, value in zip(tokens, translation.log_probabilities, strict=False):
            print(f"  {math.exp(value):6.1%}  {token}")


if __name__ == "__main__":
    main()
