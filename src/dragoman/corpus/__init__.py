"""Sources of sentence pairs.

A reference in a recipe or on the command line becomes a corpus in `corpus`, by `named` (the `catalog` and `download`)
or by one of the formats. Each format is a module that reads `pair`s line by line:

- text: `aligned`, `delimited` (CSV and TSV), `jsonl`, `xlsx`; tables share `rows` and `columns`
- translation files: `tmx`, `xliff` and `po`, by `translation_units` and the package `markup`
- downloads: `opus` and `hub`; archives: `zipped`, by `archive`
- generated: the package `synthetic`

`lines`, `encodings` and `xml_encoding` read bytes; `checks`, `pair_text` and `references` are what the formats share.
`memory` is a translation memory, and `writers` write pairs.
"""
