"""A small exporter: its format is the bundle itself, and it supports everything except rotary positions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.export.parity import model_outputs
from dragoman.export.protocol import ExportedModel, OutputKind, Outputs
from dragoman.settings import Decoding
from dragoman.translator import Translator

COMPUTE_TYPES = ("float32",)


def unsupported(bundle: Bundle) -> list[str]:
    positions = bundle.recipe.model.positions
    return [f"model.positions = {positions!r}"] if positions == "rotary" else []


def write(bundle: Bundle, directory: Path, compute_type: str) -> None:
    bundle.save(directory / "copy")


def load(bundle: Bundle, directory: Path, compute_type: str) -> ExportedModel:
    return FakeModel(Bundle.load(directory / "copy"))


class FakeModel:
    output_kind: OutputKind = "logits"

    def __init__(self, bundle: Bundle) -> None:
        self.bundle, self.decoding = bundle, Decoding(beam_size=2)

    def outputs(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[Outputs]:
        return model_outputs(self.bundle, sources, targets, "logits")

    def translate(self, texts: Sequence[str]) -> list[str]:
        return [str(translation) for translation in Translator(self.bundle, self.decoding).stream(texts)]
