"""CTranslate2's translator and its threads."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import torch

from dragoman.engines.batching import refuse_other_process
from dragoman.engines.protocol import ComputeType
from dragoman.errors import UserError
from dragoman.system.cpu import usable_cores

_INSTRUCTIONS = "CT2_FORCE_CPU_ISA"
"""The variable that requests instructions of the processor; CTranslate2 uses AVX-512 only on request."""


class Workers:
    """A translator of CTranslate2 with one single-threaded worker per core.

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

    @property
    def translator(self) -> Any:
        """The `ctranslate2.Translator`.

        Raises:
            UserError: This process was forked from the one that opened it.
        """
        refuse_other_process(self._process)
        return self._translator

    def __del__(self) -> None:
        """Free the translator, except in a forked process, which would wait forever for threads that it does not have.

        There, a reference to it is never released.
        """
        if os.getpid() != self._process:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._translator))

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
