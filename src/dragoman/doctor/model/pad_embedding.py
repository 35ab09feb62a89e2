"""Whether the embedding of padding affects predictions, which also shows for models with a fixed source width."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.differences import SAME_SHAPE, PredictionDifference, measure_difference
from dragoman.doctor.model.gradients import assign
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, Probe

ROWS = 3
PADDING = 2  # ids of padding at the end of a source


def check_pad_embedding(probe: Probe) -> Iterator[Finding]:
    """Replace the row of padding in the embeddings by that of a word; only the prediction of padding may change.

    An output projection has such rows, too; the row of padding affects nothing but the prediction of padding. If the
    row of a word that does not occur has another effect, the rows are not those of ids but of positions.
    """
    pad_id, absent = probe.model.pad_id, int(torch.minimum(probe.words[0], probe.source_words[0]))
    sizes = {probe.model.source_vocabulary_size, probe.model.vocabulary_size}
    parameters = probe.model.parameters
    tables = [tensor for _, tensor in parameters if tensor.dim() == 2 and tensor.shape[0] in sizes]
    if not tables or pad_id in (probe.model.bos_id, probe.model.eos_id):
        return
    source = probe.pad(probe.random_sources(ROWS, SOURCE_LENGTH - PADDING), SOURCE_LENGTH)
    target = probe.random_targets(ROWS, TARGET_LENGTH)
    source[source == absent], target[target == absent] = probe.source_words[-1], probe.words[-1]
    leak = _effect_of_row(probe, tables, pad_id, (source, target))
    if SAME_SHAPE.exceeded_by(leak) and not SAME_SHAPE.exceeded_by(
        _effect_of_row(probe, tables, absent, (source, target))
    ):
        yield make_finding(
            "source-padding-leak",
            "changing the embedding of padding changes the predictions for a padded source by up to "
            f"{leak.probability:.2g} in probability",
            {"probability": leak.probability, "relative": leak.relative},
        )


def _effect_of_row(probe: Probe, tables: list[Tensor], row: int, ids: tuple[Tensor, Tensor]) -> PredictionDifference:
    """The effect of the numbers of another word in a row on the predictions of all other ids; the row is restored."""
    word = int(torch.minimum(probe.words[-1], probe.source_words[-1]))
    rows = [table.detach()[row] for table in tables]
    initial = [numbers.clone() for numbers in rows]
    before = probe.predict(*ids, without=row)
    try:
        assign(rows, [table.detach()[word] for table in tables])
        return measure_difference(before, probe.predict(*ids, without=row))
    finally:
        assign(rows, initial)
