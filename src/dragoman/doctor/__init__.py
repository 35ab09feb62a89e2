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
    from dragoman.doctor.model.loss import examine_loss
    from dragoman.doctor.model.search import examine_search

__all__ = ["Finding", "TextWarning", "check_texts", "examine", "examine_loss", "examine_search", "is_healthy"]

_MODULES = {
    "TextWarning": "input",
    "check_texts": "input",
    "examine": "model.examine",
    "examine_loss": "model.loss",
    "examine_search": "model.search",
}
"""Where names are that need torch, or much time to import."""


def __getattr__(name: str) -> Any:
    """Import what needs torch only when it is used: the checks of parallel text do not need torch."""
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(f"dragoman.doctor.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'dragoman.doctor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
