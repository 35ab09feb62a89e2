"""Settings of decoding: the search for translations."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from dragoman.settings.base import Rule, Seed, Settings, advanced

MAX_COST_OF_MARKED_TERMS = 5.0
"""Default of `max_term_cost` for translators that were trained with marked terms, in nats."""


PLAIN_SEARCH: dict[str, Any] = {
    "sampling": False,
    "top_k": None,
    "top_p": None,
    "mbr_samples": 0,
    "neighbors": None,
}
"""Turns off sampling, minimum Bayes risk decoding and neighbors."""


class Decoding(Settings):
    """The search for translations."""

    rules = (
        Rule(
            lambda decoding: decoding.mbr_samples and decoding.n_best > decoding.mbr_samples,
            "n_best = {0.n_best} is more than mbr_samples = {0.mbr_samples}",
        ),
        Rule(
            lambda decoding: not (decoding.mbr_samples or decoding.sampling) and decoding.n_best > decoding.beam_size,
            "n_best = {0.n_best} is more than beam_size = {0.beam_size}",
        ),
        Rule(
            lambda decoding: (
                not (decoding.sampling or decoding.mbr_samples)
                and (decoding.top_k is not None or decoding.top_p is not None)
            ),
            "top_k and top_p need sampling = true or mbr_samples",
        ),
        Rule(
            lambda decoding: decoding.min_length >= decoding.max_length,
            "min_length = {0.min_length} must be less than max_length = {0.max_length}, which includes the end of the "
            "sentence",
        ),
    )
    beam_size: int = Field(5, ge=1, le=1000, description="Hypotheses kept at each step; 1 is greedy search.")
    length_penalty: float = Field(
        1.0, ge=0, le=10, description="Exponent alpha of ((5 + length) / 6)^alpha (Wu et al. 2016, eq. 14)."
    )
    n_best: int = Field(
        1,
        ge=1,
        le=10_000,
        description="Number of translations to return for each sentence; at most beam_size, or at most mbr_samples.",
    )
    max_length: int = Field(
        256, ge=1, le=100_000, description="Maximum number of tokens in a translation, end of sentence included."
    )
    sampling: bool = Field(False, description="Draw tokens at random instead of searching for the best translation.")
    temperature: float = Field(1.0, ge=1e-4, le=1e4, description="Divides the logits before the softmax.")
    top_k: int | None = Field(None, ge=1, le=1_000_000, description="Sample only from the k most probable tokens.")
    top_p: float | None = Field(
        None, ge=1e-6, le=1, description="Sample only from the most probable tokens with this total probability."
    )
    seed: Seed = Field(1, description="Seed of sampling. The samples of a text do not depend on other texts.")
    mbr_samples: int = Field(
        0,
        ge=0,
        le=10_000,
        description="Minimum Bayes risk: draw this many samples of each translation, and return the one most similar "
        "to the others by chrF (Eikema and Aziz 2020); 0 disables it.",
    )
    neighbors: str | None = Field(
        None,
        min_length=1,
        description="Corpus, such as the training text: the next token is also predicted from similar contexts in "
        "it. This improves translations of text that repeats itself, but takes three to four times as long "
        "(Khandelwal et al. 2021).",
    )
    neighbor_weight: float = advanced(
        0.5,
        gt=0,
        lt=1,
        description="The share of neighbors in the probability of the next token if the corpus contains the context "
        "itself; less similar neighbors have a smaller share. Text that repeats itself profits from 0.9.",
    )
    min_length: int = advanced(
        0,
        ge=0,
        le=100_000,
        description="Minimum number of tokens in a translation, without end of sentence, if the other settings allow "
        "that many for its source.",
    )
    no_repeat_ngram: int = advanced(
        0, ge=0, le=1000, description="Do not repeat any sequence of this many tokens in a translation; 0 disables it."
    )
    max_length_ratio: float = advanced(
        2.0,
        gt=0,
        le=1000,
        description="Maximum number of target tokens per source token; max_length_offset is added to the product.",
    )
    max_length_offset: int = advanced(
        10, ge=0, le=100_000, description="Number of target tokens allowed in addition to those of max_length_ratio."
    )
    batch_tokens: int | None = advanced(
        None,
        ge=1,
        le=1_000_000_000,
        description="Maximum number of source tokens in a batch, padding included, times hypotheses per sentence; by "
        "default 4,096 on a CPU, where larger batches were slower, and 32,768 on a GPU.",
    )
    max_term_cost: float | None = advanced(
        None,
        ge=0,
        le=1e6,
        description="Leave out a term of a glossary if it is improbable both in the sentence and as a translation of "
        "its source alone: each time, it reduces the log-probability by more than this, in nats. Terms with words that "
        "the training text lacks are kept. For translators that were trained with terms, only the sentence counts, by "
        f"default with the limit {MAX_COST_OF_MARKED_TERMS:g}; for others, there is no limit by default.",
    )
    cache: bool = advanced(
        True,
        description="Store keys and values of earlier positions; false computes the whole prefix again at each step.",
    )
