"""How good a translator is: BLEU, chrF and perplexity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from dragoman.data.batch import make_batch
from dragoman.data.buckets import cut
from dragoman.data.store import IdStore, PairStore
from dragoman.model.transformer import Transformer
from dragoman.settings import Decoding
from dragoman.text.tokenizer import Tokenizer
from dragoman.translator import Translator


@dataclass(frozen=True)
class Report:
    """Scores of translations against one reference each.

    `loss` is the mean negative log-likelihood of the reference tokens in nats, end of sentence
    included and without label smoothing; `perplexity` its exponential. `bleu` and `chrf` are
    sacreBLEU's, 0 to 100, with the signatures that make them comparable.
    """

    sentences: int
    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str
    loss: float
    perplexity: float
    decoding: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def describe_decoding(settings: Decoding) -> str:
    """The search in words."""
    if settings.sampling:
        return f"sampled with temperature {settings.temperature:g}, seed {settings.seed}"
    if settings.beam_size == 1:
        return "greedy"
    return f"beam {settings.beam_size}, length penalty {settings.length_penalty:g}"


def corpus_scores(translations: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """BLEU and chrF of translations against references, with signatures (Post 2018; Popović 2015)."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    bleu, chrf = BLEU(), CHRF()
    bleu_score = bleu.corpus_score(list(translations), [list(references)]).score
    chrf_score = chrf.corpus_score(list(translations), [list(references)]).score
    return {
        "bleu": round(bleu_score, 3),
        "chrf": round(chrf_score, 3),
        "bleu_signature": str(bleu.get_signature()),
        "chrf_signature": str(chrf.get_signature()),
    }


def encode_pairs(
    sources: Sequence[str], targets: Sequence[str], source: Tokenizer, target: Tokenizer, max_length: int
) -> PairStore:
    """Ids of pairs, each side cut to what a model of this length can read."""
    return PairStore(
        IdStore.of([ids[: max_length - 1] for ids in source.encode(sources)]),
        IdStore.of([ids[: max_length - 1] for ids in target.encode(targets)]),
    )


@torch.inference_mode()
def reference_loss(
    model: Transformer, pairs: PairStore, source: Tokenizer, target: Tokenizer, batch_tokens: int = 4096
) -> float:
    """Mean negative log-likelihood of the target tokens, eos included, in nats; nan without pairs."""
    source_lengths, target_lengths = pairs.source.lengths + 1, pairs.target.lengths + 1
    device = model.target_embedding.weight.device
    order = np.lexsort((source_lengths, target_lengths))
    total, tokens = 0.0, 0
    for indices in cut(source_lengths, target_lengths, order, batch_tokens):
        batch = make_batch(pairs, indices, source.vocabulary, target.vocabulary).to(device)
        real = batch.target_output != target.vocabulary.pad  # (batch, target)
        hidden = model.hidden(batch.source, batch.target_input)[real]  # (tokens, d_model)
        total += float(F.cross_entropy(model.output(hidden).float(), batch.target_output[real], reduction="sum"))
        tokens += batch.target_tokens
    return total / tokens if tokens else math.nan


def evaluate(
    translator: Translator, sources: Sequence[str], references: Sequence[str], translate_at_most: int | None = None
) -> tuple[Report, list[str]]:
    """Scores of a translator on pairs, and its translations.

    Args:
        translator: What to score.
        sources: Texts to translate.
        references: The right translation of each.
        translate_at_most: Translate only this many of the first pairs; the loss is that of all.
    """
    assert len(sources) == len(references), "one reference a source"
    bundle = translator.bundle
    translations = [str(translation) for translation in translator(sources[:translate_at_most])]
    pairs = encode_pairs(sources, references, bundle.source, bundle.target, bundle.recipe.model.max_length)
    loss = reference_loss(bundle.model, pairs, bundle.source, bundle.target)
    report = Report(
        sentences=len(translations),
        **corpus_scores(translations, references[: len(translations)]),
        loss=round(loss, 5),
        perplexity=round(math.exp(min(loss, 700.0)), 4),
        decoding=describe_decoding(translator.decoding),
    )
    return report, translations
