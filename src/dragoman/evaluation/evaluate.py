"""Evaluation of a translator: BLEU, chrF and perplexity on sentence pairs."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from dragoman.bundle import Bundle
from dragoman.errors import counted
from dragoman.evaluation.metrics import chrf_plus_plus, corpus_scores, perplexity
from dragoman.evaluation.teacher_forcing import score_teacher_forced
from dragoman.languages.identify import share_in_other_languages
from dragoman.search.description import describe_decoding
from dragoman.translator import Translator


@dataclass(frozen=True)
class Report:
    """Scores of translations against one reference each.

    `bleu`, `chrf`, their signatures and `length_ratio` are those of `CorpusScores`. `loss` is the mean negative
    log-likelihood of the reference tokens in nats, end of sentence included and without label smoothing;
    `perplexity` is its exponential. `exact` is the fraction of translations that are identical to their reference.
    `token_accuracy` and `teacher_forced_bleu`, which is None unless the recipe enables it, do not score translations:
    see `TeacherForcedScores`. `chrf_pp` is chrF++, with its signature. `wrong_language` is the share of translations
    that are clearly in another language of a model with several; None for other models.
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
    token_accuracy: float
    teacher_forced_bleu: float | None
    decoding: str
    chrf_pp: float | None = None
    chrf_pp_signature: str = ""
    wrong_language: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def evaluate(
    translator: Translator, sources: Sequence[str], references: Sequence[str], translate_at_most: int | None = None
) -> tuple[Report, list[str]]:
    """Scores of a translator on sentence pairs, and its translations.

    Args:
        translator: The translator to score.
        sources: Texts to translate, at least one.
        references: The reference translation of each.
        translate_at_most: Translate only this many of the first pairs. The loss is always that of all pairs.
    """
    assert sources, "there must be texts to score"
    assert len(sources) == len(references), "one reference per source"
    translated = list(translator.stream(sources[:translate_at_most]))
    if truncated := sum(each.truncated for each in translated):
        warnings.warn(
            f"translated only the beginning of {truncated:,} of {counted(len(translated), 'text')}, because of the "
            f"model's limit of {translator.source_limit} tokens",
            stacklevel=2,
        )
    translations = list(map(str, translated))
    forced = score_teacher_forced(translator, sources, references)
    identical = sum(map(str.__eq__, translations, references))
    report = Report(
        **score_translations(translator, translations, references[: len(translations)]),
        loss=round(forced.loss, 5),
        perplexity=perplexity(forced.loss),
        exact=round(identical / max(1, len(translations)), 5),
        token_accuracy=round(forced.accuracy, 5),
        teacher_forced_bleu=None if forced.bleu is None else round(forced.bleu, 3),
    )
    return report, translations


def score_translations(
    translator: Translator, translations: Sequence[str], references: Sequence[str]
) -> dict[str, Any]:
    """The fields of a `Report` that follow from translations, for which the model is not needed again."""
    return {
        **score_texts(translations, references),
        "wrong_language": _wrong_language(translator.bundle, translations),
        "decoding": describe_decoding(translator.decoding),
    }


def score_texts(translations: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """BLEU, chrF and chrF++ with their signatures, as fields of a `Report`, of translations by anyone."""
    chrf_pp, chrf_pp_signature = chrf_plus_plus(translations, references)
    return {
        "sentences": len(translations),
        **corpus_scores(translations, references),
        "chrf_pp": chrf_pp,
        "chrf_pp_signature": chrf_pp_signature,
    }


def mean_report(reports: Sequence[Report]) -> Report:
    """The mean of the scores of several directions, each of which counts the same; the perplexity is that of the loss.

    Args:
        reports: At least one; the only one is returned unchanged.
    """
    if len(reports) == 1:
        return reports[0]
    scores: dict[str, Any] = {
        name: round(statistics.fmean(getattr(each, name) for each in reports), 5)
        for name in ("bleu", "chrf", "length_ratio", "loss", "exact", "token_accuracy", "chrf_pp", "wrong_language")
        if getattr(reports[0], name) is not None
    }
    return replace(
        reports[0],
        **scores,
        sentences=sum(each.sentences for each in reports),
        perplexity=perplexity(scores["loss"]),
        teacher_forced_bleu=None,
    )


def _wrong_language(bundle: Bundle, translations: Sequence[str]) -> float | None:
    profile = bundle.language_profile
    if profile is None:
        return None
    return round(share_in_other_languages(translations, bundle.recipe.data.target_language, profile), 5)
