"""Recipe files: round trips, overrides and errors of files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import UserError
from dragoman.recipe import build_recipe, load_recipe, save_recipe
from dragoman.settings import Data, Decoding, FilePair, Model, Recipe, Specials, Text, Training

MINIMAL = """\
name = "small"
[data]
source_language = "de"
target_language = "en"
train = ["my/train.{lang}"]
[training]
epochs = 3
"""


@pytest.fixture
def minimal(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text(MINIMAL, encoding="utf-8")
    return path


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    """Recipes with nested, optional and listed values, and strings with quotes, backslashes and newlines."""
    heads = draw(st.integers(1, 64))
    corpora = st.one_of(st.text(), st.builds(FilePair, source=st.text(), target=st.text()))
    positive = st.floats(min_value=0, max_value=1, exclude_min=True)
    probability = st.floats(0, 1, exclude_max=True)
    spellings = draw(st.lists(st.text(min_size=1), min_size=4, max_size=4, unique=True))
    budget = draw(
        st.one_of(
            st.fixed_dictionaries({"epochs": positive}),
            st.fixed_dictionaries({"steps": st.integers(1, 10**9)}),
            st.fixed_dictionaries({"minutes": positive}),
        )
    )
    return Recipe(
        name=draw(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]*", fullmatch=True)),
        data=Data(
            source_language=draw(st.text()),
            target_language=draw(st.text()),
            train=tuple(draw(st.lists(corpora, min_size=1, max_size=3))),
            test=tuple(draw(st.lists(corpora, max_size=2))),
            max_characters=draw(st.none() | st.integers(1, 10**6)),
        ),
        text=Text(
            joint=draw(st.booleans()), specials=Specials(**dict(zip(Specials.model_fields, spellings, strict=True)))
        ),
        model=Model(heads=heads, d_model=heads * 2 * draw(st.integers(1, 64)), tie="none", dropout=draw(probability)),
        training=Training(
            **budget,
            betas=(draw(probability), draw(probability)),
            epsilon=draw(positive),
            clip_norm=draw(st.none() | positive),
        ),
        decoding=Decoding(sampling=True, top_p=draw(st.none() | st.floats(0.1, 1))),
    )


@given(recipes())
def test_saved_recipe_loads_unchanged(recipe: Recipe) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recipe.toml"
        save_recipe(recipe, path)
        assert load_recipe(path) == recipe
        assert os.listdir(folder) == ["recipe.toml"]


def test_failed_save_keeps_the_existing_file(minimal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(descriptor: int) -> None:
        raise OSError("no space left")

    recipe = load_recipe(minimal)
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(UserError, match="no space left"):
        save_recipe(recipe, minimal)
    assert minimal.read_text(encoding="utf-8") == MINIMAL
    assert os.listdir(minimal.parent) == ["recipe.toml"]


@pytest.mark.parametrize(
    ("override", "place", "value"),
    [
        ("model.d_model=64", "model.d_model", 64),
        ("training.learning_rate = 3e-4", "training.learning_rate", 3e-4),
        ("text.lowercase=true", "text.lowercase", True),
        ("model.norm=post", "model.norm", "post"),
        ('model.norm="post"', "model.norm", "post"),
        ("text.specials.unk=[UNK]", "text.specials.unk", "[UNK]"),
        ("data.train=['a.tsv', 'b=c.tsv']", "data.train", ("a.tsv", "b=c.tsv")),
        ("data.source_language=a=b", "data.source_language", "a=b"),
        ("name=2024", "name", "2024"),
        ("model.tie=none", "model.tie", "none"),
    ],
)
def test_overrides_set_values(minimal: Path, override: str, place: str, value: object) -> None:
    found: Any = load_recipe(minimal, [override])
    for name in place.split("."):
        found = getattr(found, name)
    assert found == value


def test_overrides_do_not_change_the_document() -> None:
    recipe = build_recipe(
        {"name": "a", "data": {"source_language": "de", "target_language": "en", "train": ["x"]}}, ["training.steps=1"]
    )
    document = recipe.to_dict()
    assert build_recipe(document, ["decoding.beam_size=8"]).decoding.beam_size == 8
    assert document == recipe.to_dict()


@pytest.mark.parametrize("budget", ["epochs", "steps", "minutes"])
def test_budget_override_replaces_the_budget_of_the_file(minimal: Path, budget: str) -> None:
    training = load_recipe(minimal, [f"training.{budget}=7"]).training
    assert {"epochs": training.epochs, "steps": training.steps, "minutes": training.minutes} == {
        "epochs": None,
        "steps": None,
        "minutes": None,
        budget: 7,
    }


def test_none_unsets_optional_keys(minimal: Path) -> None:
    assert load_recipe(minimal, ["training.clip_norm=1.0", "training.clip_norm=none"]).training.clip_norm is None
    assert load_recipe(minimal, ["training.minutes=none"]).training.epochs == 3


def test_syntax_errors_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    for content, where in [
        (b'name = "a"\nheads 8\n', "line 2: "),
        (b'name = "a"\nname = "b"\n', "line 2: "),
        (b'name = "a"\nb = [', "end of document: "),
        (b'name = "a"\n# \xff\n', "line 2: not UTF-8"),
    ]:
        path.write_bytes(content)
        with pytest.raises(UserError) as caught:
            load_recipe(path)
        assert str(caught.value).startswith(f"{path} {where}")


def test_byte_order_mark_is_allowed(minimal: Path) -> None:
    minimal.write_text(MINIMAL, encoding="utf-8-sig")
    assert load_recipe(minimal).name == "small"


def test_missing_recipe_suggests_the_nearest_name(minimal: Path) -> None:
    with pytest.raises(UserError, match="no such recipe; did you mean 'recipe'"):
        load_recipe(minimal.with_name("recipes.toml"))
    with pytest.raises(UserError, match="no such recipe; did you mean 'quickstart'"):
        load_recipe(Path("quikstart"))


def test_directory_cannot_be_read_as_a_recipe(minimal: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        load_recipe(minimal.parent)


def test_name_without_a_file_loads_the_builtin_recipe(minimal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(minimal.parent)
    assert load_recipe(Path("quickstart")) == load_recipe(Path("quickstart.toml"))
    minimal.rename("quickstart.toml")
    assert load_recipe(Path("quickstart.toml")).name == "small"
