"""Texts of several sentences, markup and files: split into segments to translate, and put together again.

The way of a text: `sentences` finds its lines, lists and sentences, after `hard_wrap` has joined lines that were broken
in the middle of sentences, and divides what is too long for the model; `translate` translates the parts and joins them.
With marks inside, as in a file, a text is a `passage`: `marks` says where they are in its translation.

- `segment`: what documents and translators exchange
- `copied_spans`: what must not be lost; `terms`: glossaries
- `formats`: files, and HTML as a text
"""
