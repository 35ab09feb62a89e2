"""How good a translator is: BLEU, chrF and perplexity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from dragoman.dataset.batch import make_batch
from dragoman.dataset.buckets import cut
from dragoman.dataset.token_store import IdStore, PairStore
from dragoman.model.transformer import Transformer
from dragoman.search.log_probabilities import log_probabilities
from dragoman.settings import Decoding
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.vocabulary import Vocabulary
from dragoman.translator import Translator


@dataclass(frozen=True)
class Report:
    """Scores of translations against one reference each.

    `loss` is the mean negative log-likelihood of the reference tokens in nats, end of sentence
    included and without label smoothing; `perplexity` its exponential. `bleu` and `chrf` are
    sacreBLEU's, 0 to 100, with the signatures that make them comparable. `exact` is the share of
    translations that are the reference, letter by letter. `length_ratio` is that of their tokens to the
    references', as BLEU's brevity penalty has it. `teacher_forced_bleu` scores no
    translations: see `teacher_forced`.
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


def describe_decoding(settings: Decoding) -> str:
    """The search in words."""
    if settings.sampling:
        return f"sampled with temperature {settings.temperature:g}, seed {settings.seed}"
    if settings.beam_size == 1:
        return "greedy"
    return f"beam {settings.beam_size}, length penalty {settings.length_penalty:g}"


def corpus_scores(translations: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """BLEU and chrF of translations against references, with signatures (Post 2018; Popović 2015), and their length."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    bleu, chrf = BLEU(), CHRF()
    scored = bleu.corpus_score(list(translations), [list(references)])
    chrf_score = chrf.corpus_score(list(translations), [list(references)]).score
    return {
        "bleu": round(scored.score, 3),
        "chrf": round(chrf_score, 3),
        "bleu_signature": str(bleu.get_signature()),
        "chrf_signature": str(chrf.get_signature()),
        "length_ratio": round(scored.sys_len / max(1, scored.ref_len), 4),
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
def teacher_forced(
    model: Transformer, pairs: PairStore, source: Tokenizer, target: Tokenizer, batch_tokens: int = 4096
) -> tuple[float, float]:
    """How well the model predicts each next token of the references, given all before it.

    Returns:
        The mean negative log-likelihood of the target tokens, eos included, in nats; nan without pairs.
        And the BLEU-4, 0 to 100, of the likeliest tokens against the reference tokens, eos not included,
        unknown words being <unk> on both sides. Some write-ups call that the BLEU of a model; it is no
        score of translations, as the model is told the right beginning at every token.
    """
    source_lengths, target_lengths = pairs.source.lengths + 1, pairs.target.lengths + 1
    device = model.target_embedding.weight.device
    vocabulary = target.vocabulary
    order = np.lexsort((source_lengths, target_lengths))
    total, tokens, predicted, wanted = 0.0, 0, [""] * len(order), [""] * len(order)
    for indices in cut(source_lengths, target_lengths, order, batch_tokens):
        batch = make_batch(pairs, indices, source.vocabulary, vocabulary).to(device)
        real = batch.target_output != vocabulary.pad  # (batch, target)
        logits = model.output(model.hidden(batch.source, batch.target_input)[real]).float()  # (tokens, vocabulary)
        total -= float(log_probabilities(logits, batch.target_output[real][:, None]).sum())
        tokens += batch.target_tokens
        likeliest = logits.argmax(dim=-1).split(real.sum(dim=1).tolist())  # (target,) each
        for index, guess in zip(indices.tolist(), likeliest, strict=True):
            predicted[index] = _spell(guess[:-1].tolist(), vocabulary)
            wanted[index] = _spell(pairs.target[index].tolist(), vocabulary)
    if not tokens:
        return math.nan, 0.0
    return total / tokens, _token_bleu(predicted, wanted)


def _spell(ids: Sequence[int], vocabulary: Vocabulary) -> str:
    silent = {vocabulary.pad, vocabulary.bos, vocabulary.eos}
    return " ".join(vocabulary.tokens[index] for index in ids if index not in silent)


def _token_bleu(predicted: Sequence[str], wanted: Sequence[str]) -> float:
    from sacrebleu.metrics.bleu import BLEU

    bleu = BLEU(tokenize="none", smooth_method="none", force=True)
    return float(bleu.corpus_score(list(predicted), [list(wanted)]).score)


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
    loss, token_bleu = teacher_forced(bundle.model, pairs, bundle.source, bundle.target)
    same = sum(map(str.__eq__, translations, references))
    report = Report(
        sentences=len(translations),
        **corpus_scores(translations, references[: len(translations)]),
        loss=round(loss, 5),
        perplexity=round(math.exp(min(loss, 700.0)), 4),
        exact=round(same / max(1, len(translations)), 5),
        teacher_forced_bleu=round(token_bleu, 3),
        decoding=describe_decoding(translator.decoding),
    )
    return report, translations
