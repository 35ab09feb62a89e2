"""A short description of the decoding settings, as printed next to scores."""

from __future__ import annotations

from dragoman.settings import Decoding


def describe_decoding(settings: Decoding) -> str:
    """The search in a few words, such as "beam 5, length penalty 1"."""
    if settings.sampling:
        return f"sampled with temperature {settings.temperature:g}, seed {settings.seed}"
    if settings.beam_size == 1:
        return "greedy"
    return f"beam {settings.beam_size}, length penalty {settings.length_penalty:g}"
