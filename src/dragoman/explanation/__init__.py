"""Explanations of translations.

`attention_map` is the attention of one translation, and `explain` adds alternatives and the beam search. To answer
"why?", `influence` removes source words, `logit_lens` shows what each layer would predict, and `switch_off` makes a
translator without some heads and layers. `alignment` finds which words translate which, and `tokens` names the rows and
columns. The package `page` is the inspector.
"""
