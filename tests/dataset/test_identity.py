"""Which settings and files decide which parts of a prepared corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from preparation import contents, kinds, prepare_dataset, prepare_small, treat_as_large

if TYPE_CHECKING:
    from conftest import RecipeMaker

TERMS = "text.placeholders=true text.terms=true training.augmentation.terms=0.1"


@pytest.mark.parametrize(
    ("override", "built"),
    [
        ("data.max_characters=45", {"pairs", "split", "tokenizers"}),
        ("data.validation=[]", {"pairs", "split", "tokenizers"}),
        ("text.vocabulary_size=300", {"pairs", "tokenizers"}),
        ("text.tokenizer=unigram", {"pairs", "tokenizers"}),
        ("data.max_tokens=14", {"pairs"}),
        ("training.augmentation.upper_case=0.1", {"pairs", "tokenizers"}),
        ("training.augmentation.typos=0.1", set()),
        ("training.augmentation.single_words=0.1", {"dictionary"}),
        (TERMS, {"pairs", "tokenizers", "lexicon"}),
        ("training.learning_rate=0.5", set()),
        ("training.seed=7", set()),
    ],
)
def test_a_changed_setting_builds_what_depends_on_it(
    override: str, built: set[str], make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = treat_as_large(monkeypatch, tmp_path)
    prepare_dataset(make_recipe())
    before = set(home.iterdir())
    changed = prepare_dataset(make_recipe(*override.split()))
    assert {path.name.split("-")[0] for path in set(home.iterdir()) - before if path.is_dir()} == built
    assert contents(changed) == contents(prepare_small(make_recipe(*override.split()), monkeypatch))


def test_the_seed_matters_if_pairs_are_held_out(
    make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = treat_as_large(monkeypatch, tmp_path)
    first, second = (prepare_dataset(make_recipe("data.validation=[]", f"training.seed={seed}")) for seed in (1, 2))
    assert first.validation != second.validation
    assert kinds(home).count("split") == 2


def test_a_changed_file_is_prepared_again(
    make_recipe: RecipeMaker, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = treat_as_large(monkeypatch, tmp_path / "cache")
    for language in ("de", "en"):
        (tmp_path / f"own.{language}").write_bytes((corpus / f"train.{language}").read_bytes())
    recipe = make_recipe(f'data.train=["{tmp_path}/own.{{lang}}"]')
    before = contents(prepare_dataset(recipe))
    path = tmp_path / "own.de"
    path.write_text(path.read_text("utf-8").replace("e", "a", 1), "utf-8")  # of the same size
    after = contents(prepare_dataset(recipe))
    assert after != before
    assert after == contents(prepare_small(recipe, monkeypatch))
    assert kinds(home).count("split") == 2
