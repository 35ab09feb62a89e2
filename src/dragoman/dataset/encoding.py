"""Pairs to ids by several processes.

Each runs this module: the first line it reads says how to encode, each further one holds a part to encode and the
file to write it to; for each it answers with a line. It ends when there is nothing more to read, be it that all is
done or that whoever started it was killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from dragoman.corpus.pair import Pair
from dragoman.dataset.token_store import IdStore, PairStore, save_part
from dragoman.errors import UserError
from dragoman.text.registry import load_tokenizer
from dragoman.text.tokenizer import Tokenizer

Part = tuple[Path, Sequence[Pair]]
"""Pairs, and the file for their ids."""


def encode_pairs(
    sources: Sequence[str], targets: Sequence[str], source: Tokenizer, target: Tokenizer, max_tokens: int
) -> PairStore:
    """Ids of the pairs that have at least one token and at most `max_tokens` on either side."""
    pairs = zip(source.encode(sources), target.encode(targets), strict=True)
    kept = [pair for pair in pairs if all(0 < len(side) <= max_tokens for side in pair)]
    return PairStore(IdStore.of(side for side, _ in kept), IdStore.of(side for _, side in kept))


def encode_parts(
    parts: Iterable[Part], source: Tokenizer, target: Tokenizer, max_tokens: int, processes: int
) -> Generator[int, None, None]:
    """Encode parts, as many at a time as there are processes; the number of pairs of each part that is done.

    Whoever stops asking waits for the parts begun, and nothing is half done.

    Raises:
        UserError: A part cannot be written, or a process was killed.
    """
    setup = {"source": source.to_json(), "target": target.to_json(), "max_tokens": max_tokens}
    with ExitStack() as stack:
        idle: SimpleQueue[_Process] = SimpleQueue()
        for _ in range(processes):
            idle.put(stack.enter_context(_Process(setup)))
        threads = stack.enter_context(ThreadPoolExecutor(processes))
        stack.callback(threads.shutdown, cancel_futures=True)

        def encode(part: Part) -> int:
            process = idle.get()
            try:
                return process.encode(*part)
            finally:
                idle.put(process)

        running: set[Future[int]] = set()
        for part in parts:
            running.add(threads.submit(encode, part))
            if len(running) == 2 * processes:  # one is ready for each process that ends another
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        yield from (future.result() for future in running)


class _Process:
    """A process that encodes; Ctrl-C does not reach it, so that it ends what it has begun."""

    def __init__(self, setup: dict[str, Any]) -> None:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        # One process a core: threads of the tokenizers library would only get in each other's way.
        environment = os.environ | {"PYTHONPATH": path, "TOKENIZERS_PARALLELISM": "false"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"from {__name__} import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            process_group=0,
        )
        self._send(setup)

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.communicate()

    def encode(self, path: Path, pairs: Sequence[Pair]) -> int:
        self._send([str(path), [pair.source for pair in pairs], [pair.target for pair in pairs]])
        assert self._process.stdout
        answer = self._process.stdout.readline()
        if not answer:
            raise UserError(f"a process that encodes text has ended with code {self._process.wait()}")
        if problem := json.loads(answer):
            raise UserError(problem)
        return len(pairs)

    def _send(self, message: Any) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise UserError(f"a process that encodes text has ended with code {self._process.wait()}") from None


def main() -> None:
    """What each process does."""
    setup = json.loads(sys.stdin.buffer.readline())
    source, target = load_tokenizer(setup["source"]), load_tokenizer(setup["target"])
    entries = max(len(source.vocabulary), len(target.vocabulary))
    for line in sys.stdin.buffer:
        path, sources, targets = json.loads(line)
        try:
            save_part(Path(path), encode_pairs(sources, targets, source, target, setup["max_tokens"]), entries)
            problem = None
        except UserError as error:
            problem = str(error)
        print(json.dumps(problem), flush=True)
