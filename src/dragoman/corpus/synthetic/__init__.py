"""Generated corpora: `generators` is their table; `captions` has the words of `caption_tables`; `copy_task`."""
