"""What engines share: batches of sentences of similar length, and the refusal of forked processes."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from dragoman.dataset.buckets import split_into_batches
from dragoman.engines.choose import EngineRequest, Ids
from dragoman.errors import UserError

CPU_BATCH_TOKENS, GPU_BATCH_TOKENS = 4096, 32_768
"""Default maximum of source tokens in a batch times hypotheses per sentence."""


def batches_by_length(sources: Sequence[Ids], request: EngineRequest, workers: int = 1) -> list[list[int]]:
    """Indices of the sentences of each batch: similar lengths together, the longest first.

    Args:
        sources: The sentences.
        request: The device, and the search.
        workers: How many batches are searched at once. If there are several batches, they are made smaller until their
            number is about a multiple of this; otherwise some workers would wait.
    """
    settings = request.decoding
    hypotheses = settings.mbr_samples or (settings.n_best if settings.sampling else settings.beam_size)
    default = CPU_BATCH_TOKENS if request.device.type == "cpu" else GPU_BATCH_TOKENS
    tokens = max(1, (settings.batch_tokens or default) // hypotheses)
    lengths = np.array([len(source) + 1 for source in sources], dtype=np.int64)
    order = np.argsort(lengths, kind="stable")
    plan = split_into_batches(lengths, lengths, order, tokens)
    if len(plan) > 1 and len(plan) % workers:
        most = len(plan) + workers - len(plan) % workers
        smaller = min(tokens, int(lengths.sum()) // most)  # tokens of a batch; too few if there is padding
        while len(plan := split_into_batches(lengths, lengths, order, smaller)) > most:
            smaller = min(tokens, smaller + smaller // 32 + 1)
    return [batch.tolist() for batch in plan][::-1]


def refuse_other_process(opened_in: int) -> None:
    """Refuse to compute in a fork of the process in which an engine was opened: threads do not survive a fork.

    Args:
        opened_in: Id of the process in which the engine was opened.

    Raises:
        UserError: This is another process.
    """
    if os.getpid() != opened_in:
        raise UserError("a translator cannot be used in a forked process; call dragoman.load in each process")
