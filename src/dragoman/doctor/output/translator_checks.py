"""Checks of translations that need the scores of a translator, its vocabulary or its model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.input import TrainingText
from dragoman.doctor.output.text_checks import MIN_CASES
from dragoman.evaluation.evaluate import Report
from dragoman.evaluation.teacher_forcing import score_teacher_forced
from dragoman.languages.identify import words_of
from dragoman.translator import Translator

MIN_BLEU_GAP = 15.0  # points between expected and decoded BLEU
MIN_BLEU_FACTOR = 2.0  # between expected and decoded BLEU
MIN_EXCESS_LOSS = 1.0
"""Nats per token by which the loss must exceed that of a guess by frequency. Models with permuted embeddings have 3.4
to 4.4 more, and predict at most 0.7 times as many tokens as the most frequent one would. Trained models have up to 3.2
more on text of another kind, and 1.4 if there were 30 pairs to learn from, but predict more tokens."""
MIN_KNOWN_WORDS = 0.5  # of the references; of text of another kind, small training texts have 0.3 to 0.7
UNKNOWN_SHARE = 0.03  # of the tokens
MIN_LOSS_INCREASE = 0.05  # nats per token that wrong sources must cost
MIN_OWN_INCREASE = 0.3  # nats per token that wrong sources must cost translations if these depend on their sources
MIN_LENGTH_RATIO = 0.1  # of translations to references, for which the search may be the cause
COMPARED_PAIRS = 500  # whose loss is measured with wrong sources


def check_exposure_gap(report: Report) -> Iterator[Finding]:
    """Compare the accuracy of the next token with the BLEU of translations, which should fit together."""
    if _has_gap(report, _brevity_penalty(report)):
        yield make_finding(
            "exposure-gap",
            f"given the correct prefix, the model predicts {report.token_accuracy:.1%} of the next tokens, but its own "
            f"translations have a BLEU of only {report.bleu:.1f}",
            {"token_accuracy": report.token_accuracy, "bleu": report.bleu, "perplexity": report.perplexity},
        )


def length_explains_score(report: Report) -> bool:
    """Whether BLEU is much lower than the accuracy of the next token suggests, because the translations are short."""
    return _has_gap(report, 1.0) and not _has_gap(report, _brevity_penalty(report))


def _brevity_penalty(report: Report) -> float:
    """The factor by which BLEU is lower because translations are shorter than their references.

    It is 1 if next to nothing is translated, which no search makes of a model that predicts most of the next tokens.
    """
    ratio = report.length_ratio
    return math.exp(1 - 1 / ratio) if MIN_LENGTH_RATIO < ratio < 1 else 1.0


def _has_gap(report: Report, brevity_penalty: float) -> bool:
    # If errors were independent, n tokens in a row would be correct with probability accuracy ** n. BLEU is the
    # geometric mean for n = 1, …, 4, so it would be accuracy ** ((1 + 2 + 3 + 4) / 4).
    expected = 100 * report.token_accuracy**2.5 * brevity_penalty
    gap = expected - report.bleu
    return report.sentences >= MIN_CASES and gap > MIN_BLEU_GAP and expected > MIN_BLEU_FACTOR * report.bleu


def check_predictions(translator: Translator, references: Sequence[str], report: Report) -> Iterator[Finding]:
    """Find a model that predicts references worse than their frequent tokens do, as one with random weights does."""
    bundle = translator.bundle
    eos = bundle.target.vocabulary.eos
    counts = Counter(index for ids in bundle.target.encode(references) for index in [*ids, eos])
    total = counts.total()
    loss = math.log(total) - math.fsum(count * math.log(count) for count in counts.values()) / total
    share = max(counts.values()) / total
    if report.token_accuracy >= share or report.loss < loss + MIN_EXCESS_LOSS:
        return
    trained = bundle.table("training_text", TrainingText)
    words = [word for text in references for word in words_of(text)]
    known = sum(map(trained.knows, words)) / len(words) if trained and trained.target_words and words else None
    is_foreign = known is not None and known < MIN_KNOWN_WORDS
    yield make_finding(
        "unpredicted-references",
        f"given the correct prefix, the model predicts {report.token_accuracy:.1%} of the next tokens, with a loss of "
        f"{report.loss:.2f} nats; the most frequent token alone is {share:.1%} of them, and a guess by frequency has "
        f"a loss of {loss:.2f}" + ("" if known is None else f"; {known:.0%} of the words are in the training text"),
        {
            **{"token_accuracy": report.token_accuracy, "loss": report.loss, "most_frequent_share": share},
            **{"frequency_loss": loss, "known_words": known},
        },
        cause="the model was trained on text of another kind, or hardly trained" if is_foreign else None,
        fix="train on text of this kind, or adapt the model to it" if is_foreign else None,
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
