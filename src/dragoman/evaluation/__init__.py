"""Quality of translations: metrics, significance tests and error analysis."""
