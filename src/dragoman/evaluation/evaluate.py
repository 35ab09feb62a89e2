"""Evaluation of a translator: BLEU, chrF and perplexity on sentence pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dragoman.evaluation.metrics import corpus_scores, perplexity
from dragoman.evaluation.teacher_forcing import score_teacher_forced
from dragoman.search.description import describe_decoding
from dragoman.translator import Translator


@dataclass(frozen=True)
class Report:
    """Scores of translations against one reference each.

    `bleu`, `chrf`, their signatures and `length_ratio` are those of `CorpusScores`. `loss` is the mean negative
    log-likelihood of the reference tokens in nats, end of sentence included and without label smoothing;
    `perplexity` is its exponential. `exact` is the fraction of translations that are identical to their reference.
    `teacher_forced_bleu` does not score translations: see `TeacherForcedScores`.
    """

    sentences: int
    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str
    length_ratio: float
    loss: float
    perplexity: float
    exact: float
    teacher_forced_bleu: float
    decoding: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def evaluate(
    translator: Translator, sources: Sequence[str], references: Sequence[str], translate_at_most: int | None = None
) -> tuple[Report, list[str]]:
    """Scores of a translator on sentence pairs, and its translations.

    Args:
        translator: The translator to score.
        sources: Texts to translate.
        references: The reference translation of each.
        translate_at_most: Translate only this many of the first pairs. The loss is always that of all pairs.
    """
    assert len(sources) == len(references), "one reference per source"
    translations = [str(translation) for translation in translator(sources[:translate_at_most])]
    loss, teacher_forced_bleu = score_teacher_forced(translator.bundle, sources, references, translator.device)
    identical = sum(map(str.__eq__, translations, references))
    report = Report(
        sentences=len(translations),
        **corpus_scores(translations, references[: len(translations)]),
        loss=round(loss, 5),
        perplexity=perplexity(loss),
        exact=round(identical / max(1, len(translations)), 5),
        teacher_forced_bleu=round(teacher_forced_bleu, 3),
        decoding=describe_decoding(translator.decoding),
    )
    return report, translations
