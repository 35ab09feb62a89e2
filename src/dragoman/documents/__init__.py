"""Texts of several sentences, markup and files: split into segments to translate, and put together again.

The way of a text: `plain_text` finds its lines and lists, `sentences` splits them, `division` divides what is too long
for the model, and `translate` translates the parts and joins them. With marks inside, as in a file, a text is a
`passage`: `marks` says where they are in its translation.

- `segment`: what documents and translators exchange
- `copied_spans`, `accelerators`: what must not be lost; `terms`: glossaries
- `html_text`: HTML as a text; the package `formats`: files
"""
