"""Which decoding settings an export contains, and which it does not."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from dragoman.settings import Decoding

_SPEED_ONLY = ("batch_tokens", "cache")  # no effect on translations


def select_settings(decoding: Decoding, names: Collection[str]) -> Decoding:
    """The settings with these names; all others have their defaults."""
    return Decoding.model_validate({name: getattr(decoding, name) for name in names})


def list_other_settings(decoding: Decoding, names: Collection[str]) -> str:
    """The settings except those with these names, as Markdown: "`n_best = 1`, `min_length = 0`, …"."""
    others = [name for name in Decoding.model_fields if name not in (*names, *_SPEED_ONLY)]
    return ", ".join(f"`{name} = {_show(getattr(decoding, name))}`" for name in others)


def _show(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return repr(value)
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"
