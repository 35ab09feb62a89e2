"""Findings, and what is known about each kind of finding."""
