"""Checks of any sequence-to-sequence model."""
