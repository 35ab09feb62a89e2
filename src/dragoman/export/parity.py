"""Is an export the same translator? What it computes, and what it says, against the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.corpus.corpus import read_texts
from dragoman.corpus.lines import read_lines
from dragoman.dataset.batch import pad
from dragoman.errors import UserError
from dragoman.evaluation.metrics import corpus_scores
from dragoman.search.description import describe_decoding
from dragoman.settings import Decoding
from dragoman.translator import Translator

Values = NDArray[np.float32]
Compared = Literal["logits", "log-probabilities"]

TOLERANCE = 1e-4
"""Largest difference of logits or log-probabilities that rounding in float32 may make."""

SAME_TEXT = 0.995
"""Least share of equal translations; the rest are near ties that rounding decides."""

BLEU_DIFFERENCE = {"float32": 0.05, "int8": 0.3}
"""Largest difference in BLEU by arithmetic."""

_SAMPLES, _LONGEST = 32, 20


class Exported(Protocol):
    """An export, opened by the program that it is for."""

    compares: Compared
    decoding: Decoding  # of the translations to compare

    def values(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[Values]:
        """For each pair of ids, without bos and eos: what `compares` says, at every target position and the end.

        Logits are (target + 1, vocabulary). Log-probabilities are those of the target tokens, (target + 1,), among
        the tokens that a translation may have.
        """
        ...

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Translations, tokenized and decoded by the export's own files where it has any."""
        ...


@dataclass(frozen=True)
class Sample:
    """What to compare on: sentences, and if there are any, their right translations."""

    texts: Sequence[str] = ()
    references: Sequence[str] = ()

    def without_blanks(self) -> Sample:
        """The sample without empty sentences, which nobody need translate."""
        kept = [index for index, text in enumerate(self.texts) if text.strip()]
        references = [self.references[index] for index in kept] if self.references else []
        return Sample([self.texts[index] for index in kept], references)


@dataclass(frozen=True)
class Parity:
    """How an export differs from its bundle. `same_text` is a share; BLEU is there if references were given."""

    format: str
    compute_type: str
    compared: Compared
    largest_difference: float
    mean_difference: float
    values: int
    decoding: str
    sentences: int
    own_sentences: bool  # given by the user, not made of random tokens
    same_text: float
    bleu: float | None = None
    bleu_of_bundle: float | None = None

    @property
    def problems(self) -> list[str]:
        """What keeps the export from being the same translator."""
        found, exact = [], self.compute_type == "float32"
        if exact and not self.largest_difference <= TOLERANCE:
            found.append(f"{self.compared} differ by up to {self.largest_difference:.2g}, not {TOLERANCE:g}")
        differing = round((1 - self.same_text) * self.sentences)
        if exact and self.own_sentences and differing > max(1, (1 - SAME_TEXT) * self.sentences):
            found.append(f"{differing} of {self.sentences} translations differ")
        if self.bleu is not None and self.bleu_of_bundle is not None:
            allowed = BLEU_DIFFERENCE[self.compute_type]
            if abs(self.bleu - self.bleu_of_bundle) > allowed:
                found.append(f"BLEU is {self.bleu:.2f}, not {self.bleu_of_bundle:.2f} as before")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        kind = "" if self.own_sentences else " (of random tokens)"
        lines = [
            f"{self.compared}: largest difference {self.largest_difference:.2g}, mean {self.mean_difference:.2g} "
            f"({self.values:,} values, {self.compute_type})",
            f"translations: {self.same_text:.1%} of {self.sentences:,} sentences{kind} the same ({self.decoding})",
        ]
        if self.bleu is not None and self.bleu_of_bundle is not None:
            lines.append(f"BLEU: {self.bleu:.2f}, that of the bundle {self.bleu_of_bundle:.2f}")
        return "\n".join(lines)


def read_sample(source: Path | None, reference: Path | None) -> Sample:
    """The sample in a file of sentences, and one of their translations if it is given.

    Raises:
        UserError: They are of different length, cannot be read, or there are translations without sentences.
    """
    if source is None:
        if reference:
            raise UserError(f"--reference {reference}: give the sentences too, with --source")
        return Sample()
    if reference is None:
        return Sample(list(read_lines(source)))
    return Sample(*read_texts(source, reference))


