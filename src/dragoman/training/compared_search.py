"""A translator with a search, as a row of the card of a student."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from dragoman.bundle import WEIGHTS
from dragoman.engines.ctranslate2.convert import conversion_directory
from dragoman.evaluation.metrics import corpus_scores
from dragoman.search.description import describe_decoding
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.text.registry import SOURCE_FILE, TARGET_FILE
from dragoman.translator import Translator

COLUMNS = ("search", "engine", "BLEU", "chrF", "sentences/s", "MB on disk")


@dataclass
class ComparedSearch:
    """A translator with a search, its translations, and how many seconds each repeat took."""

    bundles: BundleEnsemble
    translator: Translator
    texts: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @classmethod
    def open(cls, bundles: BundleEnsemble, **search: Any) -> ComparedSearch:
        """Open bundles on the CPU, with int8 if possible; `search` changes settings of the search."""
        return cls(bundles, bundles.open_in_int8_if_possible(torch.device("cpu"), **search))

    def translate(self, sources: Sequence[str]) -> None:
        """Translate texts, and measure the time."""
        started = time.perf_counter()
        self.texts = [each.text for each in self.translator.stream(sources)]
        self.seconds.append(time.perf_counter() - started)

    def columns(self, references: Sequence[str]) -> list[str]:
        """The values of `COLUMNS`."""
        scores = corpus_scores(self.texts, references)
        engine = self.translator.engine
        stored = engine.weight_type if _is_converted(self.translator) else "float32"
        size = f"{sum(sizes_on_disk(path)[stored] for path in self.bundles.paths):.1f}"
        return [
            describe_decoding(self.translator.decoding),
            f"{engine.name} {engine.weight_type}",
            f"{scores['bleu']:.2f}",
            f"{scores['chrf']:.2f}",
            f"{len(references) / min(self.seconds):,.0f}",
            size if stored == engine.weight_type else f"{size} ({stored})",
        ]


def _is_converted(translator: Translator) -> bool:
    """Whether the engine reads another file than the bundle."""
    return translator.engine.name == "ctranslate2"


def sizes_on_disk(bundle: Path) -> dict[str, float]:
    """The size in megabytes by data type: of a bundle, with half-size weights, and converted for CTranslate2."""
    weights = (bundle / WEIGHTS).stat().st_size
    others = ("bundle.json", SOURCE_FILE, TARGET_FILE)
    size = weights + sum((bundle / name).stat().st_size for name in others)
    sizes = {"float32": size / 1e6, "float16": (size - weights / 2) / 1e6}
    converted = conversion_directory(bundle, "int8")
    if converted and converted.is_dir():
        sizes["int8"] = sum(file.stat().st_size for file in converted.iterdir()) / 1e6
    return sizes
