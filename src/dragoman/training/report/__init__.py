"""report.html of a run: `report` renders it from the `lines` of the metrics, with `charts`.

`verdict` says whether the translator is good.
"""
