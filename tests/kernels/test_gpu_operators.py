"""What a GPU would be given to do: few operators, none of which makes the program wait.

The modules for GPUs run on torch's meta device, whose tensors have shapes but no numbers. Every operator that needs the
numbers on the CPU, such as `item`, `nonzero` or a copy to the CPU, raises an error there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from dragoman.dataset.batch import Batch, UnpaddedPairs
from dragoman.engines.decoders import PreallocatedCache, PreallocatedDecoder
from dragoman.kernels import accelerate, unpadded
from dragoman.kernels.unpadded import UnpaddedBatch, unpadded_hidden
from dragoman.model.build import build_model
from dragoman.model.transformer import Transformer
from dragoman.search import beam, decode
from dragoman.search.beam import Continuations
from dragoman.search.logits_processors import Constraints
from dragoman.settings import Decoding, Model, Training
from dragoman.training.loop import batch_loss
from dragoman.training.loop.batch_loss import BatchLoss

META = torch.device("meta")
SIZES: dict[str, Any] = {"d_model": 64, "heads": 2, "d_ff": 128, "dropout": 0.0, "max_length": 64}
SENTENCES, SOURCE, TARGET, VOCABULARY, WIDTH = 7, 3, 4, 100, 3
ALLOWED = 1.3
"""Operators of a layer relative to torch.nn.Transformer, which has neither rotary positions nor tokens of one batch."""

VARIANTS: list[dict[str, Any]] = [
    {"norm": "post"},
    {"norm": "pre", "qkv_bias": False},
    {"norm": "pre", "positions": "rotary"},
]
variants = pytest.mark.parametrize("options", VARIANTS, ids=str)


class OperatorCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts operators by name."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, operator: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        self.counts[operator.overloadpacket.__name__] += 1
        return operator(*arguments, **(options or {}))


def operators(run: Callable[[], Any]) -> int:
    """How many operators a function starts."""
    counter = OperatorCounter()
    with counter:
        run()
    return counter.counts.total()


def one_attention(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False
) -> Tensor:
    """torch's fused attention as one operator, as on a GPU; on the meta device torch would compute step by step."""
    mixed: Tensor = torch.ops.aten._scaled_dot_product_efficient_attention(q, k, v, attn_mask, False)[0]
    return mixed


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let kernels be chosen as on a GPU with FlashAttention."""
    monkeypatch.setattr(unpadded, "has_flash_attention", lambda device: True)


def gpu_model(
    encoder_layers: int, decoder_layers: int, dtype: torch.dtype = torch.float32, **options: Any
) -> Transformer:
    """A model as it would be on a GPU."""
    layers = {"encoder_layers": encoder_layers, "decoder_layers": decoder_layers}
    model = build_model(Model.model_validate(SIZES | layers | options), VOCABULARY, VOCABULARY, 1, seed=1)
    model = model.to(META)
    for parameter in model.parameters():  # not the tables of positions, which stay in float32
        parameter.data = parameter.data.to(dtype)
    accelerate(model, device_type="cuda")
    return model


def ids(*shape: int) -> Tensor:
    return torch.zeros(*shape, dtype=torch.int64, device=META)


def gpu_group() -> Batch:
    """A group of sentences as it would be on a GPU."""
    tokens = SENTENCES * SOURCE, SENTENCES * TARGET
    unpadded = UnpaddedPairs(ids(2, tokens[0]), ids(3, tokens[1]), ids(SENTENCES), ids(SENTENCES))
    target = ids(SENTENCES, TARGET)
    return Batch(ids(SENTENCES, SOURCE), target, target, *tokens, unpadded)


def train_ours(layers: int, dtype: torch.dtype, options: dict[str, Any]) -> Callable[[], Any]:
    model, batch = gpu_model(layers, layers, dtype, **options).train(), UnpaddedBatch.join([gpu_group()])
    assert batch is not None
    return lambda: unpadded_hidden(model, batch).sum().backward()  # type: ignore[no-untyped-call]


def train_theirs(layers: int, norm_first: bool) -> Callable[[], Any]:
    """On a CPU, where torch's attention is one operator for training too."""
    encoder_layer = nn.TransformerEncoderLayer(64, 2, 128, 0.0, batch_first=True, norm_first=norm_first)
    encoder = nn.TransformerEncoder(encoder_layer, layers, enable_nested_tensor=False)
    model = nn.Transformer(
        64, 2, layers, layers, 128, 0.0, custom_encoder=encoder, batch_first=True, norm_first=norm_first
    )
    source, target = torch.randn(SENTENCES, SOURCE, 64), torch.randn(SENTENCES, TARGET, 64)
    return lambda: model(source, target).sum().backward()


@variants
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_layer_trains_with_few_operators(options: dict[str, Any], dtype: torch.dtype) -> None:
    ours = operators(train_ours(3, dtype, options)) - operators(train_ours(2, dtype, options))
    pre_norm = options["norm"] == "pre"
    theirs = operators(train_theirs(3, pre_norm)) - operators(train_theirs(2, pre_norm))
    assert ours <= ALLOWED * theirs


