"""The logit lens: what each decoder layer would predict if it were the last one (nostalgebraist 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.explanation.tokens import TokenSequence
from dragoman.model.capture import capture_hidden, private_copy

SHOWN = 3
"""Likeliest tokens that a layer predicts at each position."""


@dataclass(frozen=True)
class LogitLens:
    """The predictions of each decoder layer for each token of a translation.

    The hidden state of the layer goes through the final norm and the projection to logits. The last layer's
    predictions are those of the model, before the settings of the search change them.

    Attributes:
        target: The tokens of the translation, eos included, as in `AttentionMap.target_output`.
        predictions: For each layer and each token, the likeliest tokens with their probabilities, best first.
        probabilities: The probability of each token of the translation according to each layer, (layers, target).
    """

    target: TokenSequence
    predictions: list[list[list[tuple[str, float]]]]
    probabilities: NDArray[np.float32]


@torch.inference_mode()
def look_through_lens(bundle: Bundle, source: Sequence[int], target: Sequence[int]) -> LogitLens:
    """Run the model once on a source and its translation, and project the output of each decoder layer.

    Args:
        bundle: The translator.
        source: Ids of the text, without eos.
        target: Ids of its translation, without bos and eos.
    """
    model, vocabulary = private_copy(bundle.model), bundle.target.vocabulary
    device = model.target_embedding.weight.device
    read = torch.tensor([[*source, bundle.source.vocabulary.eos]], device=device)  # (1, source)
    output = [*target, vocabulary.eos]
    with capture_hidden(model) as layers:
        model.hidden(read, torch.tensor([[vocabulary.bos, *target]], device=device))
    predictions, probabilities = [], []
    for hidden in layers:
        logits = model.output(model.decoder_norm(hidden[0])).float()  # (target, vocabulary)
        distribution = logits.softmax(dim=-1)
        best = distribution.topk(min(SHOWN, distribution.shape[-1]))
        predictions.append(
            [
                [(vocabulary.tokens[index], value) for index, value in zip(indices, values, strict=True)]
                for indices, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
            ]
        )
        probabilities.append(distribution[torch.arange(len(output)), output].cpu().numpy())
    return LogitLens(TokenSequence.from_ids(bundle.target, output), predictions, np.stack(probabilities))
