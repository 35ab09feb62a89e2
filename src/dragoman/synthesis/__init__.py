"""Synthetic training pairs: text with its translation by a machine.

In stages of a training: `back_translator` and `distiller` make pairs in blocks (`block`), with one or several bundles
(`bundle_ensemble`). `write` keeps finished blocks next to the corpus until it is complete; `identity` is what they
depend on.

For `dragoman synthesize`: `sentence_groups` divides the text into requests to a teacher. `teachers` has the table of
protocols, on top of `http_client`, and `prompt` writes what a language model is asked; `bundle_teacher` is a bundle on
this machine. `collect` sends the requests, and `answer_log` keeps the answers. `answers` reads and repairs them,
`answer_checks` counts which are kept, and `synthesis` puts all of it together.

`pair_checks` decides which pairs of all teachers are kept.
"""
