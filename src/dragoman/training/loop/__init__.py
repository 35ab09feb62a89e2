"""One training step, from top to bottom, and what it needs.

A step runs through these files in this order:

- `trainer`: takes steps, logs them, validates and saves until the budget is spent
- `batches`: the batches of the next step, a function of seed and epoch, in the order of all ranks
- `batch_loss`: batches in, summed losses out; also for inputs of the decoder that the model predicted
- `optimizers`: the tables of optimizers (Adam, AdamW, Muon) and of schedules of the learning rate

`state` is everything that a step changes: model, optimizer, loss scaling, moving average and `progress`, which a
checkpoint stores. `stop` handles signals, `speed_watch` notices slow minutes, and `distributed` has the processes of a
run.
"""
