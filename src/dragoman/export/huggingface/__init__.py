"""Hugging Face models: export and import."""
