"""A short description of the decoding settings, as printed next to scores."""

from __future__ import annotations

from dragoman.settings import Decoding

_LIMITS = ("min_length", "max_length", "max_length_ratio", "max_length_offset", "no_repeat_ngram")
"""Settings that affect every search; they are described if they differ from the default."""


def describe_decoding(settings: Decoding) -> str:
    """The search and all settings that affect translations, such as "beam 5, length penalty 1, max_length 100"."""
    parts = [_describe_search(settings)]
    if settings.sampling or settings.mbr_samples:
        chosen = ((name, getattr(settings, name)) for name in ("top_k", "top_p", "seed"))
        parts += [f"{name} {value:g}" for name, value in chosen if value is not None]
    if settings.temperature != 1.0:
        parts.append(f"temperature {settings.temperature:g}")
    for name in _LIMITS:
        value = getattr(settings, name)
        if value != Decoding.model_fields[name].default:
            parts.append(f"{name} {value:g}")
    if settings.neighbors is not None:
        parts.append(f"neighbors in {settings.neighbors} with weight {settings.neighbor_weight:g}")
    return ", ".join(parts)


def _describe_search(settings: Decoding) -> str:
    if settings.mbr_samples:
        return f"minimum Bayes risk of {settings.mbr_samples} samples"
    if settings.sampling:
        return "sampling"
    if settings.beam_size == 1:
        return "greedy"
    return f"beam {settings.beam_size}, length penalty {settings.length_penalty:g}"
