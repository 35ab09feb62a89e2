"""Hugging Face transformers: export and import.

`exporter` writes a model, and `importer` reads one: its files by `checkpoint`, its architecture by `models`, its
tokenizers by `tokenizers`.
"""
