"""Descriptions of decoding settings."""

from __future__ import annotations

import pytest

from dragoman.search.description import describe_decoding
from dragoman.settings import Decoding


@pytest.mark.parametrize(
    ("settings", "description"),
    [
        (Decoding(beam_size=1), "greedy"),
        (Decoding(beam_size=7, length_penalty=0.6), "beam 7, length penalty 0.6"),
        (Decoding(sampling=True, temperature=0.5, seed=3), "sampling, seed 3, temperature 0.5"),
        (Decoding(mbr_samples=9, top_k=5, top_p=0.9), "minimum Bayes risk of 9 samples, top_k 5, top_p 0.9, seed 1"),
        (Decoding(beam_size=1, no_repeat_ngram=3, max_length=100), "greedy, max_length 100, no_repeat_ngram 3"),
    ],
)
def test_description_of_decoding_settings(settings: Decoding, description: str) -> None:
    assert describe_decoding(settings) == description


WITHOUT_EFFECT = {"n_best", "batch_tokens", "cache", "max_term_cost"}
"""On scores: `max_term_cost` affects translations with a glossary only."""
CHANGES = {
    "beam_size": 2,
    "length_penalty": 0.5,
    "max_length": 30,
    "sampling": True,
    "temperature": 2.0,
    "mbr_samples": 4,
    "min_length": 3,
    "no_repeat_ngram": 2,
    "max_length_ratio": 1.5,
    "max_length_offset": 3,
    "neighbors": "multi30k:train",
}
NEIGHBOR_CHANGES = {"neighbor_weight": 0.3}
SAMPLING_CHANGES = {"top_k": 7, "top_p": 0.5, "seed": 9}


def test_every_setting_with_an_effect_is_described() -> None:
    assert {*CHANGES, *SAMPLING_CHANGES, *NEIGHBOR_CHANGES, *WITHOUT_EFFECT} == set(Decoding.model_fields)
    with_neighbors = Decoding(neighbors="multi30k:train"), NEIGHBOR_CHANGES
    for usual, changes in ((Decoding(), CHANGES), (Decoding(sampling=True), SAMPLING_CHANGES), with_neighbors):
        for name, value in changes.items():
            changed = usual.model_copy(update={name: value})
            assert describe_decoding(changed) != describe_decoding(usual), name
