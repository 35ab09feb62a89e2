"""Search as the decoding settings ask for it."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from dragoman.search.beam import beam_search
from dragoman.search.decode_single import Choose, follow, likeliest, sampler
from dragoman.search.hypothesis import CacheType, Hypothesis, Step
from dragoman.search.logits_processors import build_filters, build_sampling_filters
from dragoman.search.trace import BeamTrace
from dragoman.settings import Decoding


def search(
    step: Step[CacheType],
    cache: CacheType,
    settings: Decoding,
    *,
    bos: int,
    eos: int,
    forbidden: Sequence[int],
    max_lengths: Tensor,
    prefixes: Tensor | None = None,
    trace: BeamTrace | None = None,
) -> list[list[Hypothesis]]:
    """The n_best hypotheses of each sentence, best first.

    Args:
        step: The model.
        cache: Prepared for one row a sentence.
        settings: Beam size, penalties, sampling.
        bos: Id every hypothesis starts from.
        eos: Id that ends a hypothesis.
        forbidden: Ids that are never produced.
        max_lengths: Most tokens of each sentence's hypotheses, eos included, (sentences,), int64.
        prefixes: What each sentence's hypotheses begin with, see `forced_tokens`.
        trace: Is told what each step of a beam search considered; greedy search is one with a beam of 1.
    """
    filters = build_filters(settings, forbidden, eos)
    alpha = settings.length_penalty
    if not settings.sampling and (settings.beam_size > 1 or trace is not None):
        return beam_search(
            step,
            cache,
            bos=bos,
            eos=eos,
            beam_size=settings.beam_size,
            n_best=settings.n_best,
            max_lengths=max_lengths,
            length_penalty=alpha,
            filters=filters,
            prefixes=prefixes,
            trace=trace,
        )
    copies = settings.n_best
    choose: Choose = likeliest
    if settings.sampling:
        choose = sampler(settings.seed, max_lengths.device, build_sampling_filters(settings))
    if copies > 1:  # each sample is a sentence of its own
        repeated = max_lengths.new_tensor(range(len(max_lengths))).repeat_interleave(copies)
        cache.select(repeated, repeated)
        max_lengths = max_lengths[repeated]
        prefixes = prefixes if prefixes is None else prefixes[repeated]
    flat = follow(
        step,
        cache,
        choose,
        bos=bos,
        eos=eos,
        max_lengths=max_lengths,
        length_penalty=alpha,
        filters=filters,
        prefixes=prefixes,
    )
    groups = [flat[start : start + copies] for start in range(0, len(flat), copies)]
    return [sorted(group, key=lambda hypothesis: -hypothesis.score) for group in groups]
