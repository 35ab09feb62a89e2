"""Greedy search and a beam of 1 have no findings, and each mistake in a search leads to its code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from correct_models import BOS, EOS, IDS, PAD, TorchModel
from torch import Tensor

from dragoman.doctor import examine_search
from dragoman.errors import UserError

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")
MAX_LENGTH = 12


def make_model() -> TorchModel:
    torch.manual_seed(1)
    return TorchModel().eval()


@torch.no_grad()
def search(
    model: TorchModel, source: Tensor, *, start: int = BOS, place: int = -1, stop: bool = True, sees: int = 100
) -> list[list[int]]:
    """Greedy search for a batch; keyword arguments plant a mistake."""
    target = torch.full((len(source), 1), start)
    for _ in range(MAX_LENGTH):
        logits = model(source, target[:, -sees:])
        chosen = logits[:, max(place, -logits.shape[1])].argmax(dim=-1)
        target = torch.cat([target, chosen[:, None]], dim=1)
    rows = target[:, 1:].tolist()
    return [row[: row.index(EOS) + 1] if stop and EOS in row else row for row in rows]


def shortened(rows: list[list[int]]) -> list[list[int]]:
    """The translations of a search that stops when the first sentence of a batch has ended."""
    shortest = min(len(row) for row in rows)
    return [row[:shortest] for row in rows]


class NoPaddingMask(TorchModel):
    def is_hidden(self, source: Tensor) -> Tensor:
        return torch.zeros_like(source, dtype=torch.bool)


def as_tensor(model: TorchModel, source: Tensor) -> Tensor:
    return torch.tensor([[BOS, *row, *[PAD] * (MAX_LENGTH - len(row))] for row in search(model, source)])


RIGHT: dict[str, Callable[[TorchModel, Tensor], Any]] = {
    "lists": search,
    "tensor with bos and padding": as_tensor,
    "without eos": lambda model, source: [[token for token in row if token != EOS] for row in search(model, source)],
    "one sentence": lambda model, source: search(model, source.view(1, -1))[0],
    "list of ids": lambda model, ids: search(model, torch.tensor([[*ids]]))[0],
}

WRONG: dict[str, tuple[Callable[[TorchModel, Tensor], Any], str, str]] = {
    "starts with eos": (lambda m, s: search(m, s, start=EOS), "search-differs", "starts with eos"),
    "last but one": (lambda m, s: search(m, s, place=-2), "search-differs", "last position but one"),
    "cache forgets": (lambda m, s: search(m, s, sees=1), "search-differs", "the first token is right"),
    "does not stop": (lambda m, s: search(m, s, stop=False), "search-stop", "continues after eos"),
    "dropout": (lambda m, s: search(m.train(), s), "search-not-repeatable", "other translations"),
    "first eos": (lambda m, s: shortened(search(m, s)), "search-batch", "alone"),
    "batch": (lambda m, s: search(m, s[:1].expand_as(s)), "search-batch", "in a batch of others"),
}


@pytest.mark.parametrize("form", RIGHT)
def test_greedy_search_has_no_findings(form: str) -> None:
    model = make_model()
    findings = examine_search(lambda source: RIGHT[form](model, source), model, **IDS)
    assert all(finding.severity == "note" for finding in findings), findings
    assert ("called-as" in {finding.code for finding in findings}) == (form in ("one sentence", "list of ids"))


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_in_a_search_is_found_with_its_cause(mistake: str) -> None:
    translate, code, message = WRONG[mistake]
    model = make_model()
    (finding,) = examine_search(lambda source: translate(model, source), model, **IDS)
    assert (finding.code, finding.severity) == (code, "error")
    assert message in finding.message


def test_padding_that_changes_translations_is_found() -> None:
    torch.manual_seed(1)
    model = NoPaddingMask().eval()
    (finding,) = examine_search(lambda source: search(model, source), model, **IDS)
    assert finding.code == "search-batch"
    assert "padding after its source" in finding.message


def test_examining_leaves_the_model_as_it_is() -> None:
    model = make_model().train()
    examine_search(lambda source: search(model, source), model, **IDS)
    assert all(module.training for module in model.modules())
    assert not any(module._forward_hooks for module in model.modules())


@pytest.mark.parametrize(
    ("translate", "message"),
    [
        (lambda source: None, "the search fails for source ids"),
        (lambda source: [[1], [1]], "2 translations of 6 sources"),
        ("search", "expected a function"),
    ],
)
def test_what_is_no_search_is_refused(translate: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        examine_search(translate, make_model(), **IDS)
