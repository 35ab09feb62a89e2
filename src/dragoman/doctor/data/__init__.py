"""Checks of parallel text.

`check` reads the corpora of `corpora` in chunks (`chunked_reader`) and decides which problem explains another; `report`
has the words for each problem; `corpus_checks` are about whole corpora. Each line gets `line_statistics`,
`line_languages` and `pair_scores`; `corpus_statistics` are those of all lines. The scores come from `words`,
`word_links`, `length_model`, `character_model` and `language_classifier`. `foreign_language` and `foreign_blocks` find
text in other languages, `second_language` that in a related one. `alignment`, `realignment` and `stretches` find
shifted lines, `neighbors` those of small blocks, and `cut_off` halves of sentences. `lost_letters` finds words that
lost letters, and `held_out_sentences` pairs that resemble test pairs. `cleaned_text` and `cleaned_copy` are the text
without the pairs that have problems.
"""
