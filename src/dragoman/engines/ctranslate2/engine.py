"""CTranslate2 as an engine: the same search on the same weights."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.batching import batches_by_length, refuse_other_process
from dragoman.engines.choose import NOT_IMPORTED, ComputeType, Copies, EngineRequest, Ids, TargetScores
from dragoman.engines.ctranslate2.convert import conversion_directory, convert, unsupported_settings
from dragoman.errors import UserError
from dragoman.search.hypothesis import BeamTrace, Hypothesis, finished_hypothesis, length_penalty, max_target_length
from dragoman.system.cpu import has_avx512, process_threads
from dragoman.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from dragoman.engines.torch_engine import StepEngine
    from dragoman.model.transformer import Transformer

_SCORED_TOKENS = 256  # per batch; small, so that even a few sentences keep several workers busy
_BATCH_TOKENS = 1024  # small, so that every worker gets some batches of a long text
_NO_PENALTY = 1e-6  # with 0, CTranslate2 would end the search by a different rule

_INSTRUCTIONS = "CT2_FORCE_CPU_ISA"
"""The variable that requests instructions of the processor; CTranslate2 uses AVX-512 only on request."""


def unsupported(request: EngineRequest) -> list[str]:
    """What the engine does not support of the request, or lacks on this machine."""
    decoding = request.decoding
    reasons = {
        "decoding.sampling = true": decoding.sampling,
        f"decoding.temperature = {decoding.temperature:g}": decoding.temperature != 1.0,
        "decoding.cache = false": not decoding.cache,
        "decoding.neighbors": decoding.neighbors is not None,
        f"decoding.min_length = {decoding.min_length}": decoding.min_length > 0,
        f"decoding.no_repeat_ngram = {decoding.no_repeat_ngram}": decoding.no_repeat_ngram > 0,
        f"decoding.mbr_samples = {decoding.mbr_samples}": decoding.mbr_samples > 0,
        "an ensemble": bool(request.ensemble),
        f"the device {request.device}": request.device.type != "cpu",
        "--compute-type bfloat16": request.weight_type == "bfloat16",
        "a bundle that is not on disk": request.path is None,
        "a bundle that cannot be converted, because neither its directory nor the cache is writable": (
            request.path is not None and conversion_directory(request.path, request.weight_type) is None
        ),
    }
    found = [reason for reason, met in reasons.items() if met] + unsupported_settings(request.bundle)
    if not found and (error := import_error()):
        found.append(f"{NOT_IMPORTED} ({error})")
    return found


@cache
def import_error() -> str:
    """Why the package ctranslate2 cannot be imported, such as on processors for which it is not made; or nothing."""
    try:
        import ctranslate2  # noqa: F401
    except (ImportError, OSError) as error:
        return str(error)
    return ""


def open_engine(request: EngineRequest) -> CTranslate2Engine:
    """Open the engine of a bundle on disk; the bundle is converted on first use.

    Raises:
        UserError: The converted bundle cannot be written or read.
    """
    assert request.path is not None, "`unsupported` refuses bundles that are not on disk"
    return CTranslate2Engine(request, convert(request.bundle, request.path, request.weight_type))


class CTranslate2Engine:
    """Single-threaded workers of CTranslate2, one for each thread of the request.

    CTranslate2 extends and ends beams by the same rules as our beam search. Its length penalty is different, so it is
    disabled, and ours is applied here to all ended hypotheses of a sentence. If more than `beam_size` of them end at
    once, CTranslate2 keeps the most probable ones. A dropped hypothesis is neither longer nor more probable than one
    that is kept, so the best hypothesis is never dropped, but an alternative may be. CTranslate2 cannot force eos at
    the maximum length. Sentences whose beam reaches it, and those with tokens that they must contain or with a prefix
    other than the token of a language, are searched by the engine torch, which is opened when it is first needed. It
    also records searches, and it scores given translations: here, unknown words would have no probability.

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
        self._languages = set(request.bundle.target.all_language_ids)
        self._workers = Workers(converted, request.weight_type, request.threads or process_threads())

    @cached_property
    def model(self) -> Transformer:
        """The bundle's model, see `Engine.model`."""
        from dragoman.kernels import accelerated

        return accelerated(self.request.bundle.model)

    @cached_property
    def _torch(self) -> StepEngine:
        """The engine for what CTranslate2 cannot do; torch is only loaded for it, and not in a forked process."""
        from dragoman.engines.torch_engine import open_engine as open_torch_engine

        refuse_other_process(self._workers.process)
        return open_torch_engine(replace(self.request, path=None, compute_type="float32"))

    def translate(
        self,
        sources: Sequence[Ids],
        prefixes: Sequence[Ids] | None = None,
        trace: BeamTrace | None = None,
        copies: Sequence[Copies] | None = None,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, see `Engine.translate`."""
        starts = prefixes or [[]] * len(sources)
        given = any(len(start) > 1 or (start and start[0] not in self._languages) for start in starts)
        if given or copies is not None or trace is not None:
            return self._torch.translate(sources, prefixes, trace, copies)
        found: list[list[Hypothesis]] = [[] for _ in sources]
        batches = batches_by_length(sources, self.request)
        limits = [max_target_length(len(each) + 1, self.request.decoding, self.max_length) for each in sources]
        pending = [
            self._submit([sources[i] for i in batch], [starts[i] for i in batch], max(limits[i] for i in batch))
            for batch in batches
        ]
        scores = []
        for batch, results in zip(batches, pending, strict=True):
            for index, result in zip(batch, results, strict=True):
                found[index] = self._best(result.result(), limits[index])
            # the score of a greedy search that reached its limit is not known yet
            unscored = [
                index
                for index in batch
                if self.request.token_scores or any(math.isnan(each.score) for each in found[index])
            ]
            pairs = [(sources[index], each.tokens) for index in unscored for each in found[index]]
            submitted = self._submit_scoring([source for source, _ in pairs], [target for _, target in pairs])
            scores.append((unscored, submitted))
        for unscored, results in scores:
            self._add_scores(unscored, found, results)
        if unfinished := [index for index, hypotheses in enumerate(found) if not hypotheses]:
            self._search_unfinished(unfinished, sources, starts, found)
        return found

    def score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[TargetScores]:
        """The probabilities of given translations, see `Engine.score`."""
        return self._torch.score(sources, targets)

    def attention(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[NDArray[np.float32]]:
        """The attention of given translations, see `Engine.attention`: each is the prefix of a search, which ends."""
        batches = batches_by_length(targets, self.request)
        pending = [
            self._workers.translator.translate_batch(
                _spell([sources[index] for index in batch], self.request.bundle.source),
                target_prefix=_spell([targets[index] for index in batch], self.request.bundle.target),
                max_batch_size=_BATCH_TOKENS,
                batch_type="tokens",
                asynchronous=True,
                beam_size=1,
                max_decoding_length=max(len(targets[index]) for index in batch) + 1,
                max_input_length=0,
                return_attention=True,
                return_end_token=True,
            )
            for batch in batches
        ]
        found: dict[int, NDArray[np.float32]] = {}
        for batch, results in zip(batches, pending, strict=True):
            for index, result in zip(batch, results, strict=True):
                rows = result.result().attention[0]
                found[index] = np.array(rows[: len(targets[index]) + 1], dtype=np.float32)
        return [found[index] for index in range(len(targets))]

    def score_as_converted(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[list[float]]:
        """Log-probabilities of the tokens of given translations, and of their ends, by the converted model."""
        return [result.result().log_probs for result in self._submit_scoring(sources, targets)]

    def _submit(self, sources: Sequence[Ids], starts: Sequence[Ids], longest: int) -> list[Any]:
        """Queue sentences of similar length, with the language of each translation; returns their future results."""
        decoding = self.request.decoding
        languages = _spell(starts, self.request.bundle.target)
        results: list[Any] = self._workers.translator.translate_batch(
            _spell(sources, self.request.bundle.source),
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

    def _submit_scoring(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[Any]:
        """Queue hypotheses, whose tokens need log-probabilities; returns their future results."""
        if not sources:
            return []
        results: list[Any] = self._workers.translator.score_batch(
            _spell(sources, self.request.bundle.source),
            _spell(targets, self.request.bundle.target),
            max_batch_size=_SCORED_TOKENS,
            batch_type="tokens",
            max_input_length=0,
            asynchronous=True,
        )
        return results

    def _add_scores(self, unscored: list[int], found: list[list[Hypothesis]], results: Sequence[Any]) -> None:
        """Replace the hypotheses of sentences, which were queued for scoring, by scored ones."""
        scores, alpha = iter(results), self.request.decoding.length_penalty
        for index in unscored:
            scored = []
            for hypothesis in found[index]:
                tokens, values = hypothesis.tokens, next(scores).result().log_probs
                if tokens and tokens[0] in self._languages:  # the token of a language is given
                    values = [0.0, *values[1:]]
                scored.append(finished_hypothesis(tokens, values, alpha))
            found[index] = sorted(scored, key=lambda hypothesis: -hypothesis.score)

    def _search_unfinished(
        self, unfinished: list[int], sources: Sequence[Ids], starts: Sequence[Ids], found: list[list[Hypothesis]]
    ) -> None:
        """Search sentences whose beam reached the limit by the engine torch."""
        chosen = [sources[index] for index in unfinished], [starts[index] for index in unfinished]
        for index, hypotheses in zip(unfinished, self._torch.translate(*chosen), strict=True):
            found[index] = hypotheses


def _spell(sentences: Sequence[Ids], tokenizer: Tokenizer) -> list[list[str]]:
    """The tokens of sentences, which CTranslate2 reads instead of ids."""
    tokens = tokenizer.vocabulary.tokens
    return [[tokens[index] for index in ids] for ids in sentences]


class Workers:
    """A translator of CTranslate2 with single-threaded workers.

    Args:
        converted: Directory of the converted bundle.
        compute_type: Data type of weights and matrix products.
        count: How many workers.

    Attributes:
        process: Id of the process in which they were started.

    Raises:
        UserError: The converted bundle cannot be read.
    """

    def __init__(self, converted: Path, compute_type: ComputeType, count: int) -> None:
        import ctranslate2

        self.process = os.getpid()
        torch = sys.modules.get("torch")
        threads = torch.get_num_threads() if torch else 0
        requested = _INSTRUCTIONS not in os.environ and has_avx512()
        try:
            if requested:
                os.environ[_INSTRUCTIONS] = "AVX512"
            self._translator = ctranslate2.Translator(
                str(converted),
                compute_type=compute_type,
                inter_threads=count,
                intra_threads=1,
                max_queued_batches=-1,  # submitting never blocks, so finished results are read meanwhile
            )
        except (RuntimeError, ValueError) as error:
            raise UserError(f"{converted}: CTranslate2 cannot read it: {error}") from error
        finally:
            if torch:
                torch.set_num_threads(threads)  # CTranslate2 sets those of OpenMP, which torch uses too
            if requested:
                del os.environ[_INSTRUCTIONS]

    @property
    def translator(self) -> Any:
        """The `ctranslate2.Translator`.

        Raises:
            UserError: This process was forked from the one that opened it.
        """
        refuse_other_process(self.process)
        return self._translator

    def __del__(self) -> None:
        """Free the translator, except in a forked process, which would wait forever for threads that it does not have.

        There, a reference to it is never released.
        """
        if os.getpid() != self.process and hasattr(self, "_translator"):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._translator))
