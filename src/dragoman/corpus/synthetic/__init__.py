"""Corpora that are generated: `generators` is their table, `captions` and `copy_task` are the two that there are."""
