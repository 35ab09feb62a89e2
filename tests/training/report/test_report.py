"""The report shows everything in the metrics, escapes all text, and is self-contained."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from metric_lines import (
    FACTS,
    FINISHED_RUN,
    RECIPE,
    SIGNATURES,
    STEPS,
    Elements,
    analyzed_line,
    comparison_line,
    event_line,
    sample,
    scores_line,
    train_line,
    validation_line,
)

from dragoman.settings import Distillation
from dragoman.training.report.report import render_report

HOSTILE = "</dd><script>alert(1)</script><img src=x onerror=alert(2)>"


def render(metrics: Sequence[dict[str, Any]]) -> Elements:
    return Elements(render_report(RECIPE, FACTS, metrics))


# ---- the page as a whole


def test_hostile_text_is_escaped() -> None:
    hostile = {"source": HOSTILE, "reference": HOSTILE, "translation": HOSTILE}
    lines = [validation_line(step, samples=[hostile], bleu_signature=HOSTILE) for step in (100, 200)]
    lines += [event_line(HOSTILE), scores_line(HOSTILE, samples=[hostile], decoding=HOSTILE)]
    page = Elements(render_report(RECIPE, [(HOSTILE, HOSTILE)], [*lines, analyzed_line("b", HOSTILE)]))
    assert page.count("script") == page.count("img") == 0
    assert page.text.count(HOSTILE) >= 10


def test_page_is_self_contained_and_small() -> None:
    noise = random.Random(1).random
    long_run = [
        train_line(step, loss=noise(), padding=noise(), gradient_norm=noise(), tokens_per_second=noise())
        for step in range(1001, 7001)
    ]
    page = render_report(RECIPE, FACTS, [*FINISHED_RUN, *long_run])
    addresses = re.findall(r"""(?:src|href|action)\s*=\s*["']?([^"'\s>]*)|url\(([^)]*)\)""", page)
    assert all(address.startswith("#") for pair in addresses for address in pair if address)
    assert "@import" not in page
    assert {tag for tag, _ in Elements(page).elements}.isdisjoint({"script", "link", "iframe", "object", "embed"})
    assert len(page.encode()) < 300_000


def test_ids_are_unique_and_references_resolve() -> None:
    page = render_report(RECIPE, FACTS, FINISHED_RUN)
    identifiers = re.findall(r'\bid="([^"]*)"', page)
    assert len(identifiers) == len(set(identifiers))
    assert set(re.findall(r'(?:href="|url\()#([^")]*)', page)) <= set(identifiers)


def test_texts_have_a_language_and_a_direction() -> None:
    page = render([scores_line("captions:test")])
    languages = [
        (attributes["lang"], attributes["dir"])
        for tag, attributes in page.elements
        if tag == "dd" and "lang" in attributes
    ]
    assert languages == [("de", "auto"), ("ar", "auto"), ("ar", "auto")]


def test_directions_without_scores_are_named() -> None:
    directions = (("de", "en"), ("en", "de"), ("de", "hsb"))
    recipe = RECIPE.model_copy(update={"data": RECIPE.data.model_copy(update={"directions": directions})})
    scores = {"sentences": 500, "bleu": 30.0, "chrf": 55.0, "loss": 1.5, "wrong_language": 0.0}
    page = Elements(render_report(recipe, FACTS, [validation_line(100, directions={"de-en": scores, "en-de": scores})]))
    assert "de-hsbtrained, without validation text" in page.text
    for name in ("en-hsb", "hsb-de", "hsb-en"):
        assert f"{name}zero-shot: not trained" in page.text
    assert page.text.count("zero-shot") == 3


def test_the_texts_of_each_direction_are_in_its_languages() -> None:
    directions = (("de", "ar"), ("ar", "de"), ("de", "hsb"))
    recipe = RECIPE.model_copy(update={"data": RECIPE.data.model_copy(update={"directions": directions})})
    lines = [
        validation_line(
            step, samples=[sample(f"{name} at {step}") | {"direction": name} for name in ("de-ar", "ar-de", "de-hsb")]
        )
        for step in (100, 200)
    ]
    test = analyzed_line("ar-de, test") | {"samples": [sample("a test") | {"direction": "ar-de"}]}
    page = Elements(render_report(recipe, FACTS, [*lines, test]))
    stated = [attributes["lang"] for tag, attributes in page.elements if tag == "dd" and "lang" in attributes]
    assert stated[:3] == ["ar", "de", "de"], "the sample of the test"
    assert stated[3:9] == ["ar", "de", "de"] * 2, "the best and the worst translation of the test"
    assert stated[9:18] == ["ar"] * 3 + ["de"] * 3 + ["hsb"] * 3, "the same source in different directions"
    assert "3 directions" in page.text
    assert "Source, ar-de" in page.text
    validated = Elements(render_report(recipe, FACTS, lines))
    stated = [attributes["lang"] for tag, attributes in validated.elements if tag == "dd" and "lang" in attributes]
    assert stated[:9] == ["de", "ar", "ar", "ar", "de", "de", "de", "hsb", "hsb"]
    assert "Source, de-hsb" in validated.text


@pytest.mark.parametrize(
    ("metrics", "charts", "rows"),
    [
        ([], 0, 0),
        ([event_line("nothing yet")], 0, 2),
        ([train_line(50)], 5, 0),
        ([train_line(50), train_line(100)], 5, 0),
        ([validation_line(50)], 3, 2),
        ([validation_line(50, samples=[])], 3, 2),
        ([scores_line("captions:test")], 0, 0),
        (FINISHED_RUN, 7, 13),
    ],
)
def test_metrics_may_be_incomplete(metrics: list[dict[str, Any]], charts: int, rows: int) -> None:
    page = render(metrics)
    assert (page.count("svg"), page.count("tr")) == (charts, rows)
    assert "little-run" in page.text
    assert "7,612,416" in page.text
    assert "learning_rate = 0.001" in page.text, "the recipe is included"


ODD: list[dict[str, Any]] = [
    {},
    {"kind": ["train"]},
    {"kind": "note", "step": 3},
    {"kind": "train"},
    *({**line, "step": step} for line in FINISHED_RUN[:2] for step in (None, "ten", True, -1, 10**400)),
    *({**line, "seconds": seconds} for line in FINISHED_RUN[:2] for seconds in ("1", float("nan"), float("inf"))),
    validation_line(100, samples=[{"source": "x"}]),
    validation_line(100, samples="x"),
    validation_line(100, samples=[sample("x") | {"direction": "\ud800"}]),
    validation_line(100, bleu="high"),
    event_line("\ud800"),
    {"kind": "event", "step": 1, "seconds": 1.0},
    scores_line("x", best=7),
    comparison_line("x", 1.0, float("nan"), old_text=True),
    comparison_line("x", 1.0, 2.0, old_text=True) | {"before": {"bleu": 1.0}},
]


def test_odd_lines_change_nothing() -> None:
    page = render_report(RECIPE, FACTS, FINISHED_RUN)
    if render_report(RECIPE, FACTS, [*FINISHED_RUN, *ODD]) != page:
        changing = [odd for odd in ODD if render_report(RECIPE, FACTS, [*FINISHED_RUN, odd]) != page]
        pytest.fail(f"these lines change the page: {changing}")


def test_odd_values_are_not_drawn() -> None:
    values: list[object] = ["fast", None, 10**400, True]
    odd = [train_line(100 + number) | {"loss": value, "speed": value} for number, value in enumerate(values)]
    assert render([*odd, train_line(200)]).count("svg") == render([train_line(200)]).count("svg")


def test_steps_repeated_after_a_resume_replace_the_first_attempt() -> None:
    uninterrupted = [line for step in STEPS for line in (train_line(step), validation_line(step))]
    crashed = [train_line(step, loss=9.9) if step > 400 else train_line(step) for step in STEPS if step < 700]
    crashed += [
        validation_line(step, bleu=0.1) if step > 400 else validation_line(step) for step in STEPS if step < 700
    ]
    resumed = crashed + [line for line in uninterrupted if line["step"] > 400]
    assert render_report(RECIPE, FACTS, resumed) == render_report(RECIPE, FACTS, uninterrupted)


# ---- verdict and usage


def test_the_verdict_comes_first() -> None:
    page = render([*FINISHED_RUN, scores_line("captions:test", bleu=0.1, chrf=9.0, problems=["all are empty"])])
    assert page.text.index("Useless on captions:test") < page.text.index("All are empty.") < page.text.index("Test: ")
    assert "Good on captions:test" in render(FINISHED_RUN).text
    assert "Useless on the validation text, at step 100" in render([validation_line(100, bleu=0.0, chrf=5.0)]).text
    assert "No verdict yet" in render([train_line(50)]).text


@pytest.mark.parametrize("validation", [(), ("people.tsv",)])
def test_translations_by_a_teacher_are_not_called_references(validation: tuple[str, ...]) -> None:
    data = RECIPE.data.model_copy(update={"validation": validation})
    update = {"distillation": Distillation(translated_by="the language model m"), "data": data}
    student, sample = RECIPE.model_copy(update=update), {"source": "a", "reference": "b", "translation": "b"}
    page = render_report(student, FACTS, [validation_line(100, samples=[sample])])
    assert ("Translation by the teacher" in page) == ("which the teacher has translated" in page) == (not validation)
    assert ("<dt>Reference</dt>" in page) == ("identical to the reference" in page) == bool(validation)


def test_the_verdict_mentions_too_little_training() -> None:
    assert "still falling" in render([validation_line(step, loss=1 + 100 / step) for step in STEPS]).text
    assert "still falling" not in render(FINISHED_RUN).text


def test_only_a_finished_run_shows_how_to_use_its_model(tmp_path: Path) -> None:
    assert "How to use this model" not in render(FINISHED_RUN).text
    page = Elements(render_report(RECIPE, FACTS, FINISHED_RUN, tmp_path))
    assert f"dragoman translate {tmp_path} 'Ein Hund läuft.'" in page.text
    assert f"dragoman.load('{tmp_path}')" in page.text


def test_teacher_forced_bleu_of_older_runs_is_not_shown() -> None:
    older = [validation_line(step, teacher_forced_bleu=77.0) for step in STEPS]
    assert "Teacher-forced token BLEU" not in render(older).text
    training = RECIPE.training.model_copy(update={"teacher_forced_bleu": True})
    enabled = RECIPE.model_copy(update={"training": training})
    assert "Teacher-forced token BLEU" in render_report(enabled, FACTS, older)


# ---- scores and translations


def test_every_validation_is_listed_and_the_last_best_one_is_marked() -> None:
    page = render([validation_line(step, bleu=step / 30, best=step < 900) for step in STEPS])
    for step in STEPS:
        assert f"{step:,}{step / 30:.1f}52.1" in page.text.replace("\n", "").replace(" ", "")
    assert [attributes.get("class") for tag, attributes in page.elements if tag == "tr"].index("best") == 8
    assert "Best validation, at step 800" in page.text


def test_test_scores_replace_validation_scores() -> None:
    lines = [scores_line("multi30k:test_2016_flickr", bleu=12.3), scores_line("captions:test", bleu=98.7)]
    page = render([*FINISHED_RUN, *lines])
    assert "Best validation" not in page.text
    for shown in ("multi30k:test_2016_flickr", "12.3", "98.7", "1,000 sentences; beam 5", SIGNATURES["bleu_signature"]):
        assert shown in page.text
    assert page.text.count("Test: captions:test") == 1, "a repeated test replaces its first scores"


def test_scores_before_and_after_are_in_one_table() -> None:
    lines = [
        comparison_line("my/test.de", 41.25, 63.5, old_text=False),
        comparison_line("news", 55.0, 54.0, old_text=True),
    ]
    page = render([*FINISHED_RUN, comparison_line("news", 9.0, 8.0, old_text=True), *lines])
    for shown in ("my/test.de", "41.2", "63.5", "news (old text)", "54.0"):
        assert shown in page.text
    assert page.text.count("news (old text)") == 1, "a repeated comparison replaces the first one"
    assert "Before and after" not in render(FINISHED_RUN).text


def test_translations_during_training_include_the_first_and_the_last_validation() -> None:
    page = render([validation_line(step, samples=[sample(f"after {step}")]) for step in range(100, 3001, 100)])
    _, *steps = re.findall(r"after (\d+)", page.text)  # the first one is in the sample translations
    assert steps == sorted(steps, key=int)
    assert (steps[0], steps[-1]) == ("100", "3000")
    assert len(steps) == 8


def test_the_error_analysis_of_a_test_is_shown() -> None:
    page = render([*FINISHED_RUN, analyzed_line("multi30k:test")])
    for shown in ("98.7", "12.3", "1 to 5", "1,234", "1,000 or more", "Best and worst", "Cross-attention"):
        assert shown in page.text
    weights = [attributes["style"] for tag, attributes in page.elements if "style" in attributes and tag == "td"]
    assert weights == ["--weight: 91%", "--weight: 9%", "--weight: 45%", "--weight: 55%"]
    assert "Cross-attention" not in render(FINISHED_RUN).text, "older runs have no error analysis"
