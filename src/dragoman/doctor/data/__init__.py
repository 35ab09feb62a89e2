"""Checks of parallel text.

`check` reads the corpora of `corpora` in chunks (`chunked_reader`) and makes the `report`; `corpus_checks` are about
whole corpora. Each line gets `line_statistics`, `line_languages` and `pair_scores`; `corpus_statistics` are those of
all lines. The scores come from `words`, `word_links`, `length_model`, `character_model` and `language_classifier`;
`foreign_language` and `foreign_blocks` find text in other languages; `alignment`, `realignment` and `stretches` find
shifted lines. `cleaned_text` and `cleaned_copy` are the text without the pairs that have problems.
"""
