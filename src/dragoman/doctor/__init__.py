"""Checks of parallel text, of any sequence-to-sequence model, and of translations.

- `data`: parallel text; `model`: models as black boxes; `output`: translations; `input`: texts to translate
- `findings`: what they report
- `training_checks`: those that a training runs before its first step and at each validation
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.doctor.findings.finding import Finding, is_healthy

if TYPE_CHECKING:
    from dragoman.doctor.input import TextWarning, check_texts
    from dragoman.doctor.model.examine import examine

__all__ = ["Finding", "TextWarning", "check_texts", "examine", "is_healthy"]


def __getattr__(name: str) -> Any:
    """Import what needs torch only when it is used: the checks of parallel text do not need torch."""
    if name == "examine":
        from dragoman.doctor.model.examine import examine

        return examine
    if name in ("TextWarning", "check_texts"):
        from importlib import import_module

        return getattr(import_module("dragoman.doctor.input"), name)
    raise AttributeError(f"module 'dragoman.doctor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
