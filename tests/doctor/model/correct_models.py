"""Correct models of several libraries, with the arguments that `examine` takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.model.build import build_model
from dragoman.settings import Model

PAD, BOS, EOS, SIZE = 1, 2, 3, 50
IDS: dict[str, Any] = {"vocabulary_size": SIZE, "pad_id": PAD, "bos_id": BOS, "eos_id": EOS}
OUR_SETTINGS: dict[str, Any] = {"d_model": 32, "heads": 4, "d_ff": 64, "encoder_layers": 2, "decoder_layers": 2}


def our_model(**options: Any) -> nn.Module:
    """Our Transformer, untrained."""
    return build_model(
        Model.model_validate({**OUR_SETTINGS, "max_length": 140, **options}), SIZE, SIZE, PAD, seed=1
    ).eval()


class TorchModel(nn.Module):
    """torch.nn.Transformer with embeddings and a projection, as in tutorials."""

    def __init__(self, norm_first: bool = False) -> None:
        super().__init__()
        self.source = nn.Embedding(SIZE, 32, padding_idx=PAD)
        self.target = nn.Embedding(SIZE, 32, padding_idx=PAD)
        self.transformer = nn.Transformer(32, 4, 2, 2, 64, dropout=0.1, batch_first=True, norm_first=norm_first)
        self.output = nn.Linear(32, SIZE)

    def embed(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
        """Scaled embeddings plus sinusoidal positions, (batch, length, 32)."""
        x: Tensor = embedding(ids) * math.sqrt(32)
        rates = torch.exp(torch.arange(0, 32, 2) * (-math.log(10000.0) / 32))
        angles = torch.arange(ids.shape[1])[:, None] * rates  # (length, 16)
        return x + torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1).to(x)

    def is_hidden(self, source: Tensor) -> Tensor:
        """The ids that no attention to the source sees, (batch, source)."""
        return source == PAD

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        padding = self.is_hidden(source)
        future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        hidden = self.transformer(
            self.embed(source, self.source),
            self.embed(target, self.target),
            tgt_mask=future,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        logits: Tensor = self.output(hidden)
        return logits


class MixtureOfExperts(TorchModel):
    """A router sends each position to one of eight experts, and never to the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(SIZE, 8)
        self.experts = nn.ModuleList([nn.Linear(SIZE, SIZE) for _ in range(8)])

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        logits = super().forward(source, target)
        weights: Tensor = self.router(logits)[..., :7].softmax(dim=-1)  # (batch, target, experts)
        outputs = torch.stack([expert(logits) for expert in self.experts[:7]], dim=-2)  # (batch, target, experts, size)
        chosen = torch.nn.functional.one_hot(weights.argmax(dim=-1), 7)  # (batch, target, experts)
        return logits + ((chosen * weights)[..., None] * outputs).sum(dim=-2)


class ScaledSharedOutput(TorchModel):
    """The embeddings are also the output projection, whose logits are divided, as by the square root of d_model."""

    def __init__(self) -> None:
        super().__init__()
        for tensor in self.parameters():
            if tensor.dim() > 1:
                nn.init.xavier_uniform_(tensor)
        self.output = nn.Linear(32, SIZE, bias=False)
        self.output.weight = self.target.weight

    def embed(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
        embedded: Tensor = embedding(ids)
        return super().embed(ids, embedding) - (math.sqrt(32) - 1) * embedded  # not scaled

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return super().forward(source, target) / 8


class LowRankOutput(TorchModel):
    """The output projection is the product of two narrow matrices."""

    def __init__(self) -> None:
        super().__init__()
        self.output = nn.Sequential(nn.Linear(32, 16, bias=False), nn.Linear(16, SIZE))  # type: ignore[assignment]


class ProjectedEmbeddings(TorchModel):
    """Narrow embeddings that a linear layer without activation function makes as wide as the model."""

    def __init__(self) -> None:
        super().__init__(norm_first=False)
        self.source, self.target = nn.Embedding(SIZE, 16), nn.Embedding(SIZE, 16)
        self.widen = nn.Linear(16, 32)
        self.positions = nn.Parameter(torch.randn(140, 16))

    def embed(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
        wide: Tensor = self.widen(embedding(ids) + self.positions[: ids.shape[1]])
        return wide


class LargeOutput(TorchModel):
    """Logits as large as those of models without a last norm, so that a new row makes its token certain."""

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return 8 * super().forward(source, target)


class DistanceBias(TorchModel):
    """The encoder has no positions but a bias that is symmetric in the distance (ALiBi).

    It is correct only if the fast path of torch is disabled, which ignores the bias.
    """

    def embed(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
        return super().embed(ids, embedding) if embedding is self.target else 5 * embedding(ids)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        places, padding = torch.arange(source.shape[1]), torch.zeros(source.shape).masked_fill(source == PAD, -math.inf)
        slopes = 2.0 ** -torch.arange(1, 5)
        bias = (-slopes[:, None, None] * (places[:, None] - places).abs()).repeat(len(source), 1, 1)
        memory = self.transformer.encoder(self.embed(source, self.source), bias, padding)
        future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        hidden = self.transformer.decoder(
            self.embed(target, self.target), memory, tgt_mask=future, memory_key_padding_mask=source == PAD
        )
        logits: Tensor = self.output(hidden)
        return logits


class UnusedPooler(TorchModel):
    """A part of a pretrained encoder that translation does not need."""

    def __init__(self) -> None:
        super().__init__()
        self.pooler = nn.Sequential(nn.Linear(32, 32), nn.Tanh())


class RoundsDifferently(TorchModel):
    """The last bits of the logits depend on the whole target."""

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return super().forward(source, target) * (1 + 3e-6 * (target.sum(dim=1) % 2)[:, None, None])


class LinearBiases(nn.Module):
    """An untrained stack in which most vectors are the random biases of linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(32, 32) for _ in range(12)])
        self.norms = nn.ModuleList([nn.LayerNorm(32) for _ in range(3)])


class ScalarGains(nn.Module):
    """An untrained stack whose norms have one gain and one bias for all elements."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(32, 32) for _ in range(3)])
        self.gains = nn.ParameterList([torch.ones(1) for _ in range(3)])


class HuggingFaceModel(nn.Module):
    """A sequence-to-sequence model of Hugging Face with the two arguments that examine passes."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        logits: Tensor = self.model(
            input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=target, use_cache=False
        ).logits
        return logits


def torch_transformer(norm_first: bool) -> nn.Module:
    torch.manual_seed(1)
    return TorchModel(norm_first).eval()


def hugging_face(name: str, **options: Any) -> nn.Module:
    """A randomly initialized MarianMTModel, T5ForConditionalGeneration or BartForConditionalGeneration."""
    import transformers

    common: dict[str, Any] = {
        "vocab_size": SIZE,
        "pad_token_id": PAD,
        "eos_token_id": EOS,
        "bos_token_id": BOS,
    } | options
    widths: dict[str, Any] = {
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": None,
    }
    if name == "t5":
        widths = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    config, model = {
        "marian": (transformers.MarianConfig, transformers.MarianMTModel),
        "bart": (transformers.BartConfig, transformers.BartForConditionalGeneration),
        "t5": (transformers.T5Config, transformers.T5ForConditionalGeneration),
    }[name]
    torch.manual_seed(1)
    return HuggingFaceModel(model(config(**common, **widths))).eval()


HUGGING_FACE: Mapping[str, Callable[[], nn.Module]] = {
    "marian": lambda: hugging_face("marian"),
    "bart": lambda: hugging_face("bart"),
    "t5": lambda: hugging_face("t5"),
}
