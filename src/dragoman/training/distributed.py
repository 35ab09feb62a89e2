"""Several processes that train one model, as torchrun starts them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from dragoman.system.cpu import usable_cores
from dragoman.system.device import choose_device

T = TypeVar("T")

VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
"""What torchrun tells each process, in the order of the fields of Ranks."""

PATIENCE = timedelta(hours=6)
"""How long the others wait for the first, which alone prepares data, validates and saves. A process that dies is not
waited for: torchrun ends the others."""


@dataclass(frozen=True)
class Ranks:
    """Which of the processes this is. All of them are at the same step, and only the first writes files."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0  # among those of this machine, each of which has a GPU of its own
    local_size: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that validates, saves and tells."""
        return self.rank == 0

    def device(self, name: str) -> torch.device:
        """The device with this name; if it is a GPU and there are several processes, each has its own.

        Raises:
            UserError: There is no such device.
        """
        device = choose_device(name)
        if device.type == "cuda" and self.size > 1:
            device = torch.device("cuda", self.local_rank)
            torch.cuda.set_device(device)
        return device

    def use_threads(self, threads: int | None) -> None:
        """Let torch compute on this many CPU threads; by default on this process's share of the cores."""
        torch.set_num_threads(threads or max(1, usable_cores() // self.local_size))

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """This process' part of the items of a step."""
        return items[self.rank :: self.size]

    def wait(self) -> None:
        """Return when all processes are here."""
        if self.size > 1:
            dist.barrier()

    def largest(self, values: Sequence[float]) -> list[float]:
        """The largest of each value over all processes."""
        return self._reduce(values, dist.ReduceOp.MAX)

    def sum(self, values: Sequence[float]) -> list[float]:
        """The sum of each value over all processes."""
        return self._reduce(values, dist.ReduceOp.SUM)

    def _reduce(self, values: Sequence[float], operation: Any) -> list[float]:
        numbers = torch.tensor(values, dtype=torch.float64)
        if self.size > 1:
            dist.all_reduce(numbers, operation)
        return numbers.tolist()

    def tell(self, number: float | None) -> float | None:
        """The number that the first process has, if it has one."""
        message = torch.tensor([number is not None, number or 0.0], dtype=torch.float64)
        if self.size > 1:
            dist.broadcast(message, 0)
        there, told = message.tolist()
        return told if there else None

    def gather(self, tensor: Tensor) -> list[Tensor]:
        """The tensors, all of one shape on the CPU, of all processes in order."""
        if self.size == 1:
            return [tensor]
        gathered = [torch.empty_like(tensor) for _ in range(self.size)]
        dist.all_gather(gathered, tensor)
        return gathered


ALONE = Ranks()


@contextmanager
def join_ranks() -> Iterator[Ranks]:
    """Be one of the processes of torchrun, or the only one.

    Small numbers go through gloo, between CPUs, so that they never wait for a GPU; gradients between
    GPUs go through NCCL.

    Whatever `spread` made must be gone before the ranks part, or the process may wait for ever: torch's reducer, if it
    is the last to hold the process group, ends it with Python's lock held, which the group's own thread may need to
    end. So after an error, whose traceback holds everything, the group is left to the end of the process.
    """
    if "RANK" not in os.environ or not dist.is_torchelastic_launched():
        yield ALONE
        return
    ranks = Ranks(*(int(os.environ[name]) for name in VARIABLES))
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo", timeout=PATIENCE)
    yield ranks
    dist.destroy_process_group()


def spread(loss: nn.Module, layers: Iterable[nn.Module], ranks: Ranks, *, shard: bool) -> nn.Module:
    """The module to call so that its gradients are the mean over all ranks.

    Args:
        loss: The model and its loss.
        layers: Parts of it that follow one another; their weights are gathered one after another when sharded.
        ranks: The processes.
        shard: Whether each rank keeps only its share of weights, gradients and moments.
    """
    if ranks.size == 1:
        return loss
    if not shard:
        return DistributedDataParallel(loss, gradient_as_bucket_view=True)
    for layer in layers:
        fully_shard(layer)
    fully_shard(loss)
    return loss


@contextmanager
def synchronised(module: nn.Module, wanted: bool) -> Iterator[None]:
    """Exchange gradients in backward passes within, or only add them up on each rank."""
    if isinstance(module, FSDPModule):
        module.set_requires_gradient_sync(wanted)
    if isinstance(module, DistributedDataParallel) and not wanted:
        with module.no_sync():
            yield
    else:
        yield


def whole(tensor: Tensor) -> Tensor:
    """The tensor, put together from all ranks if it is sharded; then every rank must call this."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def like(tensor: Tensor, parameter: Tensor) -> Tensor:
    """The tensor, sharded if the parameter is and has its shape."""
    if isinstance(parameter, DTensor) and tensor.shape == parameter.shape:
        return distribute_tensor(tensor.to(parameter.device), parameter.device_mesh, parameter.placements)
    return tensor
