"""Text as programs store it: text with marks inside, such as tags, styles, links, codes, notes and fields.

| File | Content |
|---|---|
| `elements` | the table of elements: what each does to the sentence around it |
| `items` | the tree of a stretch of text: text, things that are kept, and groups of both |
| `tags` | tags in a text, as in HTML, become groups and kept things, as the table says |

A format reads its file as items, and asks the table what its elements do. `documents` finds the sentences in the items,
and puts their translations between them.
"""
