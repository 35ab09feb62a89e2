"""CTranslate2's translator and its threads, in this process and in forks of it."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any
from weakref import WeakSet

import torch

from dragoman.engines.batching import use_one_thread_after_fork
from dragoman.engines.protocol import ComputeType
from dragoman.errors import UserError
from dragoman.system.cpu import usable_cores

_INSTRUCTIONS = "CT2_FORCE_CPU_ISA"
"""The variable that requests instructions of the processor; CTranslate2 uses AVX-512 only on request."""


class Workers:
    """A translator of CTranslate2 with one single-threaded worker per core; a forked process opens its own.

    Args:
        converted: Directory of the converted bundle.
        compute_type: Data type of weights and matrix products.

    Raises:
        UserError: The converted bundle cannot be read.
    """

    def __init__(self, converted: Path, compute_type: ComputeType) -> None:
        self._converted, self._compute_type = converted, compute_type
        self._process = os.getpid()
        self._translator: Any = self._open()
        _OPEN.add(self)

    @property
    def translator(self) -> Any:
        """The `ctranslate2.Translator` of this process."""
        if self._translator is None:
            use_one_thread_after_fork(self._process)
            self._translator = self._open()
        return self._translator

    def abandon(self) -> None:
        """In a forked process, leave the translator of the parent alone.

        Its threads do not exist in this process. Using it would wait for them forever, and so would deleting it, even
        when the process ends. Therefore a reference to it is never released.
        """
        if self._translator is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._translator))
            self._translator = None

    def _open(self) -> Any:
        import ctranslate2

        threads = torch.get_num_threads()
        requested = torch.backends.cpu.get_cpu_capability() == "AVX512" and _INSTRUCTIONS not in os.environ
        try:
            if requested:
                os.environ[_INSTRUCTIONS] = "AVX512"
            return ctranslate2.Translator(
                str(self._converted),
                compute_type=self._compute_type,
                inter_threads=usable_cores(),
                intra_threads=1,
                max_queued_batches=-1,  # submitting never blocks, so finished results are read meanwhile
            )
        except (RuntimeError, ValueError) as error:
            raise UserError(f"{self._converted}: CTranslate2 cannot read it: {error}") from error
        finally:
            torch.set_num_threads(threads)  # CTranslate2 sets those of OpenMP, which torch uses too
            if requested:
                del os.environ[_INSTRUCTIONS]


_OPEN: WeakSet[Workers] = WeakSet()


def _abandon_all() -> None:
    for workers in _OPEN:
        workers.abandon()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_abandon_all)
