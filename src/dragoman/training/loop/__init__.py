"""One training step, from top to bottom, and what it needs.

A step runs through these files in this order:

- `batches`: the batches of the next step, a function of seed and epoch, in the order of all ranks
- `batch_loss`: batches in, summed losses out; `scheduled_sampling`: inputs of the decoder that the model predicted
- `gradients`: gradients of the mean loss over all target tokens, in microbatches that fit into memory
- `optimizers`: Adam, AdamW, Muon; `schedules`: the learning rate of a step
- `trainer`: takes steps, logs them, validates and saves until the `budget` is spent

`state` is everything that a step changes: model, optimizer, loss scaling, moving average and `progress`, which a
checkpoint stores. `initial_weights` are those of a bundle, or embeddings counted from the text. `validator` translates
and scores, `stop` handles signals, `speed_watch` notices slow minutes, and `distributed` has the processes of a run.
"""
