"""Checks of translations that need the scores of a translator, its vocabulary or its model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.output.text_checks import MIN_CASES
from dragoman.evaluation.evaluate import Report
from dragoman.evaluation.teacher_forcing import score_teacher_forced
from dragoman.translator import Translator

MIN_BLEU_GAP = 15.0  # points between expected and decoded BLEU
MIN_BLEU_FACTOR = 2.0  # between expected and decoded BLEU
UNKNOWN_SHARE = 0.03  # of the tokens
MIN_LOSS_INCREASE = 0.05  # nats per token that wrong sources must cost
MIN_OWN_INCREASE = 0.3  # nats per token that wrong sources must cost translations if these depend on their sources
COMPARED_PAIRS = 500  # whose loss is measured with wrong sources


def check_exposure_gap(report: Report) -> Iterator[Finding]:
    """Compare the accuracy of the next token with the BLEU of translations, which should fit together."""
    # If errors were independent, n tokens in a row would be correct with probability accuracy ** n. BLEU is the
    # geometric mean for n = 1, …, 4, so it would be accuracy ** ((1 + 2 + 3 + 4) / 4).
    accuracy, decoded = report.token_accuracy, report.bleu
    expected = 100 * accuracy**2.5
    if report.sentences >= MIN_CASES and expected - decoded > MIN_BLEU_GAP and expected > MIN_BLEU_FACTOR * decoded:
        yield make_finding(
            "exposure-gap",
            f"given the correct prefix, the model predicts {accuracy:.1%} of the next tokens, but its own translations "
            f"have a BLEU of only {decoded:.1f}",
            {"token_accuracy": accuracy, "bleu": decoded, "perplexity": report.perplexity},
        )


def check_unknown_tokens(
    translator: Translator, sources: Sequence[str], references: Sequence[str]
) -> Iterator[Finding]:
    """Count the tokens of each side that are not in the vocabulary."""
    bundle = translator.bundle
    for side, tokenizer, texts in (("source", bundle.source, sources), ("target", bundle.target, references)):
        ids = tokenizer.encode(texts)
        total = sum(map(len, ids))
        count = sum(sentence.count(tokenizer.vocabulary.unk) for sentence in ids)
        if count >= MIN_CASES and count / total > UNKNOWN_SHARE:
            yield make_finding(
                "unknown-tokens",
                f"{count:,} of {total:,} {side} tokens ({count / total:.1%}) are not in the vocabulary",
                {"side": side, "count": count, "of": total},
            )


def check_use_of_source(
    translator: Translator, sources: Sequence[str], references: Sequence[str], translations: Sequence[str]
) -> Iterator[Finding]:
    """Compare the loss of references given their own sources with the loss given the sources of other sentences.

    If it is the same although the translations depend on their sources, the references belong to other sources.
    """
    pairs = [pair for pair in zip(sources, references, translations, strict=True) if all(text.strip() for text in pair)]
    sources, references, translations = zip(*pairs[:COMPARED_PAIRS], strict=True) if pairs else ((), (), ())
    if len(set(sources)) < MIN_CASES:
        return
    losses = _losses(translator, sources, references)
    if losses.increase >= MIN_LOSS_INCREASE:
        return
    own = _losses(translator, sources, translations)
    yield make_finding(
        "shuffled-references" if own.increase >= MIN_OWN_INCREASE else "translations-ignore-source",
        f"the references have a loss of {losses.own:.3f} nats per token with their own sources and {losses.others:.3f} "
        f"with the sources of other sentences; the translations have {own.own:.3f} and {own.others:.3f}",
        {
            **{"loss": losses.own, "loss_with_other_sources": losses.others},
            **{"translation_loss": own.own, "translation_loss_with_other_sources": own.others},
        },
    )


class _Losses(NamedTuple):
    """Losses of texts with their own sources, and with the sources of other sentences, in nats per token."""

    own: float
    others: float

    @property
    def increase(self) -> float:
        return self.others - self.own


def _losses(translator: Translator, sources: Sequence[str], texts: Sequence[str]) -> _Losses:
    return _Losses(_loss(translator, sources, texts), _loss(translator, sources_of_others(sources), texts))


def sources_of_others(sources: Sequence[str]) -> list[str]:
    """For each sentence, the source of another one that is far away."""
    half = len(sources) // 2
    return [*sources[half:], *sources[:half]]


def _loss(translator: Translator, sources: Sequence[str], references: Sequence[str]) -> float:
    """Mean negative log-likelihood of the reference tokens, in nats."""
    return score_teacher_forced(translator, sources, references).loss
