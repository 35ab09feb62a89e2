"""A run: its directory, checkpoints, log and results.

- `run`: `train`, which trains a recipe in a directory, with all stages, and resumes it
- `directory`: checks before training, the lock, the files that are written at the start, which results there are, and
  restoring damaged files from their copies in checkpoints
- `run_data`: what is trained on and tested with; bundles and texts that the run depends on
- `checkpoint`: saving, loading, choosing and deleting checkpoints, and the mean of several
- `log`: the progress line, messages and metrics.jsonl
- `finish`: final scores, before and after training from a bundle, and the new bundle
- `describe`: what `dragoman info` shows of a run; `open_checkpoint`: the translator of a checkpoint
"""
