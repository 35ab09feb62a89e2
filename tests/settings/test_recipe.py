"""Recipes survive a round trip, overrides are applied, and all problems are reported together."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import NoneType
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dragoman.errors import UserError
from dragoman.recipe import build_recipe, load_recipe, save_recipe
from dragoman.settings import Data, Decoding, FilePair, Model, Recipe, Settings, Specials, Text, Training
from dragoman.settings.recipe_errors import field_at, section_at

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


def problems(text: str, *overrides: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recipe.toml"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UserError) as caught:
            load_recipe(path, overrides)
        return str(caught.value).replace(str(path), path.name)


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    """Recipes with values of every kind: nested, optional, listed, and text with quotes, backslashes and newlines."""
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
def test_a_saved_recipe_loads_unchanged(recipe: Recipe) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recipe.toml"
        save_recipe(recipe, path)
        assert load_recipe(path) == recipe
        assert os.listdir(folder) == ["recipe.toml"]


def optional_keys() -> list[tuple[str, str]]:
    """Section and key of every setting that may be None."""
    sections = {name: section for name in Recipe.model_fields if (section := section_at((name,)))}
    return [
        (name, key)
        for name, section in sections.items()
        for key, field in section.model_fields.items()
        if NoneType in get_args(field.annotation)
    ]


@pytest.mark.parametrize(("section", "key"), optional_keys())
def test_a_key_that_may_be_unset_is_unset_by_default(section: str, key: str) -> None:
    field = field_at((section, key))
    assert field is not None
    assert field.default is None, "TOML cannot say None, so leaving the key out must mean it"


def test_save_keeps_the_older_file_if_it_fails(minimal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_overrides_leave_the_document_alone() -> None:
    recipe = build_recipe(
        {"name": "a", "data": {"source_language": "de", "target_language": "en", "train": ["x"]}}, ["training.steps=1"]
    )
    document = recipe.to_dict()
    assert build_recipe(document, ["decoding.beam_size=8"]).decoding.beam_size == 8
    assert document == recipe.to_dict()


@pytest.mark.parametrize("budget", ["epochs", "steps", "minutes"])
def test_a_budget_replaces_the_budget_of_the_file(minimal: Path, budget: str) -> None:
    training = load_recipe(minimal, [f"training.{budget}=7"]).training
    assert {"epochs": training.epochs, "steps": training.steps, "minutes": training.minutes} == {
        "epochs": None,
        "steps": None,
        "minutes": None,
        budget: 7,
    }


def test_none_unsets_what_may_be_unset(minimal: Path) -> None:
    assert load_recipe(minimal, ["training.clip_norm=1.0", "training.clip_norm=none"]).training.clip_norm is None
    assert load_recipe(minimal, ["training.minutes=none"]).training.epochs == 3
    assert "exactly one of" in problems(MINIMAL, "training.epochs=none")


def test_two_budgets_on_the_command_line_conflict() -> None:
    assert "exactly one of epochs, steps and minutes" in problems(MINIMAL, "training.steps=4", "training.minutes=2")


@pytest.mark.parametrize("override", ["beam_size", "=4", "model.=4", ".heads=4", "name.first=x"])
def test_malformed_overrides_are_reported(override: str) -> None:
    assert f"--set {override}:" in problems(MINIMAL, override)


def test_all_problems_are_reported_together() -> None:
    """Unknown keys, invalid values, and rules within and between sections that have other problems."""
    text = problems(
        """
        [data]
        source_language = "de"
        target_language = "en"
        train = ["a", 5]
        max_tokens = 600
        [text]
        joint = false
        specials = {unk = "<s>", pda = "x"}
        [model]
        head = 4
        d_model = 250
        dropout = 1.5
        norm = "mid"
        [training]
        learning_rate = "fast"
        betas = [0.9, 1.0]
        [decoding]
        n_best = 9
        top_k = 0
        """,
        "model.d_ff",
    )
    head, *lines = text.splitlines()
    assert head == f"recipe.toml: {len(lines)} problems"
    expected = {
        "--set model.d_ff:": "SECTION.KEY=VALUE",
        "name:": "missing",
        "data.train[1] = 5:": "a text or a table",
        "text.specials.pda:": "did you mean 'pad'",
        "text.specials:": "spelled differently",
        "model.head:": "did you mean 'heads'",
        "model.dropout = 1.5:": ">= 0 and < 1",
        'model.norm = "mid":': "one of 'pre', 'post'",
        "model:": "d_model = 250 is not divisible by heads = 8",
        'training.learning_rate = "fast":': "a number > 0 and <= 1,000",
        "training.betas[1] = 1.0:": "a number >= 0 and < 1",
        "training:": "exactly one of",
        "decoding.top_k = 0:": "a whole number >= 1 and <= 1,000,000",
        "decoding:": "n_best = 9",
        "model.tie = 'all'": "text.joint",
        "data.max_tokens = 600": "model.max_length = 512",
    }
    for start, part in expected.items():
        (line,) = (line for line in lines if line.startswith(f"  {start}"))
        assert part in line
    assert len(lines) == len(expected)


def test_rules_ignore_invalid_values() -> None:
    text = problems(MINIMAL + '[model]\nheads = "three"\nd_model = 250')
    assert "heads" in text
    assert "divisible" not in text


def test_a_missing_section_is_reported_key_by_key() -> None:
    lines = problems('name = "small"').splitlines()[1:]
    assert [line.partition(":")[0].strip() for line in lines] == [
        "data.source_language",
        "data.target_language",
        "data.train",
        "training",
    ]
    assert "exactly one of epochs" in lines[-1]
    assert "data = 3: must be a section" in problems("data = 3")


def test_one_problem_takes_one_line() -> None:
    assert (
        problems(MINIMAL, "model.heads=0") == "recipe.toml: model.heads = 0: must be a whole number >= 1 and <= 4,096"
    )


@pytest.mark.parametrize("value", ['"256"', "true", "256.0", "nan", "[256]", "{}", "2024-01-01"])
def test_types_are_not_converted(value: str) -> None:
    assert "must be a whole number" in problems(MINIMAL, f"model.d_model={value}")


def test_a_key_in_the_wrong_section_is_explained() -> None:
    assert "did you mean 'decoding.beam_size'?" in problems(MINIMAL, "beam_size=3")
    assert "did you mean 'model.dropout'?" in problems(MINIMAL, "training.dropout=0.3")
    assert "allowed: unk, pad, bos, eos" in problems(MINIMAL, "text.specials.zzzz=x")


@pytest.mark.parametrize(
    ("section", "values"),
    [
        (Model, {"d_model": 10, "heads": 3}),
        (Training, {}),
        (Training, {"steps": 1, "epochs": 1}),
        (Decoding, {"top_k": 1}),
    ],
)
def test_rules_apply_in_python_too(section: type[Settings], values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        section(**values)


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


def test_a_byte_order_mark_is_allowed(minimal: Path) -> None:
    minimal.write_text(MINIMAL, encoding="utf-8-sig")
    assert load_recipe(minimal).name == "small"


def test_a_missing_recipe_names_the_nearest(minimal: Path) -> None:
    with pytest.raises(UserError, match="no such recipe; did you mean 'recipe'"):
        load_recipe(minimal.with_name("recipes.toml"))
    with pytest.raises(UserError, match="no such recipe; did you mean 'quickstart'"):
        load_recipe(Path("quikstart"))
    with pytest.raises(UserError, match="cannot be read"):
        load_recipe(minimal.parent)


def test_a_bare_name_finds_the_recipe_that_comes_with_dragoman(minimal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(minimal.parent)
    assert load_recipe(Path("quickstart")) == load_recipe(Path("quickstart.toml"))
    minimal.rename("quickstart.toml")
    assert load_recipe(Path("quickstart.toml")).name == "small"
