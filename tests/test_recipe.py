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
from dragoman.settings import CorpusFile, Data, Decoding, FilePair, Model, Recipe, Specials, Text, Training

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
    language = st.from_regex(r"[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*", fullmatch=True)
    column = st.one_of(st.integers(1, 1000), st.text(min_size=1))
    corpora = st.one_of(
        st.text(),
        st.builds(FilePair, source=st.text(), target=st.text()),
        st.builds(
            CorpusFile,
            file=st.text(),
            encoding=st.one_of(st.none(), st.text(min_size=1)),
            delimiter=st.sampled_from([None, ",", "\t"]),
            columns=st.one_of(st.none(), st.tuples(column, column)),
            header=st.sampled_from([None, True, False]),
        ),
    )
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
        name=draw(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}", fullmatch=True)),
        data=Data(
            source_language=draw(language),
            target_language=draw(language),
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
        ("text.specials.unk=a=b", "text.specials.unk", "a=b"),
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no key, not even name"),
        (b"PK\x03\x04\x14\x00\x08\xff", "not UTF-8"),
        (b"two words\n", "line 1: "),
        (b"a = " + b"[" * 100_000, "nested too deeply"),
        (b"a = " + b"9" * 10_000, "digits"),
        (b"#" * 10_000_001, r"larger than 10,000,000 bytes"),
    ],
    ids=["empty", "zip", "text", "nested", "number", "large"],
)
def test_other_files_are_no_recipes(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(UserError, match=rf"x[: ].*{message}.*; expected a recipe, which is a TOML file"):
        load_recipe(tmp_path / "x")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("name=\ud800", r"name: '\\ud800' is not valid Unicode text"),
        ("\udcff=1", r"the key '\\udcff' is not valid Unicode text"),
        ("data.train=['\ud800']", r"data\.train\.0: '\\ud800' is not valid"),
        ("data.train=" + "[" * 50 + "]" * 50, "nested too deeply"),
        ("data.train=" + "[" * 5000 + "]" * 5000, r"data\.train = "),
        ("a." * 5000 + "b=1", "nested too deeply"),
        ("model.d_model=0x" + "f" * 5000, r"model\.d_model: the number is too large"),
        ("model.d_model=" + "9" * 5000, r"model\.d_model = "),
    ],
    ids=["surrogate", "key", "list", "brackets", "more brackets", "sections", "hexadecimal", "decimal"],
)
def test_text_that_no_recipe_can_contain_is_rejected(override: str, message: str, minimal: Path) -> None:
    with pytest.raises(UserError, match=message):
        load_recipe(minimal, [override])


@pytest.mark.parametrize("document", [{"name": "\ud800"}, {5: 1}, {"model": {(1,): 2}}], ids=str)
def test_documents_that_are_no_plain_data_are_rejected(document: Any) -> None:
    with pytest.raises(UserError, match="is not valid Unicode text"):
        build_recipe(document)


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
