"""Parity check: compares the outputs and translations of an exported model with those of its bundle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.errors import UserError, counted
from dragoman.evaluation.metrics import corpus_scores
from dragoman.export.model_outputs import model_outputs, random_pairs
from dragoman.export.protocol import ExportedModel, OutputKind
from dragoman.export.sample import Sample
from dragoman.search.description import describe_decoding
from dragoman.translator import Translator

TOLERANCE = 1e-4
"""Largest difference of logits or log-probabilities that rounding in float32 may cause."""

SAME_TEXT = 0.995
"""Smallest allowed share of equal translations: rounding decides between hypotheses with nearly equal scores."""

BLEU_DIFFERENCE = {"float32": 0.05, "int8": 0.3}
"""Largest allowed difference in BLEU by compute type."""

COMPARED_SENTENCES = 32
"""Sentences of the sample whose outputs are compared, in addition to random ones."""


@dataclass(frozen=True)
class Parity:
    """The differences between an export and its bundle.

    Attributes:
        format: The format's name.
        compute_type: Data type of the exported weights.
        compared: Which outputs of the models were compared.
        largest_difference: Between two outputs.
        mean_difference: Of all outputs.
        values: Number of outputs compared.
        decoding: The search, in a few words.
        sentences: Number of sentences translated.
        own_sentences: Whether the user provided them; otherwise they consist of random tokens.
        same_text: Share of equal translations, 0 to 1.
        bleu: Of the export's translations; None without references.
        bleu_of_bundle: Of the bundle's translations; None without references.
        masking: Whether dragoman masks placeholders, which neither of the compared translators does.
    """

    format: str
    compute_type: str
    compared: OutputKind
    largest_difference: float
    mean_difference: float
    values: int
    decoding: str
    sentences: int
    own_sentences: bool
    same_text: float
    bleu: float | None = None
    bleu_of_bundle: float | None = None
    masking: bool = False

    @property
    def problems(self) -> list[str]:
        """The differences that are larger than allowed."""
        problems, exact = [], self.compute_type == "float32"
        if not math.isfinite(self.largest_difference):
            problems.append(f"some {self.compared} are NaN or infinite")
        elif exact and self.largest_difference > TOLERANCE:
            problems.append(f"{self.compared} differ by up to {self.largest_difference:.2g}; {TOLERANCE:g} are allowed")
        different = round((1 - self.same_text) * self.sentences)
        if exact and self.own_sentences and different > max(1, (1 - SAME_TEXT) * self.sentences):
            problems.append(f"{different} of {self.sentences} translations differ")
        if self.bleu is not None and self.bleu_of_bundle is not None:
            allowed = BLEU_DIFFERENCE[self.compute_type]
            if abs(self.bleu - self.bleu_of_bundle) > allowed:
                problems.append(f"BLEU is {self.bleu:.2f}, {self.bleu_of_bundle:.2f} before the export")
        return problems

    def require(self) -> None:
        """Raise UserError if a difference is larger than allowed."""
        if self.problems:
            raise UserError(f"the export to {self.format} failed its parity check: {'; '.join(self.problems)}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        kind = "" if self.own_sentences else " of random tokens"
        lines = [
            f"{self.compared}: largest difference {self.largest_difference:.2g}, mean {self.mean_difference:.2g} "
            f"({self.values:,} values, {self.compute_type})",
            f"translations: {self.same_text:.1%} of {counted(self.sentences, 'sentence')}{kind} are equal "
            f"({self.decoding})",
        ]
        if self.bleu is not None and self.bleu_of_bundle is not None:
            without = " without masking placeholders" if self.masking else ""
            lines.append(f"BLEU{without}: {self.bleu:.2f} (bundle: {self.bleu_of_bundle:.2f})")
        return "\n".join(lines)


def measure_parity(
    name: str, bundle: Bundle, exported: ExportedModel, sample: Sample, compute_type: str = "float32"
) -> Parity:
    """Measure the differences between an exported model and its bundle.

    Args:
        name: The format's name.
        bundle: The original.
        exported: The exported model.
        sample: Sentences to translate; if there are none, sentences of random tokens are translated.
        compute_type: Data type of the exported weights.
    """
    sources, targets = random_pairs(bundle)
    sample = sample.without_blanks()
    texts = sample.texts or [text for text in map(bundle.source.decode, sources) if text.strip()]
    sources = [*sources, *_encode_some(bundle, texts)]
    differences = _output_differences(bundle, exported, sources, list(islice(cycle(targets), len(sources))))
    expected = [str(translation) for translation in Translator(bundle, exported.decoding).stream(texts)]
    translated = exported.translate(texts)
    return Parity(
        format=name,
        compute_type=compute_type,
        compared=exported.output_kind,
        largest_difference=float(differences.max()),
        mean_difference=float(differences.mean()),
        values=differences.size,
        decoding=describe_decoding(exported.decoding),
        sentences=len(texts),
        own_sentences=bool(sample.texts),
        same_text=sum(map(str.__eq__, expected, translated)) / max(1, len(texts)),
        bleu=_bleu(translated, sample.references),
        bleu_of_bundle=_bleu(expected, sample.references),
    )


def _encode_some(bundle: Bundle, texts: Sequence[str]) -> list[list[int]]:
    """The ids of the first texts, cut where the model's limit is."""
    limit = bundle.model.settings.max_length - 1
    return [ids[:limit] for ids in bundle.source.encode(texts[:COMPARED_SENTENCES]) if ids]


def _output_differences(
    bundle: Bundle, exported: ExportedModel, sources: Sequence[list[int]], targets: Sequence[list[int]]
) -> NDArray[np.float32]:
    """The absolute differences of all outputs for these pairs, (outputs,)."""
    expected = model_outputs(bundle, sources, targets, exported.output_kind)
    pairs = zip(expected, exported.outputs(sources, targets), strict=True)
    return np.concatenate([np.abs(ours - theirs).ravel() for ours, theirs in pairs])


def _bleu(translations: Sequence[str], references: Sequence[str]) -> float | None:
    return corpus_scores(translations, references)["bleu"] if references else None
