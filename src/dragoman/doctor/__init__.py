"""Checks of data, of any sequence-to-sequence model, and of decoded output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.doctor.findings.finding import Finding, is_healthy

if TYPE_CHECKING:
    from dragoman.doctor.model.examine import examine

__all__ = ["Finding", "examine", "is_healthy"]


def __getattr__(name: str) -> Any:
    """Import what needs torch only when it is asked for: data are checked without."""
    if name == "examine":
        from dragoman.doctor.model.examine import examine

        return examine
    raise AttributeError(f"module 'dragoman.doctor' has no attribute {name!r}")
