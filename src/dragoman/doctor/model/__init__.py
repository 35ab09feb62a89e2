"""Checks of any sequence-to-sequence model as a black box: random ids in, logits out.

- `examine`: all checks of a model in order, so that each error produces one finding
- `calling`: how the model is called: a table of common forms
- `probe`: the model with random sentences to feed it, and the differences between predictions
- `outputs`: logits, initial loss, lengths; `influence`: what predictions depend on, and must not depend on
- `location`: the first module at which a leak shows; `gradients`: whether the model can learn
- `structure`: how modules are registered, what they keep, and what they compute in a call
- `loss`, `search`: the rest of a learner's program
- `loading`: a model from a bundle, or from a function or file of the user
- `grading`: a process for each function or file of the user; the grades of many files

A check takes a `Probe` and yields findings, whose types are in `doctor.findings.model`.
"""
