"""report.html of a run: `report` renders it from the `lines` of the metrics, with `charts` drawn as `svg`.

`run_facts` are the lines about the run, `verdict` says whether the translator is good, and `usage` how to use it.
"""
