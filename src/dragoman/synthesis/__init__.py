"""Synthetic training pairs: text with its translation by a machine.

With bundles: `back_translator` and `distiller` make pairs in blocks (`block`), with one or several bundles
(`bundle_ensemble`). `write` keeps finished blocks next to the corpus until it is complete; `identity` is what they
depend on.

With teachers behind an address: `sentence_groups` divides the text into requests, and `prompt` writes what a language
model is asked. `teachers` has the table of protocols, on top of `http_client`. `collect` sends the requests, and
`answer_log` keeps the answers. `answers` reads and repairs them, `answer_checks` decides which are kept, and
`synthesis` puts all of it together.

`pair_checks` leaves out bad pairs of both kinds.
"""
