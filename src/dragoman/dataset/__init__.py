"""From sentence pairs to batches of ids.

- `pairs`: the pairs of all corpora, streamed or in memory; `split` and `held_out`: which of them are trained on
- `tokenizer_training`: tokenizers of the training pairs; `encode`: pairs to ids
- `builder`: these steps one after another, each kept in a build cache under the name that `identity` gives it
- `token_store`: ids of many pairs in memory or on disk; `prepare` returns them as the dataset of a recipe
- `augmentation`, `aligned_terms`, `copy_examples`: pairs that are changed in some epochs
- `buckets`: groups of similar length; `batch`: padded tensors; `transfer`: batches to a GPU
"""
