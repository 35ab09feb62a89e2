"""Operators of torch that are not public, and whether this build of torch has them."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor


def has_operator(namespace: object, name: str) -> bool:
    """Whether a namespace of torch has an operator; accessing a missing one raises AttributeError or RuntimeError."""
    try:
        getattr(namespace, name)
    except (AttributeError, RuntimeError):
        return False
    return True


HAS_ONEDNN_LINEAR = (
    torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    and torch.backends.cpu.get_cpu_capability() == "AVX512"
    and has_operator(torch.ops.mkldnn, "_linear_pointwise")
    and has_operator(torch.ops.mkldnn, "_reorder_linear_weight")
)
"""Whether oneDNN's linear operators exist, and are faster on this processor than torch's linear maps.

torch computes float32 matrix products with MKL, which does not use AVX-512 on AMD processors and is half as fast there.
"""

HAS_FAST_MKL = (
    torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
    and torch.backends.cpu.get_cpu_capability() == "AVX512"
    and has_operator(torch.cpu, "get_capabilities")
    and str(torch.cpu.get_capabilities().get("cpu_name")).startswith("Intel")
)
"""Whether torch multiplies float32 matrices with MKL on a processor of Intel, where MKL uses AVX-512."""

HAS_SOFTMAX_BACKWARD = has_operator(torch.ops.aten, "_softmax_backward_data")


def softmax_backward(gradient: Tensor, output: Tensor, dim: int) -> Tensor:
    """Gradient with respect to the input of a softmax, from its output and the output's gradient, all of one shape."""
    if not HAS_SOFTMAX_BACKWARD:
        return output * (gradient - (gradient * output).sum(dim, keepdim=True))
    result: Tensor = torch.ops.aten._softmax_backward_data(gradient, output, dim, output.dtype)
    return result


@cache
def has_flash_attention(device: torch.device) -> bool:
    """Whether a GPU has the instructions that FlashAttention needs, which is so since NVIDIA's Ampere."""
    return torch.cuda.get_device_capability(device) >= (8, 0)
