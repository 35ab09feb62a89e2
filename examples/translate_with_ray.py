"""Translate text with Ray Data, on one or many machines: python examples/translate_with_ray.py RUN INPUT OUTPUT.

INPUT is a text file, or a directory of them, with a text per line. OUTPUT becomes a directory of JSON lines with `text`
and `translation`; together, its files in the order of their names have the order of the input. Every machine must see
RUN, INPUT and OUTPUT under the same paths. Install Ray in the same environment with pip install 'ray[data]'.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import ray

import dragoman

LINES = 1024  # that an actor translates at a time


class BatchTranslator:
    """Translates batches of lines; each actor has one, which loads the bundle once."""

    def __init__(self, run: str) -> None:
        self._texts = dragoman.TextTranslator(dragoman.load(run))

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Add the translations to a batch."""
        translations = self._texts.stream([str(text) for text in batch["text"]])
        return {"text": batch["text"], "translation": [" ".join(each.text.split()) for each in translations]}


def main() -> None:
    """Translate with one actor for each core."""
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    run, source, output = (str(Path(argument).resolve()) for argument in sys.argv[1:])
    ray.init()
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    actors = ray.data.ActorPoolStrategy(min_size=1, max_size=max(1, int(ray.cluster_resources()["CPU"])))
    lines = ray.data.read_text(source, drop_empty_lines=False)
    lines.map_batches(
        BatchTranslator, fn_constructor_args=(run,), batch_size=LINES, compute=actors, num_cpus=1
    ).write_json(output)


if __name__ == "__main__":
    main()
