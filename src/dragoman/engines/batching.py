"""Batches of sentences of similar length, and the threads that search them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import torch

from dragoman.dataset.buckets import split_into_batches
from dragoman.engines.protocol import EngineRequest
from dragoman.engines.scoring import Ids
from dragoman.errors import UserError
from dragoman.search.decode import sampling_settings

T = TypeVar("T")

MOST_WORKERS = 8
"""Maximum number of batches searched at once on a CPU; more threads would wait for Python's global lock."""

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
    settings = sampling_settings(request.decoding)
    hypotheses = settings.n_best if settings.sampling else settings.beam_size
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


def search_workers(device: torch.device) -> int:
    """How many batches `run_batches` searches at once, at most."""
    return min(torch.get_num_threads(), MOST_WORKERS) if device.type == "cpu" else 1


def refuse_other_process(opened_in: int) -> None:
    """Refuse to compute in a fork of the process in which an engine was opened: threads do not survive a fork.

    Args:
        opened_in: Id of the process in which the engine was opened.

    Raises:
        UserError: This is another process.
    """
    if os.getpid() != opened_in:
        raise UserError("a translator cannot be used in a forked process; call dragoman.load in each process")


def run_batches(search: Callable[[list[int]], T], batches: Sequence[list[int]], device: torch.device) -> list[T]:
    """The results of all batches; on a CPU, several threads search one batch each.

    This is faster than using all threads for each batch: while one thread runs Python code, the others compute.
    """
    threads, workers = torch.get_num_threads(), min(len(batches), search_workers(device))
    if workers < 2:
        return [search(batch) for batch in batches]
    pool = ThreadPoolExecutor(workers, initializer=lambda: torch.set_num_threads(threads // workers))
    try:
        return list(pool.map(search, batches))
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)
