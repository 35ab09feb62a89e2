"""Checks of parallel text, of any sequence-to-sequence model, and of translations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.doctor.findings.finding import Finding, is_healthy

if TYPE_CHECKING:
    from dragoman.doctor.model.examine import examine

__all__ = ["Finding", "examine", "is_healthy"]


def __getattr__(name: str) -> Any:
    """Import `examine`, which needs torch, only when it is used: the checks of parallel text do not need torch."""
    if name == "examine":
        from dragoman.doctor.model.examine import examine

        return examine
    raise AttributeError(f"module 'dragoman.doctor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
