"""From sentence pairs to batches of ids."""
