"""Processes that train together as under torchrun, but forked from a process that has already imported torch.

Importing torch and its optimizers takes several times as long as the training in these tests. torchrun itself starts
some of them.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import socket
import sys
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from dragoman.cli import main
from dragoman.training.loop.distributed import VARIABLES

FORK_SERVER = get_context("forkserver")
FORK_SERVER.set_forkserver_preload(["dragoman.training.run.run", "torch._dynamo"])


class ForkedRanks:
    """Processes that call a function with arguments, and write their standard error to a file."""

    def __init__(self, size: int, log: Path, function: Callable[..., None], *arguments: Any) -> None:
        self.log = log
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        given = [(rank, size, port, log, function, arguments) for rank in range(size)]
        self.processes = [FORK_SERVER.Process(target=run_rank, args=each, daemon=True) for each in given]
        for process in self.processes:
            process.start()

    def running(self) -> bool:
        return all(process.is_alive() for process in self.processes)

    def stop(self) -> None:
        """Send each process the signal that torchrun passes on, and wait until they have ended."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.join(60)

    def crashed(self) -> bool:
        """Whether a process was killed by an error in native code, once all have ended."""
        for process in self.processes:
            process.join(120)
        return any(process.exitcode in (-signal.SIGABRT, -signal.SIGSEGV) for process in self.processes)

    def run_to_the_end(self) -> str:
        """What the processes printed; fails if one of them does."""
        for process in self.processes:
            process.join(120)
        printed = self.log.read_text(encoding="utf-8")
        codes = [process.exitcode for process in self.processes]
        assert codes == [0] * len(codes), f"exit codes {codes}\n{printed}"
        return printed


def train_in_forks(size: int, recipe: Path, output: Path, *more: str) -> ForkedRanks:
    """Processes that run ``dragoman train``."""
    arguments = ("train", str(recipe), "--output", str(output), *more)
    return ForkedRanks(size, output.with_suffix(".log"), run_command, *arguments)


def run_rank(rank: int, size: int, port: int, log: Path, function: Callable[..., None], arguments: Any) -> None:
    """Call the function in the environment that torchrun gives a process."""
    os.environ |= dict(zip(VARIABLES, map(str, (rank, size, rank, size)), strict=True))
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "forked"}
    with log.open("a") as stream:
        os.dup2(stream.fileno(), sys.stderr.fileno())
    faulthandler.enable()  # a crash of one process appears as a lost connection in the others
    function(*arguments)


def run_command(*arguments: str) -> None:
    sys.argv = ["dragoman", *arguments]
    main()
