"""Checks of translations and of the translator that made them.

`check` runs them all. `input_checks` and `source_checks` are about the files, `text_checks` and `text_forms` about the
texts alone, `translator_checks` about the model; `reference_shifts` and `reference_stretches` find references that do
not belong to their sources.
"""
