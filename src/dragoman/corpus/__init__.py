"""Sources of sentence pairs.

A reference in a recipe or on the command line becomes a corpus in `corpus`, by `named` (the `catalog`, its `checksums`
and `download`) or by one of the `formats`. Each format is a module that reads `pair`s line by line:

- text: `aligned`, `tsv`, `csv`, `jsonl`, `xlsx`; tables share `rows`, `delimited`, `delimiters` and `columns`
- translation files: `tmx`, `xliff` and `po`, by `translation_units` and the package `markup`
- downloads: `opus` and `hub`; archives: `zipped`, by `archive`
- generated: the package `synthetic`

`lines`, `encodings` and `xml_encoding` read bytes; `checks`, `pair_text`, `references` and `stated_languages` are what
the formats share. `monolingual` reads text without translations, `memory` is a translation memory, `writers` write
pairs, and `describe` shows what is on this machine.
"""
