"""Findings and what is known about each code."""
