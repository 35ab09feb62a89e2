"""An engine that searches with a decoder, which predicts one token at a time."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from dragoman.dataset.batch import pad
from dragoman.engines.batching import batches_by_length, refuse_other_process, run_batches, search_workers
from dragoman.engines.protocol import ComputeType, Copies, EngineRequest, Ids
from dragoman.search.constraints import ANY, Constraints, max_target_length
from dragoman.search.decode import decode
from dragoman.search.hypothesis import Decoder, Hypothesis
from dragoman.search.required_tokens import RequiredTokens
from dragoman.search.trace import BeamTrace
from dragoman.system.device import to_device
from dragoman.text.masked_text import reserved_ids
from dragoman.text.multilingual import all_language_ids

Score = Callable[[Sequence[Ids], Sequence[Ids]], list[list[float]]]


class StepEngine:
    """Searches with a decoder.

    Args:
        name: The engine's name.
        decoder: The model.
        request: Settings, device and vocabularies.
        max_length: Maximum length of sources and translations in tokens, eos included.
        score: Scores given translations; None if nobody asks for that.
    """

    def __init__(
        self, name: str, decoder: Decoder, request: EngineRequest, max_length: int, score: Score | None = None
    ) -> None:
        self.name, self.decoder, self.request, self.max_length, self._score = name, decoder, request, max_length, score
        self._process = os.getpid()

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

        batches = batches_by_length(sources, self.request, search_workers(self.request.device))
        found: list[list[Hypothesis]] = [[] for _ in sources]
        for batch, results in zip(batches, run_batches(search, batches, self.request.device), strict=True):
            for index, hypotheses in zip(batch, results, strict=True):
                found[index] = hypotheses
        return found

    def score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[list[float]]:
        """Log-probabilities of given translations, see `Engine.score`."""
        assert self._score is not None
        refuse_other_process(self._process)
        return self._score(sources, targets)

    def _inputs(
        self, sources: Sequence[Ids], prefixes: Sequence[Ids], copies: Sequence[Copies] | None
    ) -> tuple[Tensor, Constraints]:
        """Source ids, (sentences, source), and the constraints on their translations."""
        bundle, device = self.request.bundle, self.request.device
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
            target.forbidden_ids,
            lengths,
            prefixes=forced,
            required=None if copies is None else RequiredTokens.of(reserved_ids(bundle.target), copies, device),
            given=all_language_ids(bundle.target),
        )
        return ids, constraints
