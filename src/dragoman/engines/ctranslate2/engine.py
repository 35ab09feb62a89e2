"""Translating with CTranslate2: the same search as ours on the same weights, by another engine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import ctranslate2
import torch

from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.search.hypothesis import Hypothesis, finish, length_penalty
from dragoman.settings import Decoding
from dragoman.system.cpu import usable_cores
from dragoman.translator import Translator

Sentence = list[int]

_SCORED_TOKENS = 256  # in a batch: those of a few sentences are shared by the workers too
_BATCH_TOKENS = 1024  # small enough for every worker to get some batches of a long text
_NO_PENALTY = 1e-6  # with 0 the engine would end the search by another rule than ours


def impossible(decoding: Decoding) -> list[str]:
    """What these settings ask of CTranslate2 that it cannot do as we do."""
    reasons = {
        "decoding.sampling = true": decoding.sampling,
        f"decoding.temperature = {decoding.temperature:g}": decoding.temperature != 1.0,
        "decoding.cache = false": not decoding.cache,
        f"decoding.min_length = {decoding.min_length}": decoding.min_length > 0,
        f"decoding.no_repeat_ngram = {decoding.no_repeat_ngram}": decoding.no_repeat_ngram > 0,
        f"decoding.mbr_samples = {decoding.mbr_samples}": decoding.mbr_samples > 0,
    }
    return [setting for setting, asked in reasons.items() if asked]


class CTranslate2Translator(Translator):
    """A translator whose search CTranslate2 runs, one single-threaded worker a core.

    Beams grow and end there by our rules. Its length penalty is another, so it is left out there, and ours is applied
    here to all hypotheses of a sentence that ended. Where more than `beam_size` of them end at once, the engine keeps
    the likeliest. Those it drops are no longer and no likelier than one that it keeps, so the best of all is kept;
    an alternative may be missing. It cannot force the end of a translation that reaches its limit: such a beam is
    searched again by torch.
    """

    def __init__(
        self,
        bundle: Bundle,
        converted: Path,
        decoding: Decoding | None = None,
        compute_type: str = "float32",
        *,
        token_scores: bool = True,
    ) -> None:
        """Open a converted bundle.

        Args:
            bundle: The original, whose tokenizers and settings are used.
            converted: What the bundle became in CTranslate2's format.
            decoding: Settings of the search, instead of the bundle's own.
            compute_type: 'float32' or 'int8'.
            token_scores: Whether translations have log-probabilities. The engine does not tell them: each translation
                is scored once more, which takes up to a tenth of the time. Without, only the scores are there.

        Raises:
            UserError: The settings ask for what CTranslate2 cannot do, or its files are broken.
        """
        super().__init__(bundle, decoding)
        if reasons := impossible(self.decoding):
            raise UserError(f"CTranslate2 cannot translate with {', '.join(reasons)}; use the engine torch")
        self._token_scores = token_scores
        try:
            self._engine = ctranslate2.Translator(
                str(converted),
                compute_type=compute_type,
                inter_threads=usable_cores(),
                intra_threads=1,
                max_queued_batches=-1,  # a submission never waits, so that what is done is read meanwhile
            )
        except (RuntimeError, ValueError) as error:
            raise UserError(f"{converted}: CTranslate2 cannot read it: {error}") from error

    def score(self, sources: Sequence[Sentence], targets: Sequence[Sentence]) -> list[list[float]]:
        """Log-probabilities of the tokens of given translations, and of their ends."""
        return [result.result().log_probs for result in self._submit_scoring(sources, targets)]

    def _submit_scoring(
        self, sources: Sequence[Sentence], targets: Sequence[Sentence]
    ) -> list[ctranslate2.AsyncScoringResult]:
        source, target = self.bundle.source.vocabulary.tokens, self.bundle.target.vocabulary.tokens
        if not sources:
            return []
        submitted: list[ctranslate2.AsyncScoringResult] = self._engine.score_batch(
            [[source[token] for token in sentence] for sentence in sources],
            [[target[token] for token in sentence] for sentence in targets],
            max_batch_size=_SCORED_TOKENS,
            batch_type="tokens",
            max_input_length=0,
            asynchronous=True,
        )
        return submitted

    def _search_all(
        self, batches: Sequence[list[Sentence]], prefixes: Sequence[list[Sentence]]
    ) -> Iterable[list[list[Hypothesis]]]:
        """Give the engine all batches at once, that no worker waits; torch searches where beginnings are given."""
        if any(map(any, prefixes)):
            return super()._search_all(batches, prefixes)
        return self._search_freely(batches)

    def _search_freely(self, batches: Sequence[list[Sentence]]) -> Iterator[list[list[Hypothesis]]]:
        limits = [self._limits(torch.tensor([len(sentence) + 1 for sentence in batch])).tolist() for batch in batches]
        pending = [self._submit(batch, max(limit)) for batch, limit in zip(batches, limits, strict=True)]
        found = []
        for batch, results, limit in zip(batches, pending, limits, strict=True):
            best = [self._best(result.result(), most) for result, most in zip(results, limit, strict=True)]
            found.append((best, self._score_later(batch, best)))
        for best, scores in found:
            self._finish(best, scores)
        unsettled = [
            [sentence for sentence, hypotheses in zip(batch, best, strict=True) if not hypotheses]
            for batch, (best, _) in zip(batches, found, strict=True)
        ]
        searched = [batch for batch in unsettled if batch]
        again = chain.from_iterable(super()._search_all(searched, [[[] for _ in batch] for batch in searched]))
        for best, _ in found:
            yield [hypotheses or next(again) for hypotheses in best]

    def _submit(self, batch: list[Sentence], limit: int) -> list[ctranslate2.AsyncTranslationResult]:
        tokens, beam_size = self.bundle.source.vocabulary.tokens, self.decoding.beam_size
        submitted: list[ctranslate2.AsyncTranslationResult] = self._engine.translate_batch(
            [[tokens[token] for token in sentence] for sentence in batch],
            max_batch_size=_BATCH_TOKENS,
            batch_type="tokens",
            asynchronous=True,
            beam_size=beam_size,
            num_hypotheses=beam_size,
            length_penalty=_NO_PENALTY,
            max_decoding_length=max(1, limit),
            min_decoding_length=0,
            max_input_length=0,
            return_scores=True,
            return_end_token=True,
        )
        return submitted

    def _best(self, result: ctranslate2.TranslationResult, limit: int) -> list[Hypothesis]:
        """The n_best hypotheses, best first, without log-probabilities; none if the search came to the limit.

        But a greedy search would only have ended there: its hypothesis, not yet scored, is that which it had by then.
        """
        ids, alpha = self.bundle.target.vocabulary.ids, self.decoding.length_penalty
        lengths = [len(tokens) for tokens in result.hypotheses]  # eos counts
        if max(lengths) >= limit:
            said = [ids[token] for token in result.hypotheses[0][: limit - 1]]
            return [Hypothesis(said, [], math.nan)] if self.decoding.beam_size == 1 else []
        totals = [score * length**_NO_PENALTY for score, length in zip(result.scores, lengths, strict=True)]
        scores = [total / length_penalty(length, alpha) for total, length in zip(totals, lengths, strict=True)]
        order = sorted(range(len(scores)), key=lambda index: -scores[index])[: self.decoding.n_best]
        return [
            Hypothesis([ids[token] for token in result.hypotheses[index][:-1]], [], scores[index]) for index in order
        ]

    def _score_later(
        self, batch: Sequence[Sentence], found: Sequence[list[Hypothesis]]
    ) -> list[ctranslate2.AsyncScoringResult]:
        """Ask the workers for the log-probabilities of all hypotheses that need them."""
        pairs = [
            (sentence, hypothesis.tokens)
            for sentence, hypotheses in zip(batch, found, strict=True)
            for hypothesis in hypotheses
            if self._needs_scoring(hypothesis)
        ]
        return self._submit_scoring([sentence for sentence, _ in pairs], [tokens for _, tokens in pairs])

    def _finish(self, found: list[list[Hypothesis]], scores: Sequence[ctranslate2.AsyncScoringResult]) -> None:
        """Put hypotheses with their log-probabilities in place of those that needed them."""
        results, alpha = iter(scores), self.decoding.length_penalty
        for index, hypotheses in enumerate(found):
            if any(map(self._needs_scoring, hypotheses)):
                scored = [finish(each.tokens, next(results).result().log_probs, alpha) for each in hypotheses]
                found[index] = sorted(scored, key=lambda hypothesis: -hypothesis.score)

    def _needs_scoring(self, hypothesis: Hypothesis) -> bool:
        return self._token_scores or math.isnan(hypothesis.score)
