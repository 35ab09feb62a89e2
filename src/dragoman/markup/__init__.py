"""Text as programs store it, for corpora and documents alike.

- `elements`: the table of elements, and what each does to the sentence around it
- `items`: the tree of a stretch of text: text, things that are kept, and groups of both
- `tags`: tags in a text, as in HTML, become groups and kept things, as the table says
- `messages`: strings of programs: forms of messages, what a program replaces, and references of HTML
- `xml`: trees of XML that keep what the file contains, and the units of large files one by one
- `units`: segments with a source, a translation and a state, and how to find them in units of XLIFF and TMX
- `file_kinds`: files whose lines are not sentences, by name or content, and what to do with them
- `po`: message catalogs: reading messages, writing translations into their lines

A format reads its file as items, and asks the table what its elements do. `documents` finds the sentences in the items,
and puts their translations between them.
"""
