"""Checks of any sequence-to-sequence model as a black box: random ids in, logits out.

- `examine`: all checks in order, so that each error produces one finding; `loading`: a model from a file or a bundle
- `probe`: the model with random sentences to feed it, and the differences between predictions
- `outputs`: shape, logits, initial loss, lengths; `modules`: how modules are registered and what they keep
- `influence`: what predictions depend on, and must not depend on; `gradients`: whether the model can learn

A check takes a `Probe` and yields findings, whose types are in `doctor.findings.model`.
"""
