"""Training one model in several processes, which torchrun starts."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar
from uuid import uuid4

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch import distributed as dist
from torch.distributed import PrefixStore, Store  # type: ignore[attr-defined]
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from dragoman.errors import UserError
from dragoman.system.cpu import default_threads, usable_cores
from dragoman.system.device import choose_device

if TYPE_CHECKING:  # importing them takes as long as two thirds of torch, and only sharded training needs them
    from torch.distributed.fsdp import FSDPModule
    from torch.distributed.tensor import DTensor

Items = TypeVar("Items", list[Any], NDArray[np.int64])

VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
"""Environment variables that torchrun sets, in the order of the fields of Ranks."""

TIMEOUT = timedelta(days=365)
"""How long the other processes wait while the first one prepares data, translates, validates or saves: without a limit.
If a process fails, torchrun ends the others."""


@dataclass(frozen=True)
class Ranks:
    """The rank of this process and the number of processes. All run the same steps; only the first writes files."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0  # among the processes of this machine, each of which has its own GPU
    local_size: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that validates, saves and logs."""
        return self.rank == 0

    def device(self, name: str) -> torch.device:
        """The device with this name; with several processes on GPUs, each has its own.

        Raises:
            UserError: There is no such device.
        """
        if self.size > 1 and self.local_rank < torch.cuda.device_count():
            torch.cuda.set_device(self.local_rank)  # before any other use of the GPUs, which would start with the first
        device = choose_device(name)
        return torch.device("cuda", self.local_rank) if device.type == "cuda" and self.size > 1 else device

    def use_threads(self, threads: int | None) -> None:
        """Make torch use this many CPU threads; by default OMP_NUM_THREADS, or this process's share of the cores."""
        # torchrun sets the variable to 1 by itself.
        default = default_threads() if self.size == 1 else max(1, usable_cores() // self.local_size)
        torch.set_num_threads(threads or default)

    def share(self, items: Items) -> Items:
        """This process's share of the items of a step, which are a list or an array."""
        return items[self.rank :: self.size]

    def wait(self) -> None:
        """Return when all processes have called this."""
        if self.size > 1:
            dist.barrier()

    @contextmanager
    def first_before_others(self) -> Iterator[None]:
        """Run a block in the first process while the others wait; then they run it."""
        if not self.first:
            self.wait()
        yield
        if self.first:
            self.wait()

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

    def broadcast(self, number: float | None) -> float | None:
        """The first process's number, or None if it has none."""
        message = torch.tensor([number is not None, number or 0.0], dtype=torch.float64)
        if self.size > 1:
            dist.broadcast(message, 0)
        exists, value = message.tolist()
        return value if exists else None

    def broadcast_tensor(self, tensor: Tensor) -> None:
        """Replace the values of a tensor, which is on the CPU, by those of the first process."""
        if self.size > 1:
            dist.broadcast(tensor, 0)

    def gather(self, tensor: Tensor) -> list[Tensor]:
        """The tensors of all processes in order; all have one shape and are on the CPU."""
        if self.size == 1:
            return [tensor]
        gathered = [torch.empty_like(tensor) for _ in range(self.size)]
        dist.all_gather(gathered, tensor)
        return gathered


SINGLE_PROCESS = Ranks()


def has_several_processes() -> bool:
    """Whether torchrun has started this process and others."""
    return dist.is_torchelastic_launched() and int(os.environ.get("WORLD_SIZE", "1")) > 1


def refuse_several_processes(command: str) -> None:
    """Check that torchrun did not start several processes: each would choose settings by its own speed.

    Args:
        command: The command that chooses them.

    Raises:
        UserError: It did.
    """
    if has_several_processes():
        raise UserError(
            f"{command} chooses settings, but several processes must have the same ones; write a recipe with one "
            "process, and name it in the command for several"
        )


@contextmanager
def join_ranks() -> Iterator[Ranks]:
    """Join the processes that torchrun started, or train alone.

    gloo exchanges single numbers between CPUs, so that they do not wait for a GPU; NCCL exchanges gradients between
    GPUs.

    The result of `wrap_distributed` must be freed before this context ends, or the process may hang: if torch's
    reducer has the last reference to the process group, it destroys the group while holding Python's global lock, which
    the group's thread may need to end. After an error, the traceback keeps all objects alive, so the group is not
    destroyed.
    """
    if "RANK" not in os.environ or not dist.is_torchelastic_launched():
        yield SINGLE_PROCESS
        return
    ranks = Ranks(*(int(os.environ[name]) for name in VARIABLES))
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    store, *_ = next(rendezvous("env://", timeout=TIMEOUT))
    fresh = fresh_store(store, ranks)
    dist.init_process_group(backend, store=fresh, rank=ranks.rank, world_size=ranks.size, timeout=TIMEOUT)
    yield ranks
    dist.destroy_process_group()


def fresh_store(store: Store, ranks: Ranks) -> Store:
    """A part of torchrun's store that only the processes of this start use; every process must call this.

    When torchrun starts all processes again after a failure, its store still contains the addresses of the failed
    ones, and their successors would connect to these (pytorch issue 167288). So the first process announces a name and
    waits until each other one has answered with its identity. A process that reads the name of an earlier start does
    not find its identity among the answers, so it reads again.
    """
    identity = uuid4().hex
    if ranks.first:
        store.set("start", identity)
        answers = [store.get(f"{identity}/{rank}").decode() for rank in range(1, ranks.size)]  # waits for each
        store.set(f"{identity}/answers", " ".join(answers))
        return PrefixStore(identity, store)
    while True:
        name = store.get("start").decode()
        store.set(f"{name}/{ranks.rank}", identity)
        if store.check([f"{name}/answers"]) and identity in store.get(f"{name}/answers").decode():
            return PrefixStore(name, store)
        time.sleep(0.05)


def wrap_distributed(
    loss: nn.Module, layers: Iterable[nn.Module], device: torch.device, ranks: Ranks, *, shard: bool
) -> nn.Module:
    """A module to call instead of `loss`, on a device, whose gradients are the mean over all processes.

    Args:
        loss: The model and its loss, on the CPU.
        layers: Consecutive parts of it; when sharded, they are moved to the device, and their weights are gathered
            there, one part at a time.
        device: Where to compute.
        ranks: The processes.
        shard: Whether each process keeps only its share of weights, gradients and moments.
    """
    if ranks.size == 1:
        return loss.to(device)
    if not shard:
        wrapped = DistributedDataParallel(loss.to(device), gradient_as_bucket_view=True)
        wrapped.broadcast_buffers = False  # tables of positions never change; torch 2.13 renamed the argument
        return wrapped
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(device.type, (ranks.size,))
    for part in (*layers, loss):
        fully_shard(part, mesh=mesh)
    return loss


@contextmanager
def gradient_exchange(module: nn.Module, enabled: bool) -> Iterator[None]:
    """Exchange gradients in the backward passes of a block, or only accumulate them in each process."""
    if _has_shards(module):
        module.set_requires_gradient_sync(enabled)
    if isinstance(module, DistributedDataParallel) and not enabled:
        with module.no_sync():
            yield
    else:
        yield


def full_tensor(tensor: Tensor) -> Tensor:
    """The whole tensor, gathered from all processes if it is sharded; in that case every process must call this."""
    return tensor.full_tensor() if _is_sharded(tensor) else tensor


def local_tensor(tensor: Tensor) -> Tensor:
    """This process's share of a tensor, which is the whole tensor unless it is sharded."""
    return tensor.to_local() if _is_sharded(tensor) else tensor


def collect(tensors: Iterable[tuple[str, Tensor]], ranks: Ranks) -> dict[str, Tensor]:
    """Whole tensors by name in the first process, nothing in the others; every process must call this.

    Sharded tensors are gathered one at a time and moved to the CPU, so that they never fill the memory of a GPU.
    """
    collected: dict[str, Tensor] = {}
    for name, tensor in tensors:
        whole = full_tensor(tensor).contiguous()
        if ranks.first:
            collected[name] = whole.cpu() if _is_sharded(tensor) else whole
    return collected


def distribute_like(tensor: Tensor, parameter: Tensor) -> Tensor:
    """The tensor, sharded like the parameter if that is sharded and has the same shape."""
    if _is_sharded(parameter) and tensor.shape == parameter.shape:
        from torch.distributed.tensor import distribute_tensor

        return distribute_tensor(tensor.to(parameter.device), parameter.device_mesh, parameter.placements)
    return tensor


def _has_shards(module: nn.Module) -> TypeGuard[FSDPModule]:
    return hasattr(module, "set_requires_gradient_sync")


def _is_sharded(tensor: Tensor) -> TypeGuard[DTensor]:
    return hasattr(tensor, "device_mesh")
