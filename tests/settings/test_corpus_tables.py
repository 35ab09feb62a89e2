"""Tables that describe corpora: weights next to the files, options of their formats, and errors that name the key."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.errors import UserError
from dragoman.recipe import build_recipe
from dragoman.settings import CorpusFile, CorpusReference, Data, FilePair, Recipe, WeightedCorpus

FILES = {"source": "a.txt", "target": "b.txt"}
TABLE = {"file": "a.csv"}


def recipe_of(train: Any = "a.{lang}", **data: Any) -> Recipe:
    data = {"source_language": "de", "target_language": "en", "train": [train], **data}
    return build_recipe({"name": "x", "data": data, "training": {"steps": 1}})


@pytest.mark.parametrize(
    ("table", "corpus"),
    [
        (FILES, FilePair(source="a.txt", target="b.txt")),
        ({**FILES, "encoding": "cp1252"}, FilePair(source="a.txt", target="b.txt", encoding="cp1252")),
        ({**TABLE, "delimiter": ";", "quotes": False}, CorpusFile(file="a.csv", delimiter=";", quotes=False)),
        ({**TABLE, "columns": [2, "en"], "header": True}, CorpusFile(file="a.csv", columns=(2, "en"), header=True)),
        ({"file": "a.{lang}", "encoding": "utf-16"}, CorpusFile(file="a.{lang}", encoding="utf-16")),
    ],
)
@pytest.mark.parametrize("options", [{"weight": 2.0}, {"tagged": True}, {"weight": 0.5, "tagged": True}])
def test_weight_and_tag_may_be_in_the_table_of_the_files(
    table: dict[str, Any], corpus: CorpusReference, options: dict[str, Any]
) -> None:
    expected = WeightedCorpus(corpus=corpus, **options)
    recipe = recipe_of({**table, **options})
    assert recipe.data.train == (expected,)
    assert recipe_of({"corpus": table, **options}).data.train == (expected,)
    assert build_recipe(recipe.to_dict()) == recipe
    assert Data(source_language="de", target_language="en", train=({**table, **options},)).train == (expected,)
    assert recipe_of(table).data.weighted == [WeightedCorpus(corpus=corpus)]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({**FILES, "weight": 0}, "data.train[0].weight = 0: must be a number >= 0.001 and <= 1,000"),
        ({**FILES, "weight": "much"}, 'data.train[0].weight = "much": must be a number'),
        ({**FILES, "tagged": 1}, "data.train[0].tagged = 1: must be true or false"),
        ({**FILES, "wieght": 2}, "data.train[0].wieght: unknown key; did you mean 'weight'?"),
        ({**FILES, "weight": 2, "encodin": "cp1252"}, "data.train[0].encodin: unknown key; did you mean 'encoding'?"),
        (
            {**FILES, "delimiter": ";"},
            "data.train[0].delimiter: unknown key; allowed: source, target, encoding, languages, weight",
        ),
        ({"source": "a.txt"}, "data.train[0].target: missing; must be a string"),
        ({"source": "a.txt", "weight": 2}, "data.train[0].target: missing; must be a string"),
        ({**TABLE, "weight": 2, "delimiter": "x"}, 'data.train[0].delimiter = "x": must be one of'),
        ({**TABLE, "columns": [0, 1]}, "data.train[0].columns[0] = 0: must be a whole number >= 1"),
        ({"corpus": TABLE, "weight": -1}, "data.train[0].weight = -1: must be a number"),
        ({"corpus": {"file": "a.csv", "header": 5}}, "data.train[0].corpus.header = 5: must be true or false"),
        ({"corpus": 5}, "data.train[0].corpus = 5: must be a string or a table of source and target"),
        ({"weight": 2}, "data.train[0].corpus: missing; must be a string or a table of source and target"),
        ({"weight": 2, "encoding": "x"}, "data.train[0].encoding: unknown key"),
        ({}, "data.train[0] = {}: must be a string or a table of source and target"),
        (5, "data.train[0] = 5: must be a string or a table of source and target"),
    ],
)
def test_errors_name_the_key(entry: Any, problem: str) -> None:
    with pytest.raises(UserError) as refused:
        recipe_of(entry)
    assert problem in str(refused.value)


@pytest.mark.parametrize("section", ["validation", "test"])
def test_corpora_that_are_not_trained_on_have_no_weight(section: str) -> None:
    with pytest.raises(UserError) as refused:
        recipe_of(**{section: [{**FILES, "weight": 2}]})
    assert f"data.{section}[0].weight: unknown key; allowed: source, target, encoding" in str(refused.value)
    assert "weight," not in str(refused.value)
