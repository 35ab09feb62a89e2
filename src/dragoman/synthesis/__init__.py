"""Synthetic training pairs: text with its translation by a machine.

`back_translator` and `distiller` make pairs in blocks (`block`), with one or several bundles (`bundle_ensemble`).
`pair_checks` leaves out bad ones. `write` keeps finished blocks next to the corpus until it is complete; `identity` is
what they depend on.
"""
