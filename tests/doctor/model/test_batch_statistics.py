"""Batch normalization leaks in training only, which shows although the model is in evaluation mode."""

from __future__ import annotations

import pytest
import torch
from broken_models import make_broken
from correct_models import IDS, PAD, SIZE, TorchModel
from torch import Tensor, nn

from dragoman.doctor import Finding, examine

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # a warning of nn.Transformer


class DecoderNorm(TorchModel):
    """Batch normalization of the logits, over all target positions of the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.norm: nn.Module = nn.BatchNorm1d(SIZE)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        normed: Tensor = self.norm(super().forward(source, target).flatten(0, 1))
        return normed.view(*target.shape, SIZE)


class EncoderNorm(TorchModel):
    """Batch normalization of the source embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.SyncBatchNorm(32)

    def embed(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
        embedded = super().embed(ids, embedding)
        return self.norm(embedded.transpose(1, 2)).transpose(1, 2) if embedding is self.source else embedded


class FrozenNorm(DecoderNorm):
    """Its normalization uses stored statistics in training, too."""

    def train(self, mode: bool = True) -> FrozenNorm:
        super().train(mode)
        self.norm.eval()
        return self


class FrozenParameters(DecoderNorm):
    def __init__(self) -> None:
        super().__init__()
        self.norm.requires_grad_(False)


class OwnLayerNorm(DecoderNorm):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(SIZE)


class UnusedNorm(TorchModel):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(SIZE)


def batch_leaks(model: nn.Module) -> list[Finding]:
    return [finding for finding in examine(model, **IDS) if finding.code == "batch-leak"]


def test_batch_normalization_in_the_decoder_is_an_error() -> None:
    model = make_broken(DecoderNorm)
    for forward in (model, model.forward, lambda source, target: model(source, target)):
        (leak,) = [finding for finding in examine(forward, **IDS) if finding.severity != "note"]
        assert (leak.code, leak.severity, leak.measured["modules"]) == ("batch-leak", "error", ["norm"])
        assert "in training, BatchNorm1d" in leak.message
        assert "later target tokens" in leak.message
        assert "LayerNorm" in leak.fix


def test_modules_of_the_same_name_in_two_models_are_both_named() -> None:
    first, second = make_broken(DecoderNorm), make_broken(EncoderNorm)
    (leak,) = [each for each in examine(lambda s, t: first(s, t) + second(s, t), **IDS) if each.code == "batch-leak"]
    assert leak.measured["modules"] == ["norm", "norm"]
    assert "BatchNorm1d and SyncBatchNorm" in leak.message


def test_batch_normalization_in_the_encoder_is_a_warning() -> None:
    (leak,) = batch_leaks(make_broken(EncoderNorm))
    assert (leak.severity, leak.measured["modules"], leak.measured["future"]) == ("warning", ["norm"], False)
    assert "SyncBatchNorm" in leak.message
    assert "later target tokens" not in leak.message


@pytest.mark.parametrize("model_class", [OwnLayerNorm, FrozenNorm, FrozenParameters, UnusedNorm])
def test_other_statistics_are_no_leak(model_class: type[nn.Module]) -> None:
    assert not batch_leaks(make_broken(model_class))


def test_a_leak_in_evaluation_mode_is_reported_once() -> None:
    model = make_broken(DecoderNorm)
    model.norm = nn.BatchNorm1d(SIZE, track_running_stats=False).eval()
    (leak,) = batch_leaks(model)
    assert "in training" not in leak.message
    (leak,) = batch_leaks(make_broken(DecoderNorm).train())
    assert "in training" not in leak.message


def test_modes_and_statistics_are_restored() -> None:
    model = make_broken(DecoderNorm)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    assert batch_leaks(model)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert not any(module.training for module in model.modules())
    assert model(torch.full((1, 3), PAD + 3), torch.full((1, 3), PAD + 3)).isfinite().all()
