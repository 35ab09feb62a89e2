"""Sources of sentence pairs: file formats, the catalog, downloads, synthetic corpora."""
