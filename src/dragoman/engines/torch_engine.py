"""The engine that searches with the model in torch, on any device, alone or in an ensemble.

`StepEngine` searches with any decoder, which predicts one token at a time.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.bundle import Bundle, describe_direction, same_languages
from dragoman.dataset.batch import pad
from dragoman.engines.batching import batches_by_length, refuse_other_process
from dragoman.engines.choose import ComputeType, Copies, EngineRequest, Ids, TargetScores
from dragoman.engines.decoders import EnsembleDecoder, PreallocatedDecoder, PrefixDecoder
from dragoman.engines.nearest_neighbors import NeighborDecoder, open_index
from dragoman.engines.scoring import cross_attention, score_targets
from dragoman.errors import UserError
from dragoman.kernels import accelerated, supports_unpadded
from dragoman.model.transformer import Transformer
from dragoman.search.decode import decode
from dragoman.search.hypothesis import BeamTrace, Decoder, Hypothesis, max_target_length
from dragoman.search.logits_processors import ANY, Constraints, RequiredTokens
from dragoman.system.device import to_device

T = TypeVar("T")

MOST_WORKERS = 8
"""Maximum number of batches searched at once on a CPU; more threads would wait for Python's global lock."""


def unsupported(request: EngineRequest) -> list[str]:
    """What the engine does not support of the request."""
    on_gpu, weights = request.device.type == "cuda", request.weight_type
    neighbors = request.decoding.neighbors is not None
    reasons = {
        f"--compute-type {weights}": weights not in ("float32", "bfloat16"),
        f"--compute-type bfloat16 on the device {request.device}": weights == "bfloat16" and not on_gpu,
        "decoding.neighbors without decoding.cache": neighbors and not request.decoding.cache,
    }
    return [reason for reason, met in reasons.items() if met]


def open_engine(request: EngineRequest) -> StepEngine:
    """Open the engine of a bundle, or of an ensemble, with the current weights of the models.

    An ensemble has the smallest `max_length` of its members.

    Raises:
        UserError: The tokenizers of the ensemble differ, or the corpus of `decoding.neighbors` cannot be used.
    """
    if request.ensemble:
        check_tokenizers(request.bundle, request.ensemble)
        bundles = request.bundle, *request.ensemble
        members = [open_engine(replace(request, bundle=bundle, ensemble=())) for bundle in bundles]
        decoder = EnsembleDecoder([member.decoder for member in members])
        return StepEngine("ensemble", decoder, request, members=members)
    dtype = torch.bfloat16 if request.weight_type == "bfloat16" else None
    model = accelerated(request.bundle.model, torch.device(str(request.device)), dtype)
    return StepEngine("torch", _decoder(model, request), request, None if dtype else model)


def _decoder(model: Transformer, request: EngineRequest) -> Decoder:
    decoding = request.decoding
    if not decoding.cache:
        return PrefixDecoder(model)
    if decoding.neighbors is not None:
        if request.bundle.is_undecided:
            raise UserError("decoding.neighbors is for one direction: choose it with source_language, target_language")
        return NeighborDecoder(model, open_index(request.bundle, decoding.neighbors), decoding.neighbor_weight)
    return PreallocatedDecoder(model) if supports_unpadded(model) else model


