"""Checks of parallel text."""
