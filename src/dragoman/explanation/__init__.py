"""Explanations of translations.

`capture` records the attention of a model, `attention_map` is that of one translation, and `explain` adds alternatives
and the beam search. `alignment` finds which words translate which, and `tokens` names the rows and columns. The package
`page` is the inspector.
"""
