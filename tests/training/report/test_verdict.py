"""The verdict of the report: each way in which a model fails leads to words that say so."""

from __future__ import annotations

import math
from typing import Any

import pytest
from metric_lines import RECIPE, comparison_line, scores_line, validation_line

from dragoman.settings import Distillation
from dragoman.training.report.verdict import BANDS, judge_run, judge_scores, judge_text, judge_training

TRIVIAL = {"name": "the same sentence for every source", "bleu": 3.0, "chrf": 22.0}


def judge(**changes: Any) -> tuple[str, str]:
    verdict = judge_scores(scores_line("test", baseline=TRIVIAL, problems=[], **changes), "test")
    return verdict.word, " ".join(verdict.reasons)


def losses(*values: float) -> list[str]:
    validations = [validation_line(100 * number, loss=loss) for number, loss in enumerate(values, start=1)]
    return judge_training(validations, RECIPE.training)


@pytest.mark.parametrize(
    ("bleu", "chrf", "word"),
    [
        (0.01, 12.0, "useless"),
        (9.0, 25.0, "useless"),
        (15.0, 33.0, "weak"),
        (25.0, 45.0, "usable"),
        (41.0, 60.0, "good"),
    ],
)
def test_the_word_follows_from_the_scores(bleu: float, chrf: float, word: str) -> None:
    assert judge(bleu=bleu, chrf=chrf)[0] == word


def test_a_low_bleu_with_a_high_chrf_is_not_useless() -> None:
    assert judge(bleu=6.4, chrf=46.5)[0] == "usable", "lowercased translations of German"


def test_a_model_that_is_no_better_than_a_trivial_translator_is_useless() -> None:
    copies = {"name": "copying the source", "bleu": 45.0, "chrf": 66.0}
    verdict = judge_scores(scores_line("test", bleu=45.5, chrf=66.1, baseline=copies), "test")
    assert verdict.word == "useless"
    assert "copying the source, has BLEU 45.0" in " ".join(verdict.reasons)
    assert judge_scores(scores_line("test", bleu=60.0, chrf=80.0, baseline=copies), "test").word == "good"


def test_problems_of_the_translations_are_among_the_reasons() -> None:
    problem = "93 of 100 translations (93%) repeat the same words over and over"
    verdict = judge_scores(scores_line("test", bleu=1.0, problems=[problem, "all are empty"]), "test")
    assert f"{problem}." in verdict.reasons
    assert "All are empty." in verdict.reasons


def test_each_direction_has_a_verdict_with_its_problems() -> None:
    scores = {"sentences": 500, "bleu": 30.0, "chrf": 55.0, "loss": 1.5, "wrong_language": 0.0}
    loops = {**scores, "problems": ["all repeat the same words"]}
    best = validation_line(100, directions={"de-hsb": loops, "hsb-de": scores, "de-dsb": scores})
    verdicts = {each.scope.partition(",")[0]: " ".join(each.reasons) for each in judge_run([best], RECIPE).scores}
    assert [name for name, reasons in verdicts.items() if "All repeat the same words." in reasons] == ["de-hsb"]
    tested = judge_run([best, scores_line("hsb-de, test")], RECIPE).scores
    assert [each.scope.partition(",")[0] for each in tested] == ["hsb-de", "de-hsb", "de-dsb"]
    assert ["the validation text" in each.scope for each in tested] == [False, True, True]
    assert len(judge_run([best, scores_line("captions:test")], RECIPE).scores) == 4
    (single,) = judge_run([validation_line(100), scores_line("captions:test")], RECIPE).scores
    assert single.scope == "captions:test"


def test_hardly_any_sentence_shows_nothing() -> None:
    word, reasons = judge(bleu=0.0, chrf=63.5, sentences=1)
    assert (word, "only 1 sentence," in reasons) == ("unknown", True)
    assert judge(bleu=60.0, chrf=63.5, sentences=10)[0] == "good"


def test_few_sentences_are_mentioned() -> None:
    assert "only 30 sentences" in judge(sentences=30)[1]
    assert "sentences" not in judge(sentences=1000)[1]


def test_lines_of_older_runs_have_a_verdict() -> None:
    assert judge_scores(scores_line("test"), "test").word == "good"
    assert len(judge_scores(scores_line("test"), "test").reasons) == 1


