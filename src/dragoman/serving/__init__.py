"""The server: a queue of sentences, protocols of other translation services, and operations."""
