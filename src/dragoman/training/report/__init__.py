"""report.html of a training run: scores, charts, sample translations and the recipe on one page."""
