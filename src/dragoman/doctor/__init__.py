"""Checks of data, of any sequence-to-sequence model, and of decoded output."""

from dragoman.doctor.examination import examine
from dragoman.doctor.finding import Finding, is_healthy

__all__ = ["Finding", "examine", "is_healthy"]
