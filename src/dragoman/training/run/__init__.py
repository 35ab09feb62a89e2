"""A run: its directory, checkpoints, log and results.

- `run`: `train`, which trains a recipe in a directory, with all stages, and resumes it
- `directory`: checks before training, the lock, and the files that are written at the start
- `run_data`: what is trained on and tested with; `start`: bundles and texts that the run depends on
- `checkpoint`: saving, loading, choosing and deleting checkpoints, and the mean of several; `restore`: damaged files of
  a run from their copies in checkpoints
- `log`, `metrics_file`: the progress line, messages and metrics.jsonl
- `finish`: final scores and the bundle; `start_comparison`: scores before and after a training that starts from a
  bundle; `results`: which results a run has
- `describe`: what `dragoman info` shows of a run
"""
