"""Strings to token ids and back, without torch."""
