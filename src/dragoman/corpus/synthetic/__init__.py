"""Corpora that dragoman generates itself."""
