"""The exported graphs in onnxruntime, as a model that the search can use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray
from torch import Tensor

Arrays = dict[str, NDArray[Any]]


@dataclass
class OnnxCache:
    """The inputs of the decoder, except tokens: `memory` has one row per sentence, `state` one per hypothesis."""

    memory: Arrays
    state: Arrays

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """See `Cache.select`."""
        self.state = _take(self.state, rows.numpy())
        if sentences is not None:
            self.memory = _take(self.memory, sentences.numpy())


class OnnxDecoder:
    """A `Decoder` that runs the graphs of the encoder and the decoder.

    Args:
        graphs: The content of the two files, by name.
    """

    def __init__(self, graphs: Mapping[str, bytes]) -> None:
        self._encoder, self._decoder = (
            onnxruntime.InferenceSession(graphs[name], _options(), providers=["CPUExecutionProvider"])
            for name in ("encoder", "decoder")
        )
        shapes = {each.name: each.shape for each in self._decoder.get_inputs()}
        self._cache_shape = shapes["keys"]  # layers, batch, heads, time, d_head

    def start(self, source: Tensor) -> OnnxCache:
        """The cache to decode one hypothesis of each sentence, (sentences, source)."""
        names = [output.name for output in self._encoder.get_outputs()]
        memory = dict(zip(names, self._encoder.run(names, {"source": source.numpy()}), strict=True))
        layers, _, heads, _, d_head = self._cache_shape
        empty = np.zeros((layers, len(source), heads, 0, d_head), np.float32)
        return OnnxCache(memory, {"keys": empty, "values": empty})

    def step(self, tokens: Tensor, cache: OnnxCache) -> Tensor:
        """Feed one token to every row, (rows,); returns the logits of the next token, (rows, vocabulary)."""
        hypotheses = len(tokens) // len(cache.memory["memory_mask"])
        rows = np.arange(len(tokens)) // hypotheses
        inputs = {**_take(cache.memory, rows), **cache.state, "tokens": tokens.numpy()}
        logits, keys, values = self._decoder.run(["logits", "new_keys", "new_values"], inputs)
        cache.state = {"keys": keys, "values": values}
        return torch.from_numpy(logits)


def _take(arrays: Arrays, rows: NDArray[np.int64]) -> Arrays:
    """These rows of all arrays: the second dimension of keys and values, the first of the mask."""
    return {name: array.take(rows, axis=0 if array.ndim == 2 else 1) for name, array in arrays.items()}


def _options() -> onnxruntime.SessionOptions:
    """A thread per core as torch has it, so that the caller decides."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    return options
