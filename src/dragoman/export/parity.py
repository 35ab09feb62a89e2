"""Parity check: compares the outputs and translations of an exported model with those of its bundle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.corpus.corpus import read_texts
from dragoman.corpus.lines import read_lines
from dragoman.corpus.pair import Languages
from dragoman.dataset.batch import pad
from dragoman.errors import UserError, counted
from dragoman.evaluation.metrics import corpus_scores
from dragoman.export.protocol import ExportedModel, OutputKind, Outputs
from dragoman.search.description import describe_decoding
from dragoman.text.tokenizer import Tokenizer
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


@dataclass(frozen=True)
class Sample:
    """Sentences to translate, and a reference translation of each or none at all.

    Attributes:
        texts: The sentences.
        references: Their translations.
        languages: Those of both, for a model with several directions.
    """

    texts: Sequence[str] = ()
    references: Sequence[str] = ()
    languages: Languages | None = None

    def without_blanks(self) -> Sample:
        """The sample without blank sentences, which need no translation."""
        kept = [index for index, text in enumerate(self.texts) if text.strip()]
        references = [self.references[index] for index in kept] if self.references else []
        return Sample([self.texts[index] for index in kept], references, self.languages)


def read_sample(source: Path | None, reference: Path | None) -> Sample:
    """Read a sample from a file of sentences and, if given, a file of their reference translations.

    Raises:
        UserError: A file cannot be read or has no text, the files have different numbers of lines, or only references
            are given.
    """
    if source is None:
        if reference:
            raise UserError(f"--reference {reference}: also give the sentences, with --source")
        return Sample()
    sample = Sample(list(read_lines(source))) if reference is None else Sample(*read_texts(source, reference))
    if not any(text.strip() for text in sample.texts):
        raise UserError(f"{source}: contains no text")
    return sample


BATCH_SIZE = 32

RANDOM_PAIRS = 32
MAX_RANDOM_LENGTH = 20


@torch.inference_mode()
def model_outputs(
    bundle: Bundle, sources: Sequence[list[int]], targets: Sequence[list[int]], kind: OutputKind
) -> list[Outputs]:
    """The outputs of a bundle's model for pairs of ids, see `ExportedModel.outputs`."""
    source, target = bundle.source.vocabulary, bundle.target.vocabulary
    outputs: list[Outputs] = []
    for start in range(0, len(sources), BATCH_SIZE):
        batch = targets[start : start + BATCH_SIZE]
        ids = pad(sources[start : start + BATCH_SIZE], first=None, last=source.eos, pad=source.pad)
        values = bundle.model(ids, pad(batch, first=target.bos, last=None, pad=target.pad)).float()
        if kind == "log-probabilities":
            values[:, :, bundle.target.forbidden_ids] = -torch.inf  # (batch, target, vocabulary)
            expected = pad(batch, first=None, last=target.eos, pad=target.pad)  # (batch, target)
            values = values.log_softmax(dim=-1).gather(2, expected[:, :, None])[:, :, 0]
        outputs += [row[: len(tokens) + 1].numpy() for row, tokens in zip(values, batch, strict=True)]
    return outputs


def random_pairs(bundle: Bundle) -> tuple[list[list[int]], list[list[int]]]:
    """Sources and targets of random tokens, the same at each call: together they use every weight."""
    generator = np.random.default_rng(1)
    limit = bundle.model.settings.max_length - 1
    longest = min(MAX_RANDOM_LENGTH, limit)

    def sentences(side: Tokenizer) -> list[list[int]]:
        lengths = (1 + index % longest for index in range(RANDOM_PAIRS))
        size, forbidden = len(side.vocabulary), set(side.forbidden_ids)
        drawn = [generator.integers(4, size, length).tolist() for length in lengths]  # 0 to 3 are special
        return [[*side.language_ids, *(each for each in ids if each not in forbidden)][:limit] for ids in drawn]

    return sentences(bundle.source), sentences(bundle.target)
