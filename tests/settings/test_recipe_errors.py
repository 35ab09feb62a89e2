"""Error messages for recipes: every problem is reported, on one line, with the key and what is allowed."""

from __future__ import annotations

import tomllib

import pytest

from dragoman.errors import UserError
from dragoman.recipe import build_recipe

MINIMAL = """\
name = "small"
[data]
source_language = "de"
target_language = "en"
train = ["my/train.{lang}"]
[training]
epochs = 3
"""


def problems(text: str, *overrides: str) -> str:
    """The error message for a recipe with this text and these overrides."""
    with pytest.raises(UserError) as error:
        build_recipe(tomllib.loads(text), overrides, origin="recipe.toml")
    return str(error.value)


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
        "data.train[1] = 5:": "a string or a table",
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


def test_single_problem_is_reported_on_one_line() -> None:
    assert (
        problems(MINIMAL, "model.heads=0") == "recipe.toml: model.heads = 0: must be a whole number >= 1 and <= 4,096"
    )


def test_missing_section_is_reported_key_by_key() -> None:
    lines = problems('name = "small"').splitlines()[1:]
    assert [line.partition(":")[0].strip() for line in lines] == [
        "data.source_language",
        "data.target_language",
        "data.train",
        "training",
    ]
    assert "exactly one of epochs" in lines[-1]
    assert "data = 3: must be a section" in problems("data = 3")


def test_rules_ignore_invalid_values() -> None:
    text = problems(MINIMAL + '[model]\nheads = "three"\nd_model = 250')
    assert "heads" in text
    assert "divisible" not in text


@pytest.mark.parametrize("value", ['"256"', "true", "256.0", "nan", "[256]", "{}", "2024-01-01"])
def test_types_are_not_converted(value: str) -> None:
    assert "must be a whole number" in problems(MINIMAL, f"model.d_model={value}")


def test_key_in_the_wrong_section_is_reported_with_the_right_one() -> None:
    assert "did you mean 'decoding.beam_size'?" in problems(MINIMAL, "beam_size=3")
    assert "did you mean 'model.dropout'?" in problems(MINIMAL, "training.dropout=0.3")


def test_unknown_key_without_similar_ones_is_reported_with_all_keys() -> None:
    assert "allowed: unk, pad, bos, eos" in problems(MINIMAL, "text.specials.zzzz=x")


@pytest.mark.parametrize("override", ["beam_size", "=4", "model.=4", ".heads=4", "name.first=x"])
def test_malformed_overrides_are_reported(override: str) -> None:
    assert f"--set {override}:" in problems(MINIMAL, override)


@pytest.mark.parametrize("overrides", [["training.steps=4", "training.minutes=2"], ["training.epochs=none"]], ids=str)
def test_exactly_one_budget_is_required(overrides: list[str]) -> None:
    assert "exactly one of epochs, steps and minutes" in problems(MINIMAL, *overrides)


@pytest.mark.parametrize("code", ['""', '" "', r'"\u0000\n"', '"../de"', "1979-05-27", '"de,en"'])
def test_a_language_must_be_a_code(code: str) -> None:
    assert "data.source_language = " in problems(MINIMAL.replace('"de"', code))


@pytest.mark.parametrize("code", ["de", "pt-BR", "zh_Hant", "srp_Latn", "sr-Latn-RS", "es-419"])
def test_language_codes_may_have_several_parts(code: str) -> None:
    recipe = build_recipe(tomllib.loads(MINIMAL.replace('"de"', f'"{code}"')), origin="recipe.toml")
    assert recipe.data.source_language == code