def test_a_loss_that_is_still_falling_means_too_little_training() -> None:
    (reason,) = losses(4.0, 3.5, 3.0, 2.6)
    assert "still falling" in reason
    assert "training.steps = 1000" in reason


def test_a_loss_that_rises_again_means_overfitting() -> None:
    (reason,) = losses(4.0, 2.0, 2.3, 2.6)
    assert "overfits" in reason
    assert "2.000 at step 200" in reason


def test_a_high_perplexity_means_that_nothing_was_learned() -> None:
    (reason,) = losses(7.1, 6.9, 6.8)
    assert f"perplexity is {math.exp(6.8):,.0f}, at step 300" in reason
    assert "training.learning_rate" in reason
    assert len(losses(9.0, 8.0, 6.0)) == 2, "and it was still falling"
    assert losses(1e9)
    (reason,) = losses(5.2, 4.9, 5.3)
    assert "overfits" in reason


def test_a_loss_that_has_settled_is_not_mentioned() -> None:
    assert not losses(4.0, 2.5, 2.01, 2.0, 2.0)
    assert not losses(4.0, 3.0), "too few validations"
    assert not losses(float("nan"), float("inf"), 2.0)


def test_bands_are_in_order() -> None:
    limits = [limit for limit, _, _ in BANDS]
    assert limits == sorted(limits)


@pytest.mark.parametrize(("bleu", "better"), [(38.0, True), (40.0, False)])
def test_the_verdict_compares_with_a_translation_memory(bleu: float, better: bool) -> None:
    nearest = {"name": "the translation of the most similar training sentence", "bleu": bleu, "chrf": 40.0}
    reason = judge_scores(scores_line("captions:test", nearest=nearest), "the test").reasons[-1]
    assert f"most similar training sentence has BLEU {bleu:.1f} and chrF 40.0" in reason
    assert ("at least as good as this translator" in reason) != better


def test_little_or_bad_text_is_named() -> None:
    assert not judge_text(100_000, 0.01, 10.0)
    assert "only 500 pairs" in judge_text(500, 0.0, 10.0)[0]
    assert "more text for the teachers to translate would help" in judge_text(500, 0.0, 10.0, is_translated=True)[0]
    assert "no time to translate all of the text" in judge_text(500, 0.0, 10.0, is_translated=False)[0]
    assert "20% of the training pairs have problems" in judge_text(100_000, 0.2, 10.0)[0]
    assert len(judge_text(500, 0.2, 10.0)) == 2


def test_text_that_was_hardly_read_needs_time_and_not_more_text() -> None:
    (reason,) = judge_text(500, 0.0, 0.61)
    assert reason == "The training text was read only 0.6 times: more time would help."


def test_the_verdict_of_a_run_is_about_its_tests_if_there_are_any() -> None:
    validation = validation_line(100, loss=2.0)
    unfinished = judge_run([validation], RECIPE, ["The text is short."])
    assert [verdict.scope for verdict in unfinished.scores] == [f"the validation text, at step {validation['step']:,}"]
    assert list(unfinished.lines())[-1] == "The text is short."
    tests = [scores_line("test") | {"name": name} for name in ("one", "two")]
    finished = judge_run([validation, *tests], RECIPE)
    assert [verdict.scope for verdict in finished.scores] == ["one", "two"]
    assert next(finished.lines()).startswith("verdict on one: good. BLEU ")
    assert judge_run([], RECIPE).scores == []


def test_the_loss_of_a_student_is_not_judged() -> None:
    """It is that of references, and the student imitates other translations."""
    validations = [validation_line(100 * step, loss=loss) for step, loss in enumerate((7.1, 6.9, 6.8), start=1)]
    student = RECIPE.model_copy(update={"distillation": Distillation(teachers=("runs/teacher",))})
    assert judge_run(validations, RECIPE).training
    assert not judge_run(validations, student).training


@pytest.mark.parametrize(
    ("after", "old_text", "mentioned"), [(55.0, True, True), (59.0, True, False), (55.0, False, False)]
)
def test_forgetting_is_mentioned(after: float, old_text: bool, mentioned: bool) -> None:
    older, latest = (comparison_line("news", 60.0, chrf, old_text=old_text) for chrf in (1.0, after))
    verdict = judge_run([scores_line("test"), older, latest], RECIPE)
    assert any("The chrF of news" in reason and "fell by 5.0" in reason for reason in verdict.training) == mentioned
