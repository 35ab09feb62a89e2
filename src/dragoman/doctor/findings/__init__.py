"""Findings, with the severity, cause and fix of each kind."""
