"""Corpora that dragoman generates."""
