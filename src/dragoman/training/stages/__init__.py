"""The stages of a run before the last one: teachers are trained, and their translations become training pairs.

- `stages`: the order of the stages, and what each of them prints
- `recipes`: the recipe of a teacher and that of the last stage, made from the recipe of the run
- `text`: the copy of the text that all stages read
- `pairs`: the synthetic corpora of back-translation, diversification and distillation, and the teachers that make them
"""
