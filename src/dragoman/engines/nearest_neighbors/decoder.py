"""A decoder that mixes the predictions of a model with those of the nearest neighbors of its contexts."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

from dragoman.engines.nearest_neighbors.build import open_index
from dragoman.engines.nearest_neighbors.index import NeighborIndex
from dragoman.engines.protocol import EngineRequest
from dragoman.search.hypothesis import Decoder


class StateDecoder(Decoder, Protocol):
    """A decoder that computes logits from a state of each row."""

    def step_hidden(self, tokens: Tensor, cache: Any) -> Tensor:
        """Feed one token to every row, (rows,); returns the states for the next token, (rows, d_model)."""
        ...

    def output(self, hidden: Tensor) -> Tensor:
        """The logits of states, (rows, vocabulary) for (rows, d_model)."""
        ...


class NeighborDecoder:
    """A decoder that averages two predictions, with a share of `weight` for those of the neighbors."""

    def __init__(self, decoder: StateDecoder, index: NeighborIndex, weight: float) -> None:
        self.decoder, self.index, self.weight = decoder, index, weight

    def start(self, source: Tensor) -> Any:
        """The cache to decode one hypothesis of each sentence, (sentences, source)."""
        return self.decoder.start(source)

    def step(self, tokens: Tensor, cache: Any) -> Tensor:
        """Feed one token to every row, (rows,); returns the logarithms of mean probabilities, (rows, vocabulary)."""
        states = self.decoder.step_hidden(tokens, cache)
        return self.index.mix(self.decoder.output(states), states, self.weight)


def with_neighbors(decoder: StateDecoder, request: EngineRequest) -> Decoder:
    """The decoder, with the neighbors that `decoding.neighbors` asks for.

    Raises:
        UserError: The corpus is missing or too large, or faiss is not installed.
    """
    decoding = request.decoding
    if decoding.neighbors is None or request.scoring:  # given translations are scored by the model alone
        return decoder
    return NeighborDecoder(decoder, open_index(request.bundle, decoding.neighbors), decoding.neighbor_weight)
