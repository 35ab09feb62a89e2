"""The server's page: `files` serves it, `requests` answers it, and `words` are the words that it highlights."""
