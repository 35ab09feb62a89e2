"""Documents in files, returned in the same format."""
