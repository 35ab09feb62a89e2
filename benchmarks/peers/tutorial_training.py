"""Train as in most tutorials: nn.Transformer, batches of 128 random sentences. Arguments: DIRECTORY PRECISION STEPS."""

from __future__ import annotations

import math

import torch
from loop import arguments, random_batches, read_ids, train
from torch import Tensor, nn


class Tutorial(nn.Module):
    """Embeddings, sinusoids, nn.Transformer, one matrix for both embeddings and the output."""

    def __init__(self, size: int, pad: int) -> None:
        super().__init__()
        self.pad = pad
        self.embedding = nn.Embedding(size, 256)
        self.transformer = nn.Transformer(256, 4, 3, 3, 1024, 0.1, batch_first=True)
        self.output = nn.Linear(256, size, bias=False)
        self.output.weight = self.embedding.weight
        nn.init.normal_(self.embedding.weight, std=256**-0.5)
        angles = torch.arange(512)[:, None] * torch.exp(-math.log(10000) / 256 * torch.arange(0, 256, 2))
        self.register_buffer("positions", torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1))
        self.dropout = nn.Dropout(0.1)

    def embed(self, ids: Tensor) -> Tensor:
        positions = self.get_buffer("positions")[: ids.shape[1]]
        embedded: Tensor = self.dropout(self.embedding(ids) * 16 + positions)
        return embedded

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        padding = source == self.pad
        hidden = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=future,
            src_key_padding_mask=padding,
            tgt_key_padding_mask=target == self.pad,
            memory_key_padding_mask=padding,
        )
        logits: Tensor = self.output(hidden)
        return logits


if __name__ == "__main__":
    directory, precision, steps = arguments()
    ids = read_ids(directory)
    model = Tutorial(ids.size, ids.pad)
    train(ids, model, model, random_batches(ids, 128), precision, steps)
