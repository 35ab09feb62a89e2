"""Where sentence pairs come from: formats, catalog, downloads, built-in corpora."""