@pytest.mark.parametrize("accumulated", [1, 2])
@variants
def test_a_training_step_never_waits(
    options: dict[str, Any], accumulated: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def autocast(precision: str, device: torch.device) -> Iterator[torch.dtype]:
        yield torch.float32  # the meta device has no autocast

    monkeypatch.setattr(batch_loss, "autocast", autocast)
    for more in ({}, {"r_drop": 1.0}, {"kernels": False}):
        model = gpu_model(1, 1, **options, output_bias=True, attention_dropout=0.1).train()
        loss = BatchLoss(model, Training.model_validate({"steps": 1, **more}), target_pad=1)
        for _ in range(accumulated):
            total, nll = loss([gpu_group(), gpu_group()])
            (total / 10).backward()
            assert nll.shape == ()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        assert all(parameter.grad is not None for parameter in model.parameters())


def test_operators_that_wait_would_be_found() -> None:
    group = gpu_group()
    for wait in (Tensor.item, Tensor.tolist, Tensor.nonzero, Tensor.cpu, lambda x: x[x > 0]):
        with pytest.raises((RuntimeError, NotImplementedError)):
            wait(group.source.sum())


def decoding(layers: int, options: dict[str, Any]) -> tuple[PreallocatedDecoder, PreallocatedCache]:
    """A decoder, and its cache with padding in the source."""
    decoder = PreallocatedDecoder(gpu_model(1, layers, torch.bfloat16, **options).eval())
    memory = torch.empty(layers, 2, SENTENCES, 2, SOURCE, 32, device=META, dtype=torch.bfloat16)
    return decoder, PreallocatedCache(memory, torch.empty(SENTENCES, SOURCE, device=META, dtype=torch.bool))


def decode_ours(layers: int, options: dict[str, Any]) -> Callable[[], Any]:
    decoder, cache = decoding(layers, options)
    cache.select(ids(SENTENCES * WIDTH))

    def step() -> None:
        decoder.step(ids(SENTENCES * WIDTH), cache)
        cache.select(ids(SENTENCES * WIDTH))

    return step


def decode_theirs(layers: int, norm_first: bool) -> Callable[[], Any]:
    """One position, without keys and values of earlier ones."""
    layer = nn.TransformerDecoderLayer(64, 2, 128, batch_first=True, norm_first=norm_first)
    model = nn.TransformerDecoder(layer, layers).eval().to(META, torch.bfloat16)
    memory = torch.empty(SENTENCES * WIDTH, SOURCE, 64, device=META, dtype=torch.bfloat16)
    return lambda: model(memory[:, :1], memory)


@torch.inference_mode()
@variants
def test_a_layer_decodes_with_few_operators(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(F, "scaled_dot_product_attention", one_attention)
    ours = operators(decode_ours(3, options)) - operators(decode_ours(2, options))
    pre_norm = options["norm"] == "pre"
    theirs = operators(decode_theirs(3, pre_norm)) - operators(decode_theirs(2, pre_norm))
    assert ours <= ALLOWED * theirs


def constraints(limit: int, prefix: bool) -> Constraints:
    """On the meta device, except for the maximum lengths, which a search reads once."""
    made = Constraints(2, 3, [0, 1, 2], torch.full((SENTENCES,), limit), ids(SENTENCES, 2) if prefix else None)
    moved = replace(made, max_lengths=made.max_lengths.to(META))
    vars(moved)["limits"] = made.limits
    return moved


PROCESSORS = {"min_length": 2, "no_repeat_ngram": 2, "temperature": 1.5}


@torch.inference_mode()
@pytest.mark.parametrize("prefix", [False, True])
def test_a_beam_search_waits_once_per_step(prefix: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []

    def read(*continuations: Continuations) -> list[Continuations]:
        """Continuations that never end."""
        reads.append(len(continuations))
        return [Continuations(*(np.full(each.shape, 5) for each in one.fields)) for one in continuations]

    monkeypatch.setattr(beam, "read_together", read)
    settings = Decoding.model_validate({"beam_size": WIDTH, **PROCESSORS})
    beam.beam_search(*decoding(2, {}), settings, constraints(6, prefix))
    assert reads == [2] * 6


@torch.inference_mode()
@pytest.mark.parametrize("prefix", [False, True])
def test_greedy_search_waits_once_per_several_steps(prefix: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []

    def read(steps: list[Tensor]) -> list[list[list[float]]]:
        reads.append(len(steps))
        return [[[3.0 if sum(reads) == 10 else 5.0, 0.0]] * len(steps) for _ in range(SENTENCES)]

    monkeypatch.setattr(decode, "_read", read)
    settings = Decoding.model_validate({"beam_size": 1, **PROCESSORS})
    decode.decode_single(*decoding(2, {}), settings, constraints(10, prefix))
    assert reads == [4, 4, 2]
