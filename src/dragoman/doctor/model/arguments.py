"""The arguments of `dragoman.doctor.examine`, checked before anything is computed."""

from __future__ import annotations

from operator import index
from typing import Any

from dragoman.errors import UserError


def as_integer(name: str, value: Any) -> int:
    """A whole number, also of NumPy or torch.

    Raises:
        UserError: It is something else.
    """
    try:
        return index(value)
    except TypeError:
        raise UserError(f"{name} = {value!r}: expected an integer") from None


def as_id(name: str, value: Any, size_name: str, size: int) -> int:
    """The id of a token in a vocabulary.

    Raises:
        UserError: It is no integer, or not in the vocabulary.
    """
    number = as_integer(name, value)
    if not 0 <= number < size:
        raise UserError(
            f"{name} = {number}: not an id of the vocabulary; {size_name} = {size}, so ids are 0 to {size - 1}"
        )
    return number