def compare(name: str, bundle: Bundle, exported: Exported, sample: Sample, compute_type: str = "float32") -> Parity:
    """Measure how an export differs from its bundle.

    Args:
        name: Its format.
        bundle: The original.
        exported: The export, opened.
        sample: Sentences; without any, sentences of random tokens are compared.
        compute_type: The export's arithmetic.
    """
    random_sources, targets = _random_pairs(bundle)
    sample = sample.without_blanks()
    texts = sample.texts or [text for text in map(bundle.source.decode, random_sources) if text.strip()]
    sources = [*random_sources, *_some(bundle, texts)]
    targets = [*targets, *(targets[index % len(targets)] for index in range(len(sources) - len(targets)))]
    expected = values_of(bundle, sources, targets, exported.compares)
    differences = [
        np.abs(ours - theirs) for ours, theirs in zip(expected, exported.values(sources, targets), strict=True)
    ]
    own = [str(translation) for translation in Translator(bundle, exported.decoding).stream(texts)]
    theirs = exported.translate(texts)
    references = list(sample.references)
    return Parity(
        format=name,
        compute_type=compute_type,
        compared=exported.compares,
        largest_difference=float(max(difference.max() for difference in differences)),
        mean_difference=float(np.mean(np.concatenate([difference.ravel() for difference in differences]))),
        values=sum(difference.size for difference in differences),
        decoding=describe_decoding(exported.decoding),
        sentences=len(texts),
        own_sentences=bool(sample.texts),
        same_text=sum(map(str.__eq__, own, theirs)) / max(1, len(texts)),
        bleu=corpus_scores(theirs, references)["bleu"] if references else None,
        bleu_of_bundle=corpus_scores(own, references)["bleu"] if references else None,
    )


def require(parity: Parity) -> None:
    """Raise UserError if the export is not the same translator."""
    if parity.problems:
        raise UserError(f"the export to {parity.format} failed its parity check: {'; '.join(parity.problems)}")


@torch.inference_mode()
def values_of(
    bundle: Bundle, sources: Sequence[list[int]], targets: Sequence[list[int]], compares: Compared
) -> list[Values]:
    """What the bundle's own model says of pairs, as `Exported.values` returns it."""
    source, target = bundle.source.vocabulary, bundle.target.vocabulary
    values = []
    for start in range(0, len(sources), _SAMPLES):
        group, answers = sources[start : start + _SAMPLES], targets[start : start + _SAMPLES]
        ids = pad(group, first=None, last=source.eos, pad=source.pad)
        logits = bundle.model(ids, pad(answers, first=target.bos, last=None, pad=target.pad)).float()
        if compares == "log-probabilities":
            logits[:, :, [target.unk, target.pad, target.bos]] = -torch.inf
            wanted = pad(answers, first=None, last=target.eos, pad=target.pad)
            logits = logits.log_softmax(dim=-1).gather(2, wanted[:, :, None])[:, :, 0]
        values += [row[: len(answer) + 1].numpy() for row, answer in zip(logits, answers, strict=True)]
    return values


def _random_pairs(bundle: Bundle) -> tuple[list[list[int]], list[list[int]]]:
    """Sentences of random tokens, the same ones each time: any wrong weight shows in some."""
    generator = np.random.default_rng(1)
    longest = min(_LONGEST, bundle.model.settings.max_length - 1)

    def sentences(size: int) -> list[list[int]]:
        return [generator.integers(4, size, 1 + index % longest).tolist() for index in range(_SAMPLES)]

    return sentences(len(bundle.source.vocabulary)), sentences(len(bundle.target.vocabulary))


def _some(bundle: Bundle, texts: Sequence[str]) -> list[list[int]]:
    """Ids of the first sentences, no longer than the model can read."""
    limit = bundle.model.settings.max_length - 1
    return [ids[:limit] for ids in bundle.source.encode(texts[:_SAMPLES]) if ids]
