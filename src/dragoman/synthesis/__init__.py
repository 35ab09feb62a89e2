"""Synthetic training pairs: text with its translation by a machine, made in blocks that survive interruptions."""
