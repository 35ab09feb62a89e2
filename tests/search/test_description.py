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
        (Decoding(sampling=True, temperature=0.5, seed=3), "sampled with temperature 0.5, seed 3"),
    ],
)
def test_description_of_decoding_settings(settings: Decoding, description: str) -> None:
    assert describe_decoding(settings) == description
