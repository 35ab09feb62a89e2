"""Settings: how translations are searched for."""

from __future__ import annotations

from pydantic import Field

from dragoman.settings.base import Settings


def _beam_holds_n_best(decoding: Decoding) -> str | None:
    if decoding.mbr_samples:
        few = decoding.n_best > decoding.mbr_samples
        return f"n_best = {decoding.n_best} is more than mbr_samples = {decoding.mbr_samples}" if few else None
    short = not decoding.sampling and decoding.n_best > decoding.beam_size
    return f"n_best = {decoding.n_best} is more than beam_size = {decoding.beam_size}" if short else None


def _only_sampling_filters(decoding: Decoding) -> str | None:
    filtered = decoding.top_k is not None or decoding.top_p is not None
    drawn = decoding.sampling or decoding.mbr_samples
    return "top_k and top_p need sampling = true or mbr_samples" if filtered and not drawn else None


def _lengths_leave_room(decoding: Decoding) -> str | None:
    short = decoding.min_length > decoding.max_length
    return f"min_length = {decoding.min_length} is more than max_length = {decoding.max_length}" if short else None


class Decoding(Settings):
    """How translations are searched for."""

    rules = (_beam_holds_n_best, _only_sampling_filters, _lengths_leave_room)
    beam_size: int = Field(5, ge=1, description="Hypotheses kept at each step; 1 is greedy.")
    length_penalty: float = Field(
        1.0, ge=0, description="Exponent alpha of ((5 + length) / 6)^alpha (Wu et al. 2016, eq. 14)."
    )
    n_best: int = Field(1, ge=1, description="Translations to return for each sentence; at most beam_size.")
    max_length: int = Field(256, ge=1, description="Most tokens of a translation.")
    min_length: int = Field(0, ge=0, description="Fewest tokens of a translation.")
    no_repeat_ngram: int = Field(
        0, ge=0, description="No so many tokens in a row come twice in a translation; 0 allows it."
    )
    max_length_ratio: float = Field(2.0, gt=0, description="Most target tokens for each source token …")
    max_length_offset: int = Field(10, ge=0, description="… plus this many.")
    sampling: bool = Field(False, description="Draw tokens at random instead of searching for the best.")
    temperature: float = Field(1.0, gt=0, description="Divides the logits before the softmax.")
    top_k: int | None = Field(None, ge=1, description="Sample among the k likeliest tokens only.")
    top_p: float | None = Field(
        None, gt=0, le=1, description="Sample among the likeliest tokens of this total probability."
    )
    seed: int = Field(1, ge=0, description="Seed of sampling.")
    mbr_samples: int = Field(
        0,
        ge=0,
        description="Minimum Bayes risk: draw so many samples of each translation, and take the one that is most like "
        "the others by chrF (Eikema and Aziz 2020); 0 searches instead.",
    )
    batch_tokens: int | None = Field(
        None,
        ge=1,
        description="Source tokens of a decoding batch, padding included, times the hypotheses of each sentence; by "
        "default 4,096 on a CPU, where larger ones were slower, and 32,768 on a GPU.",
    )
    cache: bool = Field(
        True, description="Keep keys and values of earlier positions; false reads the whole prefix anew at each step."
    )
