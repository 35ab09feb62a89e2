"""What an exporter implements, and how the parity check uses an exported model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.settings import Decoding

OutputKind = Literal["logits", "log-probabilities"]
Outputs = NDArray[np.float32]


class ExportedModel(Protocol):
    """An exported model, loaded by the library that computes with it."""

    output_kind: OutputKind
    decoding: Decoding  # settings of `translate`: those that the export contains, the defaults for all others

    def outputs(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[Outputs]:
        """The model's outputs at each target position and after the last one, for pairs of ids without bos and eos.

        Returns:
            For each pair, the logits, (target + 1, vocabulary), or the log-probabilities of the target tokens and eos,
            (target + 1,), normalized over the tokens that a translation can contain.
        """
        ...

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Translations, with the tokenizers in the export if it contains any that the program can use."""
        ...


class Exporter(Protocol):
    """The module of an export format."""

    COMPUTE_TYPES: tuple[str, ...]
    """Data types of the weights; the first is the default."""

    def unsupported(self, bundle: Bundle) -> list[str]:
        """What the format cannot express, by the setting that causes it."""
        ...

    def write(self, bundle: Bundle, directory: Path, compute_type: str) -> None:
        """Write the files of the format into an existing directory."""
        ...

    def load(self, bundle: Bundle, directory: Path, compute_type: str) -> ExportedModel:
        """Load what `write` wrote."""
        ...
