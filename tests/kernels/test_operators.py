"""Private operators of torch are used only where they exist."""

from __future__ import annotations

import torch

from dragoman.kernels.operators import has_operator


def test_missing_operators_and_overloads_are_noticed() -> None:
    assert has_operator(torch.ops.aten, "add")
    assert has_operator(torch.ops.aten.add, "Tensor")
    assert not has_operator(torch.ops.aten, "there_is_no_such_operator")
    assert not has_operator(torch.ops.aten.add, "there_is_no_such_overload")
    assert not has_operator(torch.ops.there_is_no_such_library, "add")
