"""Running the search that the decoding settings describe."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from dragoman.search.beam import beam_search
from dragoman.search.constraints import Constraints
from dragoman.search.decode_single import decode_single
from dragoman.search.hypothesis import Decoder, Hypothesis
from dragoman.search.minimum_bayes_risk import sampling_settings
from dragoman.search.sampler import Sampler
from dragoman.search.trace import BeamTrace
from dragoman.settings import Decoding


@torch.inference_mode()
def decode(
    decoder: Decoder,
    source: Tensor,
    settings: Decoding,
    constraints: Constraints,
    trace: BeamTrace | None = None,
    keys: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """The hypotheses of each sentence, best first: `n_best`, or all samples of minimum Bayes risk decoding.

    Args:
        decoder: The model.
        source: Ids of the sentences, (sentences, source).
        settings: Kind of search, beam size, number of hypotheses and more.
        constraints: Maximum lengths, prefixes and forbidden ids.
        trace: Records each step of a beam search; greedy search is then run as a beam search with beam size 1.
        keys: A number for each sentence, which determines its samples together with the seed; by default its index.
    """
    settings, cache = sampling_settings(settings), decoder.start(source)
    if not settings.sampling and (settings.beam_size > 1 or trace is not None):
        return beam_search(decoder, cache, settings, constraints, trace)
    copies = settings.n_best
    sampler = Sampler(settings, keys or range(len(source)), constraints.max_lengths) if settings.sampling else None
    if copies > 1:  # each sample is decoded like a separate sentence
        sentences = torch.arange(len(source), device=source.device).repeat_interleave(copies)
        cache.select(sentences, sentences)
        constraints = constraints.repeat(copies)
    flat = decode_single(decoder, cache, settings, constraints, sampler)
    groups = [flat[start : start + copies] for start in range(0, len(flat), copies)]
    return [sorted(group, key=lambda hypothesis: -hypothesis.score) for group in groups]
