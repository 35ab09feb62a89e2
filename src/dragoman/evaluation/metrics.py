"""BLEU, chrF and chrF++ from sacreBLEU, with the signatures that make scores reproducible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict


class CorpusScores(TypedDict):
    """Scores of the translations of a corpus.

    `bleu` and `chrf` are between 0 and 100; each signature names the settings of its metric. `length_ratio` is the
    number of tokens of the translations divided by that of the references, as in BLEU's brevity penalty.
    """

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str
    length_ratio: float


DECIMALS = 3  # of corpus scores; those of a report and of a test are the same numbers
CHRF_OFFSET = 20.0  # chrF minus BLEU, approximately, of the same translations
USELESS = 10.0  # overall score below which translations are useless
UNTRAINED = 100.0  # perplexity above which a model has hardly learned, or its text is too little or too difficult

MAX_LOSS = 20.0  # nats per token; a model with a higher loss has diverged, and its perplexity would have many digits


def overall_score(bleu: float, chrf: float) -> float:
    """BLEU, or chrF on nearly the same scale if that is higher.

    chrF is fairer to lowercased translations, to languages with many word forms, and to those without spaces.
    """
    return max(bleu, chrf - CHRF_OFFSET)


def perplexity(loss: float) -> float:
    """The exponential of a mean loss in nats per token, at most of MAX_LOSS, rounded to four decimal places."""
    return round(math.exp(min(loss, MAX_LOSS)), 4)


def corpus_scores(translations: Sequence[str], references: Sequence[str], lowercase: bool = False) -> CorpusScores:
    """BLEU (Post 2018) and chrF (Popović 2015) of translations against one reference each; lowercase ignores case."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    bleu, chrf = BLEU(lowercase=lowercase), CHRF(lowercase=lowercase)
    bleu_score = bleu.corpus_score(list(translations), [list(references)])
    chrf_score = chrf.corpus_score(list(translations), [list(references)])
    return CorpusScores(
        bleu=round(bleu_score.score, DECIMALS),
        chrf=round(chrf_score.score, DECIMALS),
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
        length_ratio=round(bleu_score.sys_len / max(1, bleu_score.ref_len), 4),
    )


def chrf_plus_plus(translations: Sequence[str], references: Sequence[str]) -> tuple[float, str]:
    """The chrF++ (Popović 2017) of translations against one reference each, and its signature."""
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF(word_order=2)
    score = metric.corpus_score(list(translations), [list(references)]).score
    return round(score, DECIMALS), str(metric.get_signature())


def sentence_chrf(translations: Sequence[str], references: Sequence[str]) -> list[float]:
    """The chrF of each translation separately (Popović 2015), between 0 and 100."""
    from sacrebleu.metrics.chrf import CHRF

    chrf = CHRF()
    pairs = zip(translations, references, strict=True)
    return [chrf.sentence_score(translation, [reference]).score for translation, reference in pairs]


def token_bleu(predicted: Sequence[str], references: Sequence[str]) -> float:
    """BLEU of texts whose tokens are separated by spaces, without further tokenization or smoothing."""
    from sacrebleu.metrics.bleu import BLEU

    bleu = BLEU(tokenize="none", smooth_method="none", force=True)
    return float(bleu.corpus_score(list(predicted), [list(references)]).score)
