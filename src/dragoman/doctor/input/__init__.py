"""Checks of texts to translate."""
