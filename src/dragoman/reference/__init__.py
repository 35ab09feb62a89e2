"""Attention in NumPy (`attention`), for tests and documentation."""
