"""Explanations of translations.

`attention_map` is the attention of one translation, and `explain` adds alternatives and the beam search. `alignment`
finds which words translate which, and `tokens` names the rows and columns. The package `page` is the inspector.
"""
