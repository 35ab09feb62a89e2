"""Whether embeddings that are also the output projection have a gradient as output projection."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.differences import SAME_SHAPE
from dragoman.doctor.model.gradients import compute_gradients, measure_effect, next_token_loss
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, Probe

ROWS, MAX_ABSENT = 2, 8


def check_shared_embedding(probe: Probe) -> Iterator[Finding]:
    """Look at rows of words that do not occur: if they change the predictions, all of them are used as output."""
    source, target = probe.random_sources(ROWS, SOURCE_LENGTH), probe.random_targets(ROWS, TARGET_LENGTH)
    occurring = torch.isin(probe.words, torch.cat([source.flatten(), target.flatten()]))
    absent = probe.words[~occurring][:MAX_ABSENT].tolist()
    tables = [
        (name, tensor)
        for name, tensor in probe.model.parameters
        if tensor.requires_grad and tensor.dim() == 2 and tensor.shape[0] == probe.model.vocabulary_size
    ]
    if not tables or not absent:
        return
    gradients = compute_gradients(next_token_loss(probe, source, target), [tensor for _, tensor in tables])
    stopped = [
        name
        for (name, tensor), gradient in zip(tables, gradients, strict=True)
        if gradient is not None
        and gradient.to_dense().any()
        and not gradient.to_dense()[absent].any()
        and SAME_SHAPE.exceeded_by(measure_effect(probe, [tensor.detach()[word] for word in absent], source, target))
    ]
    if stopped:
        yield make_finding(
            "no-gradient",
            f"the rows of words that do not occur have no gradient, although they change the predictions: "
            f"{', '.join(stopped)}",
            {"parameters": stopped, "of": len(probe.model.parameters)},
            severity="warning",
            cause="the output projection uses embedding.weight.data or a detached copy of the embeddings, which are "
            "trained only as embeddings of the input",
            fix="project with the parameter itself: torch.nn.functional.linear(x, embedding.weight)",
        )
