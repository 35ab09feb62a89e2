"""Initial embeddings that are learned from the training text."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.training.loop.state import build_state


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("text.joint=false", "model.tie=target"),
        ("model.tie=none",),
        ("model.implementation=torch", "model.dropout=0"),
    ],
    ids=str,
)
def test_tokens_of_the_text_get_embeddings_and_all_else_is_as_usual(
    options: tuple[str, ...], make_trainer: Any
) -> None:
    def weights(embeddings: str) -> tuple[Any, dict[str, Tensor]]:
        trainer = make_trainer(*options, f"model.embedding_init={embeddings}", "training.steps=1")
        return trainer, {name: each.detach() for name, each in trainer.state.model.named_parameters()}

    trainer, usual = weights("normal")
    changed, learned = weights("cooccurrence")
    _, again = weights("cooccurrence")
    resumed = build_state(changed.recipe, changed.data, torch.device("cpu"), resumed=True).model
    assert all(torch.equal(each, usual[name]) for name, each in resumed.named_parameters()), "nothing is counted again"
    embeddings = [name for name in usual if name.endswith("embedding.weight")]
    for name in usual:
        assert torch.equal(learned[name], again[name])
        if name not in embeddings:
            assert torch.equal(learned[name], usual[name])
    stores = trainer.data.train.source, trainer.data.train.target
    shared = len(embeddings) == 1
    for name in embeddings:
        own = stores if shared else stores[:1] if name.startswith("source") else stores[1:]
        tokenizer = trainer.data.source if name.startswith("source") else trainer.data.target
        occurring = {int(each) for store in own for each in store.ids} - set(tokenizer.vocabulary.special_ids)
        changed = (learned[name] != usual[name]).any(dim=1).nonzero().flatten().tolist()
        assert set(changed) == occurring
        torch.testing.assert_close(learned[name].std(), usual[name].std(), rtol=0.2, atol=0)
