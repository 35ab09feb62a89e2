"""How good a translator is: metrics, significance, error analysis."""
