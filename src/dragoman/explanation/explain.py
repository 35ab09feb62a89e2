"""How the model found a translation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.explanation.attention_map import AttentionMap, attention_html, map_attention
from dragoman.search.hypothesis import BeamTrace, Candidate
from dragoman.search.logits_processors import LogitsProcessor, apply_processors, build_processors
from dragoman.settings import Decoding
from dragoman.text.translation import Translation, translation_html

if TYPE_CHECKING:
    from dragoman.explanation.influence import Influence
    from dragoman.explanation.logit_lens import LogitLens

ALTERNATIVES = 8
"""Likeliest tokens shown at each position of an explained translation."""


@dataclass(frozen=True)
class ModelInput:
    """What a model reads to score a translation.

    Attributes:
        bundle: The translator, on its device.
        source: Ids of the text, without eos.
        target: Ids of the translation, without bos and eos.
    """

    bundle: Bundle
    source: list[int]
    target: list[int]


@dataclass(frozen=True)
class Explanation:
    """A translation and how the model found it.

    `alternatives` has, for each token of the translation and for its end, the likeliest tokens at that position
    with their probabilities, best first, and the chosen token if it is not among them. `steps` are those of the
    beam search, each with all candidates that it considered, best first; a sampled translation has none.
    `influence` and `logit_lens` run the model again, with `model_input`, when they are first read.
    """

    translation: Translation
    attention: AttentionMap
    alternatives: list[list[tuple[str, float]]]
    steps: list[list[Candidate]]
    model_input: ModelInput = field(repr=False)

    @cached_property
    def influence(self) -> Influence:
        """Which source words the translation depends on: its probability without each of them."""
        from dragoman.explanation.influence import measure_influence

        return measure_influence(self.model_input.bundle, self.model_input.source, self.model_input.target)

    @cached_property
    def logit_lens(self) -> LogitLens:
        """What each decoder layer would predict in place of each token of the translation."""
        from dragoman.explanation.logit_lens import look_through_lens

        return look_through_lens(self.model_input.bundle, self.model_input.source, self.model_input.target)

    def _repr_html_(self) -> str:
        """What notebooks show: see `explanation_html`."""
        return explanation_html(self)


def explanation_html(explanation: Explanation) -> str:
    """HTML for notebooks, without scripts: the translation, and the cross-attention of the last layer as a heat map."""
    heat_map = attention_html(explanation.attention)
    return f'<div class="dragoman-explanation">{translation_html(explanation.translation)}{heat_map}</div>'


def explain(
    bundle: Bundle, decoding: Decoding, source: list[int], target: list[int], translation: Translation, trace: BeamTrace
) -> Explanation:
    """Run the model once more on a text and its translation.

    Args:
        bundle: The translator.
        decoding: Settings of the search.
        source: Ids of the text, without eos.
        target: Ids of the translation, without eos.
        translation: The translation.
        trace: What the search considered.
    """
    vocabulary = bundle.target.vocabulary
    attention, logits = map_attention(bundle, source, target)
    processors = build_processors(decoding, bundle.target.forbidden_ids, vocabulary.eos)
    alternatives = _alternatives(vocabulary.tokens, logits, [*target, vocabulary.eos], processors)
    return Explanation(translation, attention, alternatives, trace.steps[0], ModelInput(bundle, source, target))


def _alternatives(
    tokens: Sequence[str], logits: Tensor, chosen: list[int], processors: Sequence[LogitsProcessor]
) -> list[list[tuple[str, float]]]:
    """The likeliest tokens at each position, and the chosen one, as (token, probability), best first."""
    alternatives = []
    for position, index in enumerate(chosen):
        before = torch.tensor([chosen[:position]], dtype=torch.int64, device=logits.device)  # (1, position)
        row = apply_processors(processors, logits[position : position + 1].clone(), before)
        probabilities = row.softmax(dim=-1)[0]  # (vocabulary,)
        likeliest = probabilities.topk(min(ALTERNATIVES, len(probabilities))).indices.tolist()
        shown = likeliest if index in likeliest else [*likeliest, index]
        alternatives.append([(tokens[each], float(probabilities[each])) for each in shown if probabilities[each] > 0])
    return alternatives
