"""dragoman trains a Transformer translator from parallel text, explains its output, and translates with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dragoman.text.translation import Translation as Translation
    from dragoman.translator import Translator as Translator
    from dragoman.translator import load as load

_LAZY = ("Translation", "Translator", "load")


def __getattr__(name: str) -> Any:
    """Import modules that need torch on first access."""
    if name in _LAZY:
        from dragoman import translator

        return getattr(translator, name)
    raise AttributeError(f"module 'dragoman' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Public names, including those that are not imported yet."""
    return sorted([*globals(), *_LAZY])
