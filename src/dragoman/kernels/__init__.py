"""Faster versions of parts of the model, each with a plain equivalent."""