class StepEngine:
    """Searches with a decoder.

    Args:
        name: The engine's name.
        decoder: Predicts the next tokens.
        request: Settings, device and vocabularies.
        model: What `Engine.model` describes; by default a copy of the bundle's model, made when it is needed.
        members: The engines of an ensemble, the first of which has the bundle.
    """

    def __init__(
        self,
        name: str,
        decoder: Decoder,
        request: EngineRequest,
        model: Transformer | None = None,
        members: Sequence[StepEngine] = (),
    ) -> None:
        self.name, self.decoder, self.request, self._members = name, decoder, request, members
        self.device = torch.device(str(request.device))
        self.max_length: int = min((member.max_length for member in members), default=request.max_length)
        self._model, self._process = model, os.getpid()

    @cached_property
    def model(self) -> Transformer:
        """The bundle's model on the device, see `Engine.model`."""
        if self._members:
            return self._members[0].model
        return self._model or accelerated(self.request.bundle.model, self.device)

    @property
    def weight_type(self) -> ComputeType:
        """Data type of the weights and matrix products."""
        return self.request.weight_type

    def translate(
        self,
        sources: Sequence[Ids],
        prefixes: Sequence[Ids] | None = None,
        trace: BeamTrace | None = None,
        copies: Sequence[Copies] | None = None,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, see `Engine.translate`."""
        assert trace is None or len(sources) == 1, "a trace numbers the sentences of one batch"
        refuse_other_process(self._process)

        def search(batch: list[int]) -> list[list[Hypothesis]]:
            batch_prefixes = [prefixes[index] for index in batch] if prefixes else []
            batch_copies = None if copies is None else [copies[index] for index in batch]
            source, constraints = self._inputs([sources[index] for index in batch], batch_prefixes, batch_copies)
            keys = [zlib.crc32(np.array(sources[index], dtype=np.int64).tobytes()) for index in batch]
            return decode(self.decoder, source, self.request.decoding, constraints, trace, keys)

        batches = batches_by_length(sources, self.request, search_workers(self.device))
        found: list[list[Hypothesis]] = [[] for _ in sources]
        for batch, results in zip(batches, run_batches(search, batches, self.device), strict=True):
            for index, hypotheses in zip(batch, results, strict=True):
                found[index] = hypotheses
        return found

    def score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[TargetScores]:
        """The probabilities of given translations, see `Engine.score`."""
        refuse_other_process(self._process)
        models = [member.model for member in self._members] or [self.model]
        return score_targets(models, self.request.bundle, sources, targets)

    def attention(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[NDArray[np.float32]]:
        """The attention of given translations, see `Engine.attention`; of an ensemble, that of the first model."""
        refuse_other_process(self._process)
        bundle = self.request.bundle
        layer = bundle.attention_rows().layer
        return [weights[layer] for weights in cross_attention(self.model, bundle, sources, targets)]

    def _inputs(
        self, sources: Sequence[Ids], prefixes: Sequence[Ids], copies: Sequence[Copies] | None
    ) -> tuple[Tensor, Constraints]:
        """Source ids, (sentences, source), and the constraints on their translations."""
        bundle, device = self.request.bundle, self.device
        source, target = bundle.source.vocabulary, bundle.target.vocabulary
        limits = [max_target_length(len(ids) + 1, self.request.decoding, self.max_length) for ids in sources]
        forced = None
        if any(map(len, prefixes)):
            limits = [max(limit, len(prefix) + 1) for limit, prefix in zip(limits, prefixes, strict=True)]
            forced = to_device(pad(prefixes, first=None, last=None, pad=ANY), device)  # (sentences, longest)
        ids = to_device(pad(sources, first=None, last=source.eos, pad=source.pad), device)  # (sentences, source)
        lengths = to_device(torch.tensor(limits, dtype=torch.int64), device)
        constraints = Constraints(
            target.bos,
            target.eos,
            bundle.target.forbidden_ids,
            lengths,
            prefixes=forced,
            required=None if copies is None else RequiredTokens.of(bundle.target.reserved_ids, copies, device),
            given=bundle.target.all_language_ids,
        )
        return ids, constraints


def search_workers(device: torch.device) -> int:
    """How many batches `run_batches` searches at once, at most."""
    return min(torch.get_num_threads(), MOST_WORKERS) if device.type == "cpu" else 1


def run_batches(search: Callable[[list[int]], T], batches: Sequence[list[int]], device: torch.device) -> list[T]:
    """The results of all batches; on a CPU, several threads search one batch each.

    This is faster than using all threads for each batch: while one thread runs Python code, the others compute.
    """
    threads, workers = torch.get_num_threads(), min(len(batches), search_workers(device))
    if workers < 2:
        return [search(batch) for batch in batches]
    pool = ThreadPoolExecutor(workers, initializer=lambda: torch.set_num_threads(threads // workers))
    try:
        return list(pool.map(search, batches))
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


def check_tokenizers(bundle: Bundle, others: Sequence[Bundle]) -> None:
    """Check that bundles can form an ensemble.

    Raises:
        UserError: Their languages or their tokenizers differ.
    """
    for other in others:
        first, second = bundle.recipe, other.recipe
        if not same_languages(first.data.languages, second.data.languages):
            raise UserError(
                f"{first.name} translates {describe_direction(first.data.languages)}, and {second.name} "
                f"{describe_direction(second.data.languages)}, so they cannot form an ensemble"
            )
        sides = ((bundle.source, other.source), (bundle.target, other.target))
        if any(ours is not theirs and ours.to_json() != theirs.to_json() for ours, theirs in sides):
            names = f"{bundle.origin} and {other.origin}"
            raise UserError(f"{names} have different tokenizers, so they cannot form an ensemble")
