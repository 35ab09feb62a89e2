"""Why a translation was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.explanation.attention_map import AttentionMap, map_attention
from dragoman.search.logits_processors import Filter, apply_filters
from dragoman.search.trace import BeamTrace, Candidate
from dragoman.text.translation import Translation

ALTERNATIVES = 8  # tokens shown at each place of an explained translation


@dataclass(frozen=True)
class Explanation:
    """A translation and what the model did to find it.

    `alternatives` has, for each token of the translation and for its end, the likeliest tokens at that
    place with their probabilities, best first, and what was said if it is not among them. `steps` are those
    of the beam search, each with all that it considered, best first; there are none of a sampled translation.
    """

    translation: Translation
    attention: AttentionMap
    alternatives: list[list[tuple[str, float]]]
    steps: list[list[Candidate]]


def explain(
    bundle: Bundle,
    source: list[int],
    translation: Translation,
    said: list[int],
    filters: Sequence[Filter],
    trace: BeamTrace,
) -> Explanation:
    """Look at a translation once more.

    Args:
        bundle: What translated.
        source: Ids of the text, eos not included.
        translation: What it became.
        said: Its ids, eos not included.
        filters: Those of the search.
        trace: What the search considered.
    """
    attention, logits = map_attention(bundle, source, said)
    alternatives = _alternatives(
        bundle.target.vocabulary.tokens, logits, [*said, bundle.target.vocabulary.eos], filters
    )
    return Explanation(translation, attention, alternatives, trace.steps[0])


def _alternatives(
    tokens: Sequence[str], logits: Tensor, said: list[int], filters: Sequence[Filter]
) -> list[list[tuple[str, float]]]:
    """The likeliest tokens at each place, and that which was said, as (token, probability), best first."""
    alternatives = []
    for place, index in enumerate(said):
        before = torch.tensor([said[:place]], dtype=torch.int64, device=logits.device)  # (1, place)
        row = apply_filters(filters, logits[place : place + 1].clone(), before).softmax(dim=-1)[0]  # (vocabulary,)
        likeliest = row.topk(min(ALTERNATIVES, len(row))).indices.tolist()
        chosen = likeliest if index in likeliest else [*likeliest, index]
        alternatives.append([(tokens[each], float(row[each])) for each in chosen if row[each] > 0])
    return alternatives
