"""The verdict of the report: what the scores and the training curves mean, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from dragoman.errors import counted
from dragoman.evaluation.metrics import MAX_LOSS, UNTRAINED, USELESS, overall_score
from dragoman.settings import Recipe, Training
from dragoman.training.run.directory import LEFT_OUT_FILE
from dragoman.training.run.log import Metrics, current_lines

MIN_GAIN = 1.0  # points of BLEU above a trivial translator
FEW_SENTENCES = 100
TOO_FEW_SENTENCES = 10  # whose scores show nothing
MIN_VALIDATIONS = 3  # for a trend
FALLING = 0.03  # relative decrease of the validation loss in the last quarter of the steps
RISING = 0.02  # relative increase of the validation loss after its minimum
FEW_PAIRS = 10_000
FEW_EPOCHS = 3.0  # fewer passes over the text leave a model undertrained
FORGOTTEN = 1.5  # points of chrF on old text
WRONG_LANGUAGE = 0.003  # of the translations of a direction
MANY_PROBLEMS = 0.05  # of the training pairs

BANDS = (
    (USELESS, "useless", "the translations have little in common with the references"),
    (20.0, "weak", "it is hard to understand what the translations mean"),
    (40.0, "usable", "most translations convey the meaning, but with errors"),
    (math.inf, "good", "most translations are close to the references"),
)
"""Upper limit of a score, the verdict below it, and what it means. The limits are a common interpretation of BLEU."""


class Verdict(NamedTuple):
    """One word, what it applies to, and sentences that give the reasons."""

    word: str
    scope: str
    reasons: list[str]


class RunVerdict(NamedTuple):
    """What a run achieved, and why not more.

    Attributes:
        scores: The verdict on each test corpus, and on the best validation in directions without tests.
        training: What the training curves and the text suggest.
    """

    scores: list[Verdict]
    training: list[str]

    def lines(self) -> Iterator[str]:
        """The verdict for a terminal."""
        for verdict in self.scores:
            yield f"verdict on {verdict.scope}: {verdict.word}. {' '.join(verdict.reasons)}"
        yield from self.training


def judge_run(metrics: Metrics, recipe: Recipe, about_text: Sequence[str] = ()) -> RunVerdict:
    """The verdict on a run.

    Args:
        metrics: The lines of metrics.jsonl without incomplete ones.
        recipe: The recipe of the run.
        about_text: The result of `judge_text`.
    """
    validations = current_lines(metrics, "validation")
    tests = {line["name"]: line for line in metrics if line["kind"] == "test"}
    best = next((line for line in reversed(validations) if line["best"]), None)
    scores = [judge_scores(test, name) for name, test in tests.items()]
    directions = best.get("directions", {}) if best else {}
    untested = {
        name: line
        for name, line in directions.items()
        if not any(each == name or each.startswith(f"{name}, ") for each in tests)
    }
    if best and (untested or not tests):
        whose = ", which the teacher has translated" if recipe.validates_on_translations else ""
        place = f"the validation text{whose}, at step {best['step']:,}"
        validated = {f"{name}, {place}": line for name, line in untested.items()} or {place: best}
        scores += [judge_scores(line, scope) for scope, line in validated.items()]
    # The loss of a student is that of references, which it does not imitate.
    about_losses = [] if recipe.distillation.teachers else judge_training(validations, recipe.training)
    return RunVerdict(
        scores, [*_judge_speed(metrics), *about_losses, *_judge_forgetting(compared_texts(metrics)), *about_text]
    )


def _judge_speed(metrics: Metrics) -> Iterator[str]:
    """How long training was slow, why, and what helps."""
    if slow := current_lines(metrics, "slow"):
        latest = slow[-1]
        minutes = max(len(slow), round(max(line["seconds"] for line in metrics if "seconds" in line) / 60))
        yield (
            f"Training was slow in {len(slow)} of {counted(minutes, 'minute')}: "
            f"{latest['message'].removeprefix('training is slow: ')}. To train more in the same time: {latest['fix']}."
        )


def compared_texts(metrics: Metrics) -> list[dict[str, Any]]:
    """The latest comparison of each text with the bundle that the training started from."""
    return list({line["name"]: line for line in metrics if line["kind"] == "comparison"}.values())


def _judge_forgetting(comparisons: Sequence[dict[str, Any]]) -> Iterator[str]:
    for line in comparisons:
        lost = line["before"]["chrf"] - line["after"]["chrf"]
        if line["old_text"] and lost > FORGOTTEN:
            yield (
                f"The chrF of {line['name']}, text of the bundle that the training started from, fell by {lost:.1f}. "
                "To forget less, train on more old text, or raise training.start_share."
            )


def judge_text(pairs: int, left_out: float, epochs: float, is_translated: bool | None = None) -> list[str]:
    """What limits a translator because of its training text.

    Args:
        pairs: The number of training pairs.
        left_out: The share of pairs that were left out because of problems.
        epochs: How often the text was read.
        is_translated: If finished translators made the pairs, whether they had time for all of the text.
    """
    reasons = []
    if epochs < FEW_EPOCHS:
        reasons.append(f"The training text was read only {epochs:.1f} times: more time would help.")
    elif pairs < FEW_PAIRS:
        remedy = "more text would help"
        if is_translated:
            remedy = "more text for the teachers to translate would help"
        elif is_translated is not None:
            remedy = "more time would help, because there was no time to translate all of the text"
        reasons.append(
            f"The training text has only {counted(pairs, 'pair')}. With fewer than {FEW_PAIRS:,}, a model learns "
            f"phrases rather than sentences; {remedy}."
        )
    if left_out > MANY_PROBLEMS:
        reasons.append(
            f"{left_out:.0%} of the training pairs have problems and were left out ({LEFT_OUT_FILE} lists them). "
            "If that is not what you expect, look for the cause: it may have damaged other pairs too."
        )
    return reasons


def judge_scores(line: dict[str, Any], scope: str) -> Verdict:
    """The verdict on the scores of one corpus.

    Args:
        line: A test or a validation of metrics.jsonl; lines of older runs have no baseline and no problems.
        scope: What was scored.
    """
    score = overall_score(line["bleu"], line["chrf"])
    word, meaning = next((word, meaning) for limit, word, meaning in BANDS if score < limit)
    reasons = [f"BLEU {line['bleu']:.1f} and chrF {line['chrf']:.1f}: {meaning}."]
    if baseline := line.get("baseline"):
        compared = f"{baseline['name']}, has BLEU {baseline['bleu']:.1f} and chrF {baseline['chrf']:.1f}"
        gains = line["bleu"] - baseline["bleu"], line["chrf"] - baseline["chrf"]
        if max(gains) < MIN_GAIN:
            word = "useless"
            reasons = [
                f"BLEU {line['bleu']:.1f} and chrF {line['chrf']:.1f} are no better than those of a trivial translator."
            ]
        reasons.append(f"For comparison, a translator that needs no model, {compared}.")
    if nearest := line.get("nearest"):
        reasons.append(_compare_with_nearest(line, nearest))
    if (wrong := line.get("wrong_language") or 0.0) > WRONG_LANGUAGE:
        reasons.append(f"{wrong:.1%} of the translations are in the wrong language.")
    reasons += [f"{problem[:1].upper()}{problem[1:]}." for problem in line.get("problems", ())]
    if line["sentences"] < TOO_FEW_SENTENCES:
        word, reasons = "unknown", [f"BLEU {line['bleu']:.1f} and chrF {line['chrf']:.1f}."]
    if line["sentences"] < FEW_SENTENCES:
        reasons.append(f"The scores are of only {counted(line['sentences'], 'sentence')}, so they are uncertain.")
    return Verdict(word, scope, reasons)


def _compare_with_nearest(line: dict[str, Any], nearest: dict[str, Any]) -> str:
    better = line["bleu"] > nearest["bleu"] and line["chrf"] > nearest["chrf"]
    result = "" if better else ": searching the training text is at least as good as this translator"
    return (
        f"The translation of the most similar training sentence has BLEU {nearest['bleu']:.1f} and chrF "
        f"{nearest['chrf']:.1f}{result}."
    )


def judge_training(validations: Metrics, training: Training) -> list[str]:
    """What the validation losses show: too little training, or overfitting.

    Args:
        validations: The validations in order of their steps.
        training: The settings of the run.
    """
    losses = [(line["step"], line["loss"]) for line in validations if math.isfinite(line["loss"])]
    if not losses:
        return []
    best_step, best = min(losses, key=lambda each: each[1])
    last_step, last = losses[-1]
    if len(losses) >= MIN_VALIDATIONS and last > best * (1 + RISING):
        return [
            f"The validation loss rose from {best:.3f} at step {best_step:,} to {last:.3f} at step {last_step:,}: the "
            "model overfits. More training text would help most; otherwise, use a higher model.dropout, a smaller "
            "model or fewer steps."
        ]
    reasons = []
    if (perplexity := math.exp(min(best, MAX_LOSS))) > UNTRAINED:
        reasons.append(
            f"The lowest validation perplexity is {perplexity:,.0f}, at step {best_step:,}: the model is as uncertain "
            f"as if it had to choose among {perplexity:,.0f} equally likely tokens. It has hardly started to learn, or "
            "there is too little text, or it is too difficult: first of all, train longer. If the loss does not fall, "
            "lower training.learning_rate."
        )
    earlier_step, earlier = min(losses[:-1] or losses, key=lambda each: abs(each[0] - 0.75 * last_step))
    if len(losses) >= MIN_VALIDATIONS and last < earlier * (1 - FALLING):
        reasons.append(
            f"The validation loss was still falling, from {earlier:.3f} at step {earlier_step:,} to {last:.3f} at step "
            f"{last_step:,}: train longer ({_budget(training)} in this run)."
        )
    return reasons


def _budget(training: Training) -> str:
    name = next(name for name in ("epochs", "steps", "minutes") if getattr(training, name) is not None)
    return f"training.{name} = {getattr(training, name):g}"
