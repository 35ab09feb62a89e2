"""Tests of the settings of memory."""

from __future__ import annotations

import gc
from weakref import ref

from dragoman.system.memory import exempt_from_collection


class Node:
    """An object that refers to itself, so that only a collection frees it."""

    def __init__(self) -> None:
        self.itself = self


def test_only_later_objects_are_collected() -> None:
    """Objects that exist are not visited again; later ones are freed as before."""
    earlier = ref(Node())
    exempt_from_collection()
    try:
        later = ref(Node())
        gc.collect()
        assert earlier() is not None
        assert later() is None
    finally:
        gc.unfreeze()
    gc.collect()
    assert earlier() is None
