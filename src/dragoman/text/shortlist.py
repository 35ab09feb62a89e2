"""Shortlists: the target tokens that may translate a source token. With fewer tokens to choose from, search is faster.

The idea, and the tokens that are always possible, are those of Marian and Bergamot; see also L'Hostis et al. 2016,
"Vocabulary selection strategies for neural machine translation".
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from dragoman.errors import UserError

SHORTLIST_FILE = "shortlist.safetensors"


@dataclass(frozen=True)
class Shortlist:
    """The possible target tokens.

    Attributes:
        always: Ids of those that any text may need, (tokens,).
        bounds: Where the entries of each source token begin in `candidates`, and their number, (source tokens + 1,).
        candidates: Ids of those that translate each source token, (entries,).
    """

    always: NDArray[np.int32]
    bounds: NDArray[np.int32]
    candidates: NDArray[np.int32]

    def of(self, source_token: int) -> list[int]:
        """The candidates of a source token, without those that are always possible."""
        found: list[int] = self.candidates[self.bounds[source_token] : self.bounds[source_token + 1]].tolist()
        return found

    def save(self, directory: Path) -> None:
        """Write it into the directory of a bundle."""
        (directory / SHORTLIST_FILE).write_bytes(save(vars(self)))

    @classmethod
    def load(cls, directory: Path, source_size: int, target_size: int) -> Shortlist:
        """Read it from the directory of a bundle with vocabularies of these sizes.

        Raises:
            UserError: It is damaged, or of other vocabularies.
        """
        path = directory / SHORTLIST_FILE
        try:
            shortlist = cls(**load_file(path))
            ids = np.concatenate([shortlist.always, shortlist.candidates])
            entries = np.diff(shortlist.bounds)
            intact = (
                ids.ndim == shortlist.bounds.ndim == 1
                and len(shortlist.always) > 0
                and ids.dtype == shortlist.bounds.dtype == np.int32
                and len(entries) == source_size
                and shortlist.bounds[0] == 0
                and shortlist.bounds[-1] == len(shortlist.candidates)
                and (entries >= 0).all()
                and ((ids >= 0) & (ids < target_size)).all()
            )
        except (SafetensorError, TypeError, ValueError, IndexError, OSError) as error:
            raise UserError(f"{path}: damaged: {error}; copy the bundle again") from error
        if not intact:
            raise UserError(f"{path}: its tokens are not those of the bundle's tokenizers; copy the bundle again")
        return shortlist
