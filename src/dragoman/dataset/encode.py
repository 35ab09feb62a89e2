"""Sentence pairs to shards of token ids, in this process or in a pool of worker processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from dragoman.dataset.copy_examples import mask_pairs
from dragoman.dataset.token_store import IdStore, PairStore, save_shard
from dragoman.errors import UserError
from dragoman.text.masked_text import encode_masked, masking_of
from dragoman.text.registry import load_tokenizer
from dragoman.text.tokenizer import Tokenizer


class Shard(NamedTuple):
    """Consecutive pairs with their weights and marks, and the file to write their ids to."""

    path: Path
    sources: list[str]
    targets: list[str]
    weights: Sequence[float] = ()  # one each; none if all are 1
    tagged: Sequence[bool] = ()  # whether each source is marked; none if none is


@dataclass(frozen=True)
class PairEncoder:
    """Encodes pairs, and drops those with no token or more than `max_tokens` on either side."""

    source: Tokenizer
    target: Tokenizer
    max_tokens: int

    def encode(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        weights: Sequence[float] = (),
        tagged: Sequence[bool] = (),
    ) -> PairStore:
        """Ids of the pairs that are kept, in order; their spans are masked if the tokenizers have reserved tokens.

        The mark of a source is the token bos, with which no other source starts.
        """
        if masking := masking_of(self.source):
            sources, targets = mask_pairs(masking, sources, targets)
        pairs = list(zip(encode_masked(self.source, sources), encode_masked(self.target, targets), strict=True))
        for source_ids in filter(None, compress((ids for ids, _ in pairs), tagged)):
            source_ids.insert(0, self.source.vocabulary.bos)
        kept = [index for index, pair in enumerate(pairs) if all(0 < len(side) <= self.max_tokens for side in pair)]
        source, target = (IdStore.of(pairs[index][side] for index in kept) for side in (0, 1))
        return PairStore(source, target, weights=np.array(weights, np.float32)[kept] if weights else None)

    def write(self, shard: Shard) -> int:
        """Encode a shard into its file; return its number of pairs, those that are dropped included.

        Raises:
            UserError: The file cannot be written.
        """
        largest = max(len(self.source.vocabulary), len(self.target.vocabulary))
        save_shard(shard.path, self.encode(shard.sources, shard.targets, shard.weights, shard.tagged), largest)
        return len(shard.sources)


def encode_shards(shards: Iterable[Shard], encoder: PairEncoder, processes: int) -> Generator[int, None, None]:
    """Encode shards into their files, in this process or in several; yield the number of pairs of each finished shard.

    Closing the generator waits for the shards that are being encoded, so every file is complete.

    Raises:
        UserError: A file cannot be written, or a worker process was killed.
    """
    if processes == 1:
        return (encoder.write(shard) for shard in shards)
    return _encode_in_pool(shards, encoder, processes)


def _encode_in_pool(shards: Iterable[Shard], encoder: PairEncoder, processes: int) -> Generator[int, None, None]:
    settings = (encoder.source.to_json(), encoder.target.to_json(), encoder.max_tokens)
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _start_worker, settings)
    starter = ThreadPoolExecutor(1, initializer=_block_interrupts)
    running: set[Future[int]] = set()
    try:
        for shard in _read_ahead(shards, processes):
            running.add(starter.submit(_submit, pool, shard).result())
            if len(running) == 2 * processes:  # a shard waits for each worker, so that none is idle
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        yield from (future.result() for future in as_completed(running))
    except BrokenProcessPool as error:
        raise UserError(
            "a worker process that encodes text was killed, perhaps because memory ran out; run the same command "
            "again to continue, with fewer processes (training.threads) if memory is short"
        ) from error
    finally:
        starter.shutdown()
        pool.shutdown(cancel_futures=True)


def _read_ahead(shards: Iterable[Shard], number: int) -> Iterator[Shard]:
    """The same shards; the first ones are read before any is returned.

    So all workers start at once. If a worker died while another one starts, `ProcessPoolExecutor` could wait forever.
    """
    rest = iter(shards)
    first = deque(islice(rest, number))
    while first:
        yield first.popleft()
    yield from rest


def _block_interrupts() -> None:
    """Block Ctrl-C in the thread that starts the workers: they inherit the mask, and no start is interrupted."""
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


_hiding_main = threading.Lock()


def _submit(pool: ProcessPoolExecutor, shard: Shard) -> Future[int]:
    """Submit a shard; the pool starts a worker if all are busy.

    A spawned process imports the main module of its parent. Workers do not need that module, and importing it would
    run a script without a ``__main__`` guard again, and fail for a script from standard input. So it is hidden.
    """
    with _hiding_main:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            return pool.submit(_write_in_worker, shard)
        finally:
            sys.modules["__main__"] = main


_worker_encoder: PairEncoder
"""The encoder of a worker process, set when the worker starts."""


def _start_worker(source: dict[str, Any], target: dict[str, Any], max_tokens: int) -> None:
    global _worker_encoder
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where signals cannot be blocked; the parent handles Ctrl-C
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one process per core is enough
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    _worker_encoder = PairEncoder(load_tokenizer(source), load_tokenizer(target), max_tokens)


def _exit_with_parent() -> None:
    """End this worker if the parent is killed: the pool would wait for work forever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _write_in_worker(shard: Shard) -> int:
    return _worker_encoder.write(shard)
