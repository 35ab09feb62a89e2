"""Training: from a recipe to a bundle.

- `run`: a run and its directory, from the first check to the bundle; `run.run.train` is the way in
- `stages`: teachers and synthetic pairs, before the translator is trained
- `loop`: one training step, from top to bottom
- `compare`: a finished student compared with its teachers
- `report`: report.html and the verdict

The data goes from `run.run_data` to `loop.batches` and `loop.trainer`; checkpoints and metrics go to the directory of
the run; `run.finish` scores the translator and writes its bundle.
"""
