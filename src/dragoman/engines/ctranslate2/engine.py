"""CTranslate2 as an engine: the same search on the same weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dragoman.engines.batching import batches_by_length
from dragoman.engines.choose import open_engine as open_other_engine
from dragoman.engines.ctranslate2.convert import conversion_directory, convert, unsupported_settings
from dragoman.engines.ctranslate2.workers import Workers
from dragoman.engines.protocol import Copies, Engine, EngineRequest, Ids
from dragoman.errors import UserError
from dragoman.search.constraints import max_target_length
from dragoman.search.hypothesis import Hypothesis, finished_hypothesis, length_penalty
from dragoman.search.trace import BeamTrace
from dragoman.text.multilingual import all_language_ids

_SCORED_TOKENS = 256  # per batch; small, so that even a few sentences keep several workers busy
_BATCH_TOKENS = 1024  # small, so that every worker gets some batches of a long text
_NO_PENALTY = 1e-6  # with 0, CTranslate2 would end the search by a different rule


def unsupported(request: EngineRequest) -> list[str]:
    """What the engine does not support of the request, or lacks on this machine."""
    if find_spec("ctranslate2") is None:
        return ["environments without the package ctranslate2 (pip install '.[ctranslate2]')"]
    decoding = request.decoding
    reasons = {
        "decoding.sampling = true": decoding.sampling,
        f"decoding.temperature = {decoding.temperature:g}": decoding.temperature != 1.0,
        "decoding.cache = false": not decoding.cache,
        "decoding.neighbors": decoding.neighbors is not None,
        f"decoding.min_length = {decoding.min_length}": decoding.min_length > 0,
        f"decoding.no_repeat_ngram = {decoding.no_repeat_ngram}": decoding.no_repeat_ngram > 0,
        f"decoding.mbr_samples = {decoding.mbr_samples}": decoding.mbr_samples > 0,
        "a recorded beam search": request.trace,
        "scoring given translations, because unknown words would have no probability": request.scoring,
        "an ensemble": request.in_ensemble,
        f"the device {request.device}": request.device.type != "cpu",
        "--compute-type bfloat16": request.weight_type == "bfloat16",
        "a bundle that is not on disk": request.path is None,
        "a bundle that cannot be converted, because neither its directory nor the cache is writable": (
            request.path is not None and conversion_directory(request.path, request.weight_type) is None
        ),
    }
    return [reason for reason, met in reasons.items() if met] + unsupported_settings(request.bundle)


def open_engine(request: EngineRequest) -> Engine:
    """Open the engine of a bundle on disk; the bundle is converted on first use.

    Raises:
        UserError: The converted bundle cannot be written or read.
    """
    assert request.path is not None, "`unsupported` refuses bundles that are not on disk"
    return CTranslate2Engine(request, convert(request.bundle, request.path, request.weight_type))


class CTranslate2Engine:
    """One single-threaded worker of CTranslate2 per core.

    CTranslate2 extends and ends beams by the same rules as our beam search. Its length penalty is different, so it is
    disabled, and ours is applied here to all ended hypotheses of a sentence. If more than `beam_size` of them end at
    once, CTranslate2 keeps the most probable ones. A dropped hypothesis is neither longer nor more probable than one
    that is kept, so the best hypothesis is never dropped, but an alternative may be. CTranslate2 cannot force eos at
    the maximum length. Sentences whose beam reaches it, and those with tokens that they must contain or with a prefix
    other than the token of a language, are searched by another engine.

    A minimum length and n-grams that must not repeat are searched by the same rules too. `unsupported` refuses them
    because CTranslate2 does not apply them when it scores given tokens, so that log-probabilities of tokens differ.

    Args:
        request: Settings and vocabularies.
        converted: Directory of the converted bundle.

    Raises:
        UserError: The converted bundle cannot be read.
    """

    name = "ctranslate2"

    def __init__(self, request: EngineRequest, converted: Path) -> None:
        self.request, self.max_length, self.weight_type = request, request.max_length, request.weight_type
        self._languages = set(all_language_ids(request.bundle.target))
        self._workers = Workers(converted, request.weight_type)

    @cached_property
    def _other(self) -> Engine:
        """The engine for the sentences that CTranslate2 cannot search."""
        return open_other_engine(replace(self.request, path=None, compute_type="float32"))

    def translate(
        self,
        sources: Sequence[Ids],
        prefixes: Sequence[Ids] | None = None,
        trace: BeamTrace | None = None,
        copies: Sequence[Copies] | None = None,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, see `Engine.translate`."""
        if trace is not None:
            raise UserError("the engine ctranslate2 cannot record its search; use the engine cpu or torch")
        starts = prefixes or [[]] * len(sources)
        if copies is not None or not all(len(start) == self._starts_with_language(start) for start in starts):
            return self._other.translate(sources, prefixes, copies=copies)
        found: list[list[Hypothesis]] = [[] for _ in sources]
        batches = batches_by_length(sources, self.request)
        pending = [self._submit([sources[i] for i in batch], [starts[i] for i in batch]) for batch in batches]
        scores = []
        for batch, results in zip(batches, pending, strict=True):
            for index, result in zip(batch, results, strict=True):
                found[index] = self._best(result.result(), self._limit(sources[index]))
            scores.append(self._submit_unscored(batch, sources, found))
        for batch, results in zip(batches, scores, strict=True):
            self._add_scores(batch, found, results)
        self._search_unfinished(sources, starts, found)
        return found

    def score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[list[float]]:
        """Log-probabilities of given translations, see `Engine.score`."""
        return [result.result().log_probs for result in self._submit_scoring(sources, targets)]

    def _limit(self, source: Ids) -> int:
        return max_target_length(len(source) + 1, self.request.decoding, self.max_length)

    def _starts_with_language(self, target: Ids) -> bool:
        """Whether a translation begins with the token of a language, which has no log-probability."""
        return bool(target) and target[0] in self._languages

    def _submit(self, sources: Sequence[Ids], starts: Sequence[Ids]) -> list[Any]:
        """Queue sentences of similar length, with the language of each translation; returns their future results."""
        bundle, decoding = self.request.bundle, self.request.decoding
        tokens, target_tokens = bundle.source.vocabulary.tokens, bundle.target.vocabulary.tokens
        languages = [[target_tokens[token] for token in start] for start in starts]
        longest = max(1, *map(self._limit, sources))
        results: list[Any] = self._workers.translator.translate_batch(
            [[tokens[token] for token in source] for source in sources],
            target_prefix=languages if any(languages) else None,
            max_batch_size=_BATCH_TOKENS,
            batch_type="tokens",
            asynchronous=True,
            beam_size=decoding.beam_size,
            num_hypotheses=decoding.beam_size,
            length_penalty=_NO_PENALTY,
            max_decoding_length=longest,
            min_decoding_length=min(decoding.min_length, longest),
            no_repeat_ngram_size=decoding.no_repeat_ngram,
            max_input_length=0,
            return_scores=True,
            return_end_token=True,
        )
        return results

    def _best(self, result: Any, limit: int) -> list[Hypothesis]:
        """The n_best hypotheses, best first, without log-probabilities; none if the beam reached the limit.

        In a greedy search, eos is forced at the limit, so its hypothesis consists of the tokens up to the limit; it has
        no score yet.
        """
        ids, decoding = self.request.bundle.target.vocabulary.ids, self.request.decoding
        lengths = [len(tokens) for tokens in result.hypotheses]  # eos counts
        if max(lengths) >= limit:
            tokens = [ids[token] for token in result.hypotheses[0][: limit - 1]]
            return [Hypothesis(tokens, [], math.nan)] if decoding.beam_size == 1 else []
        totals = [score * length**_NO_PENALTY for score, length in zip(result.scores, lengths, strict=True)]
        penalties = [length_penalty(length, decoding.length_penalty) for length in lengths]
        scores = [total / penalty for total, penalty in zip(totals, penalties, strict=True)]
        order = sorted(range(len(scores)), key=lambda index: -scores[index])[: decoding.n_best]
        return [Hypothesis([ids[token] for token in result.hypotheses[i][:-1]], [], scores[i]) for i in order]

    def _needs_scores(self, hypothesis: Hypothesis) -> bool:
        return self.request.token_scores or math.isnan(hypothesis.score)

    def _submit_unscored(self, batch: list[int], sources: Sequence[Ids], found: list[list[Hypothesis]]) -> list[Any]:
        """Queue the hypotheses of a batch that need log-probabilities for scoring; returns their future results."""
        pairs = [(sources[i], each.tokens) for i in batch for each in found[i] if self._needs_scores(each)]
        return self._submit_scoring([source for source, _ in pairs], [target for _, target in pairs])

    def _submit_scoring(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[Any]:
        if not sources:
            return []
        bundle = self.request.bundle
        results: list[Any] = self._workers.translator.score_batch(
            [[bundle.source.vocabulary.tokens[token] for token in source] for source in sources],
            [[bundle.target.vocabulary.tokens[token] for token in target] for target in targets],
            max_batch_size=_SCORED_TOKENS,
            batch_type="tokens",
            max_input_length=0,
            asynchronous=True,
        )
        return results

    def _add_scores(self, batch: list[int], found: list[list[Hypothesis]], results: Sequence[Any]) -> None:
        """Replace the hypotheses that were queued for scoring by scored ones."""
        scores, alpha = iter(results), self.request.decoding.length_penalty
        for index in batch:
            if any(map(self._needs_scores, found[index])):
                scored = [
                    finished_hypothesis(each.tokens, self._given(each.tokens, next(scores).result().log_probs), alpha)
                    for each in found[index]
                ]
                found[index] = sorted(scored, key=lambda hypothesis: -hypothesis.score)

    def _given(self, tokens: Ids, values: list[float]) -> list[float]:
        """The log-probabilities of tokens, with 0 for that of the language."""
        return [0.0, *values[1:]] if self._starts_with_language(tokens) else values

    def _search_unfinished(self, sources: Sequence[Ids], starts: Sequence[Ids], found: list[list[Hypothesis]]) -> None:
        """Search the sentences without a hypothesis by another engine."""
        unfinished = [index for index, hypotheses in enumerate(found) if not hypotheses]
        if unfinished:
            chosen = [sources[index] for index in unfinished], [starts[index] for index in unfinished]
            searched = self._other.translate(*chosen)
            for index, hypotheses in zip(unfinished, searched, strict=True):
                found[index] = hypotheses
