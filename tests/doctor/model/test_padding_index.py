"""A word that an embedding takes for padding is found; embeddings of something else may have any padding_idx."""

from __future__ import annotations

import pytest
import torch
from correct_models import BOS, EOS, IDS, PAD, SIZE, TorchModel
from torch import Tensor, nn

from dragoman.doctor import Finding, examine

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # a warning of nn.Transformer
WORD = 5


class Padded(TorchModel):
    """The padding_idx of the source, of the target and of a table of positions are given."""

    def __init__(self, source: int | None = PAD, target: int | None = PAD, positions: int | None = PAD) -> None:
        super().__init__()
        self.source = nn.Embedding(SIZE, 32, padding_idx=source)
        self.target = nn.Embedding(SIZE, 32, padding_idx=target)
        self.positions = nn.Embedding(140, 32, padding_idx=positions)

    def embed(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
        positions: Tensor = self.positions(input=torch.arange(ids.shape[1]))
        return super().embed(ids, embedding) + positions


class OwnLookup(nn.Embedding):
    """Its padding_idx has no effect."""

    def forward(self, input: Tensor) -> Tensor:
        return self.weight[input]


def examine_module(model: nn.Module) -> list[Finding]:
    findings = examine(model.eval(), parameters=model.named_parameters(), **IDS)
    return [finding for finding in findings if finding.severity != "note"]


@pytest.mark.parametrize("index", [WORD, EOS])
def test_a_word_with_the_index_of_padding_is_found(index: int) -> None:
    torch.manual_seed(1)
    model = Padded(source=index)
    (finding,) = examine_module(model)
    assert (finding.code, finding.severity) == ("no-gradient", "warning")
    assert (finding.measured["parameters"], finding.measured["id"]) == (["source.weight"], index)
    assert f"padding_idx = {index} in source" in finding.message
    assert f"padding_idx={PAD}" in finding.fix
    source = torch.tensor([[index, WORD + 1, EOS]])
    model(source, torch.tensor([[BOS, WORD]])).logsumexp(-1).sum().backward()
    gradient = model.source.weight.grad
    assert gradient is not None
    assert not gradient[index].any(), "the finding is true"
    assert gradient[WORD + 1].any()


def test_all_embeddings_are_named_and_parameters_are_not_needed() -> None:
    torch.manual_seed(1)
    model = Padded(source=WORD, target=WORD).eval()
    (finding,) = [each for each in examine(lambda *ids: model(*ids), **IDS) if each.code == "no-gradient"]
    assert finding.measured["parameters"] == ["source.weight", "target.weight"]


@pytest.mark.parametrize("options", [{}, {"source": None, "target": None}, {"positions": 3}, {"positions": 0}])
def test_padding_without_an_index_and_other_tables_are_correct(options: dict[str, int | None]) -> None:
    torch.manual_seed(1)
    assert not examine_module(Padded(**options))


def test_frozen_and_own_embeddings_are_correct() -> None:
    torch.manual_seed(1)
    frozen, own = Padded(source=WORD), Padded()
    frozen.source.requires_grad_(False)
    own.source = OwnLookup(SIZE, 32, padding_idx=WORD)
    assert not examine_module(frozen)
    assert not examine_module(own)
