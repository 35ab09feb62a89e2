"""Bundles in the formats of other programs, each checked against the original, and those programs as engines."""
