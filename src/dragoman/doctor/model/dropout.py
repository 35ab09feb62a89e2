"""A context without dropout, for models that are in training mode or apply dropout during translation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

_DROPOUT = {
    *(F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.alpha_dropout, F.feature_alpha_dropout),
    *(torch.dropout, torch.dropout_, torch.alpha_dropout, torch.feature_dropout, torch.feature_alpha_dropout),
}
_ATTENTION = {F.multi_head_attention_forward: 10, F.scaled_dot_product_attention: 4}
"""Functions that apply dropout to attention weights, and the position of their argument dropout_p."""


class WithoutDropout(TorchFunctionMode):
    """Dropout returns its input unchanged, also inside attention functions."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call a function of torch without its dropout."""
        kwargs = dict(kwargs or {})
        if func in _DROPOUT:
            return args[0] if args else kwargs["input"]
        if func in _ATTENTION:
            position = _ATTENTION[func]
            if len(args) > position:
                args = (*args[:position], 0.0, *args[position + 1 :])
            else:
                kwargs["dropout_p"] = 0.0
        return func(*args, **kwargs)
