"""The nearest neighbors of a context in a corpus predict its next token."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from random_bundles import make_bundle, sentences
from torch import Tensor

import dragoman
from dragoman.bundle import Bundle
from dragoman.dataset.token_store import PairStore
from dragoman.engines import EngineRequest, choose
from dragoman.engines.nearest_neighbors import NEIGHBORS, RANGE, TEMPERATURE, NeighborIndex, open_index
from dragoman.engines.scoring import target_states
from dragoman.errors import UserError
from dragoman.text.id_store import IdStore
from dragoman.training.run.run import train

if TYPE_CHECKING:
    from conftest import Command, RecipeMaker

faiss = pytest.importorskip("faiss")

PAIRS = [("Ein Hund läuft.", "Three green birds sing"), ("Zwei Frauen lesen ein Buch.", "A red dog is old")]
"""No model was trained to translate so."""


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    """A corpus with translations that no model was trained for."""
    path = tmp_path / "wrong.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), "utf-8")
    return str(path)


def states_of(bundle: Bundle, pairs: list[tuple[str, str]]) -> tuple[Tensor, Tensor]:
    """What the decoder computes for pairs, and the tokens that follow."""
    sources, targets = (
        IdStore.of(tokenizer.encode([pair[side] for pair in pairs]))
        for side, tokenizer in enumerate((bundle.source, bundle.target))
    )
    batches = list(target_states(bundle.model, bundle, PairStore(sources, targets), np.arange(len(pairs))))
    return torch.cat([batch.states for batch in batches]), torch.cat([batch.tokens for batch in batches])


def make_index(states: Tensor, tokens: Tensor, spec: str = "Flat") -> NeighborIndex:
    contexts = faiss.index_factory(states.shape[1], f"IVF1,{spec}")
    contexts.train(states.numpy())
    contexts.add(states.numpy())
    return NeighborIndex(contexts, tokens, distance=3.0)


def test_mixed_probabilities_are_those_of_the_formula() -> None:
    generator = torch.Generator().manual_seed(1)
    states, tokens = torch.randn(200, 8, generator=generator), torch.randint(5, (200,), generator=generator)
    queries, logits = torch.randn(7, 8, generator=generator), torch.randn(7, 9, generator=generator)
    distances = torch.cdist(queries, states) ** 2
    expected = torch.zeros(7, 9)
    for row in range(7):
        nearest = distances[row].argsort()[:NEIGHBORS]
        votes = torch.softmax(-distances[row, nearest] / (TEMPERATURE * 3.0), dim=0)
        for token, vote in zip(tokens[nearest], votes, strict=True):
            expected[row, token] += vote
    share = 0.9 * torch.exp(distances.amin(dim=1, keepdim=True) / (-RANGE * 3.0))
    expected = (1 - share) * logits.softmax(dim=-1) + share * expected
    mixed = make_index(states, tokens).mix(logits, queries, 0.9).exp()
    torch.testing.assert_close(mixed, expected)
    torch.testing.assert_close(mixed.sum(dim=-1), torch.ones(7))


def test_distant_neighbors_change_nothing() -> None:
    generator = torch.Generator().manual_seed(1)
    states, tokens = torch.randn(200, 8, generator=generator), torch.randint(5, (200,), generator=generator)
    queries, logits = 20 + torch.randn(7, 8, generator=generator), torch.randn(7, 9, generator=generator)
    torch.testing.assert_close(make_index(states, tokens).mix(logits, queries, 0.99), logits.log_softmax(dim=-1))


def test_fewer_contexts_than_neighbors() -> None:
    states, tokens = torch.eye(3, 8), torch.tensor([0, 2, 2])
    mixed = make_index(states, tokens).mix(torch.zeros(3, 4), states, 0.5)
    torch.testing.assert_close(mixed.exp().sum(dim=-1), torch.ones(3))


def test_the_index_contains_what_the_decoder_computes(translator: dragoman.Translator, wrong: str) -> None:
    bundle = translator.bundle
    index = open_index(bundle, wrong)
    states, tokens = states_of(bundle, PAIRS)
    distances, found = index.find(states, 1)
    assert (distances[:, 0] < 0.1 * index.distance).all(), "numbers of 8 bits are nearly the same"
    assert torch.equal(index.tokens[found[:, 0]], tokens)


def test_a_corpus_decides_translations_without_training(finished_run: Path, wrong: str) -> None:
    translator = dragoman.load(finished_run, neighbors=wrong, neighbor_weight=0.99, beam_size=1)
    assert [each.text for each in translator(source for source, _ in PAIRS)] == [target for _, target in PAIRS]
    assert translator(PAIRS[0][0]).text == PAIRS[0][1]


def test_a_tiny_weight_changes_nothing(finished_run: Path, wrong: str) -> None:
    plain, weighted = dragoman.load(finished_run), dragoman.load(finished_run, neighbors=wrong, neighbor_weight=1e-9)
    for one, other in zip(plain(sentences()), weighted(sentences()), strict=True):
        assert one.text == other.text


def test_repeated_pairs_count_once(finished_run: Path, wrong: str) -> None:
    bundle = Bundle.load(finished_run)
    once = open_index(bundle, wrong)
    Path(wrong).write_text(3 * Path(wrong).read_text("utf-8"), "utf-8")
    again = open_index(bundle, wrong)
    assert again.distance == pytest.approx(once.distance)
    assert len(again.tokens) == len(once.tokens)


def test_the_mean_distance_hardly_depends_on_the_size_of_the_corpus(
    finished_run: Path, corpus: Path, tmp_path: Path
) -> None:
    bundle = Bundle.load(finished_run)
    for language in ("de", "en"):
        lines = (corpus / f"train.{language}").read_text("utf-8").splitlines(True)
        (tmp_path / f"few.{language}").write_text("".join(lines[:20]), "utf-8")
    many, few = (open_index(bundle, f"{path}.{{lang}}") for path in (corpus / "train", tmp_path / "few"))
    assert len(few.tokens) < 0.1 * len(many.tokens)
    assert few.distance == pytest.approx(many.distance, rel=0.2)


@pytest.mark.usefixtures("bare_runs")
def test_training_and_scoring_do_not_need_the_corpus(
    make_recipe: RecipeMaker, tmp_path: Path, corpus: Path, command: Command
) -> None:
    run = tmp_path / "run"
    assert train(make_recipe("training.steps=2", f"decoding.neighbors={tmp_path}/missing.tsv"), run)
    files = ("--source", corpus / "test.de", "--target", corpus / "test.en")
    assert command("score", run, *files).code == 0
    message = command("translate", run, "Hund").error
    assert "decoding.neighbors: " in message
    assert "missing.tsv: no such file" in message
    assert "without neighbors: --set decoding.neighbors=none" in message
    assert command("translate", run, "Hund", "--set", "decoding.neighbors=none").code == 0


def test_bundles_in_memory_and_ensembles_have_neighbors(wrong: str) -> None:
    bundles = [make_bundle(), make_bundle(model__heads=2)]
    decoding = {"neighbors": wrong, "neighbor_weight": 0.99, "beam_size": 1}
    for ensemble in ([], bundles[1:]):
        translator = dragoman.Translator(bundles[0], decoding, ensemble=ensemble)
        assert translator(PAIRS[1][0]).text == PAIRS[1][1]


def test_an_index_is_built_once_for_the_text(
    finished_run: Path, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = Bundle.load(finished_run)
    open_index(bundle, wrong)
    built = sorted((tmp_path / "cache").glob("dragoman/neighbors/index-*"))
    with monkeypatch.context() as patch:
        patch.setattr("dragoman.engines.nearest_neighbors._build", None)
        open_index(bundle, wrong)
    Path(wrong).write_text("Ein Hund läuft.\tAnother text\n", "utf-8")
    assert len(open_index(bundle, wrong).tokens) < 12
    assert len(built) == 1 < len(list((tmp_path / "cache").glob("dragoman/neighbors/index-*")))


def test_the_command_says_how_it_translated(finished_run: Path, corpus: Path, wrong: str, command: Command) -> None:
    files = ("--source", corpus / "test.de", "--reference", corpus / "test.en")
    outcome = command("evaluate", finished_run, *files, "--set", f"decoding.neighbors={wrong}")
    assert outcome.code == 0
    assert f"neighbors in {wrong} with weight 0.5; translated by" in outcome.out
    assert command(
        "translate", finished_run, "Hund", "--set", f"decoding.neighbors={wrong}", "--engine", "ctranslate2"
    ).error


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no such file"), ("Hund\t\n", "only empty lines")],
)
def test_errors_name_the_corpus(content: str | None, message: str, finished_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "text.tsv"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(UserError, match=f"{path.name}.*{message}"):
        dragoman.load(finished_run, neighbors=str(path))


def test_no_pair_becomes_an_example_of_copying(corpus: Path) -> None:
    """As some do in training, if the model has placeholders."""
    bundle = make_bundle("placeholders")
    index = open_index(bundle, f"{corpus}/train.{{lang}}")
    assert not set(index.tokens.tolist()) & set(bundle.target.reserved_ids)


def test_damaged_weights_are_refused(wrong: str) -> None:
    bundle = make_bundle()
    with torch.no_grad():
        next(bundle.model.parameters()).fill_(math.nan)
    with pytest.raises(UserError, match=r"values that are not finite"):
        open_index(bundle, wrong)


def test_large_corpora_are_refused(finished_run: Path, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.engines.nearest_neighbors.MAX_CONTEXTS", 10)
    with pytest.raises(UserError, match="more than 10 target tokens; choose a smaller corpus"):
        dragoman.load(finished_run, neighbors=wrong)


def test_the_package_is_named_if_it_is_missing(finished_run: Path, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.engines.nearest_neighbors.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"decoding\.neighbors needs the package faiss: pip install '\.\[neighbors\]'"):
        dragoman.load(finished_run, neighbors=wrong)


def test_engines_that_have_no_neighbors_say_so(finished_run: Path, wrong: str) -> None:
    bundle = Bundle.load(finished_run)
    decoding = bundle.recipe.decoding.model_copy(update={"neighbors": wrong})
    choice = choose(EngineRequest(bundle, decoding, path=finished_run / "bundle"))
    assert "decoding.neighbors" in choice.rejected["ctranslate2"]
    slow = decoding.model_copy(update={"cache": False})
    with pytest.raises(UserError, match=r"torch does not support decoding\.neighbors without decoding\.cache"):
        choose(EngineRequest(bundle, slow))
