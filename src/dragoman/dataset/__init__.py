"""From sentence pairs to batches of ids.

- `joined`: pairs that corpora in several languages make together
- `pairs`: the pairs of all corpora, streamed or in memory; `split`: which of them are trained on
- `tokenizer_training`: tokenizers of the training pairs; `encode`: pairs to ids
- `token_store`: ids of many pairs in memory or on disk
- `prepare`: these steps one after another, each kept in a build cache; returns the dataset of a recipe
- `augmentation`: pairs that are changed in some epochs
- `buckets`: groups of similar length; `batch`: padded tensors, and moving them to a GPU
"""
