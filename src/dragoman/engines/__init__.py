"""Engines: source ids in, hypotheses out."""
