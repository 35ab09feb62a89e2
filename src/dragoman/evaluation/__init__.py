"""Quality of translations.

`metrics` has BLEU and chrF, `evaluate` translates a text and scores it, with the loss from `teacher_forcing`.
`significance` compares two translations, `baseline` is what needs no model, `perturbed` are changed sources,
`error_analysis` shows where errors are, `confidence` estimates whether a translation is good, and
`scoring` is the probability of given translations. The package `page` shows a comparison.
"""
