"""Strings to token ids and back, without torch.

The way of a sentence: `normalization`, then `masking` of what `placeholders` and `number_forms` find, then a tokenizer.
The exported web page gets its patterns from these modules. A change of them changes the ids of training text, so
increase `FORMAT` in `dataset.prepare`.

- Tokenizers: `tokenizer` (what all of them do), `registry` (the table), `vocabulary`; `subword`, `subword_training`,
  `subword_growth` and `bpe_dropout`; `words` with `detokenizer`; `sentencepiece`, which is imported; `multilingual`
- Copied spans: `masking`, `tag_spaces`, `known_characters`; what a translation must keep: `quantities`, `plain_numbers`
- Terms: `glossary`, `term_matcher`, `term_marks`, `lemmas`, `word_forms`
- Changes to training text: `augmentation`, `sentence_changes` (the same for ids), `noise`, `usual_case`
- Results and data: `translation`, `match`, `link`, `id_store`
"""
