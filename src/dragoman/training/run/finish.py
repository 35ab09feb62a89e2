"""The end of a run: choose the weights, score them on the test corpora, save the bundle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from dragoman.bundle import Bundle, choose_direction, describe_scores
from dragoman.corpus.pair import Languages, Pair
from dragoman.dataset.prepare import Dataset, sample_languages, sample_text
from dragoman.doctor.input import TrainingText, describe_text
from dragoman.doctor.output.check import check_translations
from dragoman.engines import EngineRequest
from dragoman.errors import UserError, counted
from dragoman.evaluation.baseline import nearest_match_baseline
from dragoman.evaluation.confidence import MAX_PAIRS, MIN_PAIRS, calibrate
from dragoman.evaluation.error_analysis import analyze_errors
from dragoman.evaluation.evaluate import evaluate, score_translations
from dragoman.explanation.alignment import choose_rows
from dragoman.languages.identify import learn_profiles
from dragoman.lexicon.dictionary import learn_dictionary
from dragoman.model.transformer import Transformer
from dragoman.settings import Recipe
from dragoman.system.progress import format_seconds
from dragoman.system.time_limit import TimeLimit, evenly_spaced
from dragoman.text.multilingual import name_direction
from dragoman.training.loop.state import load_weights, mix_start_weights
from dragoman.training.loop.trainer import LEAST_TRANSLATED, SAMPLES, Trainer, describe_sample
from dragoman.training.run.checkpoint import deployed_weights, find_intact
from dragoman.training.run.directory import RunResults
from dragoman.training.run.run_data import RunData, StartScores, same_depth
from dragoman.translator import Translator

VALIDATION = "validation"

FOUND_IN_VALIDATION = ("alignment", "confidence")
"""Tables of a direction that stay those of the bundle to start from if there is too little text to validate on now."""

COMPARISON_SHARE = 0.3
"""The share of the time left for each of two translations of the texts, by the bundle and by the new translator."""

TESTS_SHARE, CALIBRATION_SHARE = 0.6, 0.4
"""Shares of the time left, which scoring the tests and calibrating the confidence may take; both also analyze."""


def score_and_save(
    trainer: Trainer, model: Transformer, data: RunData, written: Recipe, limit: TimeLimit | None = None
) -> None:
    """Load the best weights into a model, score it, and save the bundle.

    Args:
        trainer: The trainer after its last step.
        model: A model with the settings of the run; its weights are replaced.
        written: The recipe of the run, whose text the last of several stages reads from copies.
        data: The test corpora, and the bundle that the training started from, if any: `training.start_share` mixes its
            weights in, and it is scored, too.
        limit: If it leaves too little time, samples of the text are translated.
    """
    recipe, progress, log = trainer.recipe, trainer.state.progress, trainer.log
    progress.keep_only(find_intact(trainer.run, log.message).usable)
    if not progress.best_step:
        raise UserError(
            f"{trainer.run}: the checkpoints of all validations are damaged; resume the run to repeat the last"
        )
    load_weights(model, deployed_weights(trainer.run, progress.best_step))
    if data.start is not None and (share := recipe.training.start_share):
        mix_start_weights(data.start, model, trainer.data.source, trainer.data.target, share)
    log.message(f"end of training: {trainer.budget.reason_to_end(progress)}")
    averaged = recipe.training.average > 1
    log.message(f"weights of step {progress.best_step:,}{', averaged with those of earlier validations' * averaged}")
    profiles = learn_profiles(sample_languages(trainer.data)) if trainer.data.directions else {}
    bundle = Bundle(recipe, model.eval(), trainer.data.source, trainer.data.target, profiles=profiles)
    facts, tables = dict[str, dict[str, Any]](), dict[str, Any]()
    directions: list[Languages | None] = list(trainer.data.directions) or [None]
    for number, languages in enumerate(directions):
        share = 1 / (len(directions) - number)  # of the time that is left
        name, tests = "", data.tests
        view, of_direction = bundle, trainer.data
        if languages is not None:
            name, view = name_direction(languages), choose_direction(bundle, *languages)
            of_direction, tests = trainer.data.in_direction(languages), _tests_in(data.tests, languages)
            view = replace(
                view, alignment=next((each["alignment"] for each in facts.values() if each["alignment"]), {})
            )
        start = data.start_scores and data.start_scores.in_direction(languages)
        tables = _finish_direction(trainer, view, of_direction, tests, start, limit, share)
        known = data.start.facts if data.start and same_depth(recipe.model, data.start.recipe.model) else {}
        before = known.get(name, {})
        kept = {table: before[table] for table in FOUND_IN_VALIDATION if before.get(table) and not tables[table]}
        facts[name] = tables | kept
    finished = replace(bundle, facts=facts) if trainer.data.directions else replace(bundle, **tables)
    log.metrics.require_directory()
    RunResults(trainer.run).remove_damaged_bundle(log.message)
    finished.save(trainer.run / "bundle", written)
    log.line.update(1.0, f"done: trained {counted(progress.step, 'step')} in {format_seconds(progress.seconds)}")
    log.message(f"bundle: {trainer.run / 'bundle'}")


def _tests_in(tests: Mapping[str, list[Pair]], languages: Languages) -> dict[str, list[Pair]]:
    """The pairs of test corpora in a direction, by names with the direction."""
    found = {
        f"{name_direction(languages)}, {name}": [pair for pair in pairs if pair.direction == languages]
        for name, pairs in tests.items()
    }
    return {name: pairs for name, pairs in found.items() if pairs}


def _finish_direction(
    trainer: Trainer,
    bundle: Bundle,
    data: Dataset,
    tests: Mapping[str, list[Pair]],
    start: StartScores | None,
    limit: TimeLimit | None,
    share: float,
) -> dict[str, Any]:
    """Score a direction, and return what a bundle stores about it, see `dragoman.bundle.TABLES`.

    Args:
        trainer: The trainer after its last step.
        bundle: The finished model for this direction.
        data: The dataset of this direction.
        tests: The test corpora of this direction.
        start: The bundle that the training started from, if any.
        limit: If it leaves too little time, samples of the text are translated.
        share: The share of the time that is left for this direction.
    """
    device, log = trainer.state.device, trainer.log
    # scores and confidence are those without neighbors
    decoding = bundle.recipe.decoding.model_copy(update={"neighbors": None})
    translator = Translator.open(EngineRequest(bundle, decoding, device, compute_type="float32"))

    def fit(pairs: list[Pair], translator: Translator, part: float) -> list[Pair]:
        return _fit(pairs, translator, part * share, limit)

    tests_share = TESTS_SHARE if start is None else TESTS_SHARE / 2  # the bundle translates them, too
    scores, fitting = dict[str, dict[str, Any]](), dict[str, list[Pair]]()
    for name, pairs in tests.items():
        scored = fitting[name] = fit(pairs, translator, tests_share / (len(tests) - len(scores)))
        log.line.update(1.0, f"translating and scoring {counted(len(scored), 'sentence')} of {name} …")
        if len(scored) < len(pairs):
            log.message(f"{name}: {len(scored):,} of {counted(len(pairs), 'sentence')} are scored, to end in time")
        scores[name] = _score_test(trainer, data, translator, name, scored)
    if start is not None:
        compare_with_start(trainer, data.validation, translator, fitting, scores, start, fit)
    return {**_describe(trainer, data, translator, fit), "scores": scores}


def _fit(pairs: list[Pair], translator: Translator, share: float, limit: TimeLimit | None) -> list[Pair]:
    """The pairs, or a sample of them that can be translated in a share of the time that is left."""
    if limit is None:
        return pairs

    def translate(some: Sequence[Pair]) -> None:
        for _ in translator.stream(pair.source for pair in some):
            pass

    return limit.sample(pairs, translate, share)


def _describe(
    trainer: Trainer, data: Dataset, translator: Translator, fit: Callable[[list[Pair], Translator, float], list[Pair]]
) -> dict[str, Any]:
    """The training text of a direction, the rows of attention that align its words, its confidence and its scores."""
    line = trainer.log.line
    line.update(1.0, "describing the training text …")
    described = describe_training_text(data, translator.bundle.recipe).model_dump()
    validation = fit(data.validation, translator, CALIBRATION_SHARE)
    if len(validation) < min(MIN_PAIRS, len(data.validation)):
        trainer.log.message(
            f"translations get no confidence: there was no time to translate {MIN_PAIRS} validation pairs for it"
        )
    dictionary = data.dictionary or learn_dictionary(sample_text(data))
    layer = translator.bundle.alignment.get("layer")  # an engine has one for all directions
    rows = choose_rows(translator.bundle_on_device, validation, dictionary, layer)
    line.update(1.0, "translating validation text, for its scores and the confidence …")
    chosen = evenly_spaced(validation, MAX_PAIRS)
    references = [pair.target for pair in chosen]
    translations = list(translator.stream(pair.source for pair in chosen))
    fitted = calibrate(translations, references)
    scores = dict[str, Any]()
    if chosen:
        found = score_translations(translator, list(map(str, translations)), references)
        scores = {"pairs": len(data.validation), **found}
        name = f"{name_direction(translator.bundle.recipe.data.languages)}, " if trainer.data.directions else ""
        trainer.log.message(f"{name}{VALIDATION}: {describe_scores(scores)}")
    return {
        "training_text": described,
        "alignment": rows._asdict() if rows else {},
        "confidence": fitted.model_dump() if fitted else {},
        "validation": scores,
    }


def describe_training_text(data: Dataset, recipe: Recipe) -> TrainingText:
    """Describe a sample of the training pairs, so that `check_texts` can compare other texts with them.

    Pairs that the augmentation changes are ordinary to the model, so their shares are added.
    """
    augmentation, languages = recipe.training.augmentation, (recipe.data.source_language, recipe.data.target_language)
    sample = sample_text(data)
    sources, targets = [pair.source for pair in sample], [pair.target for pair in sample]
    described = describe_text(sources, targets, languages)
    seen = {
        "capitals": described.capitals + augmentation.upper_case,
        "single_words": described.single_words + augmentation.single_words * bool(data.dictionary),
        "terms": augmentation.terms * bool(data.lexicon),
    }
    return described.model_copy(update=seen)


def _score_test(
    trainer: Trainer, data: Dataset, translator: Translator, name: str, pairs: list[Pair]
) -> dict[str, Any]:
    """Score a test corpus, and log scores, samples and the error analysis."""
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    report, translations = evaluate(translator, sources, references)
    samples = list(map(describe_sample, pairs, translations[:SAMPLES]))
    analysis = analyze_errors(translator, data.train.source, sources, references, translations)
    findings = check_translations(sources, references, translations, report, translator.decoding)
    problems = [finding.message for finding in findings]
    nearest = asdict(nearest_match_baseline(data, sources, references))
    values = {
        "name": name,
        **report.to_dict(),
        "samples": samples,
        "problems": problems,
        "nearest": nearest,
        **analysis,
    }
    trainer.log.metrics.write("test", trainer.position | values)
    trainer.log.message(
        f"{name}: BLEU {report.bleu:.2f}, chrF {report.chrf:.2f}, perplexity {report.perplexity:.2f} "
        f"({counted(report.sentences, 'sentence')}, {report.decoding})"
    )
    return report.to_dict()


def compare_with_start(
    trainer: Trainer,
    validation: Sequence[Pair],
    translator: Translator,
    tests: Mapping[str, list[Pair]],
    scores: Mapping[str, dict[str, Any]],
    start: StartScores,
    fit: Callable[[list[Pair], Translator, float], list[Pair]],
) -> None:
    """Score the bundle that a training started from and the new translator, and log both.

    Args:
        trainer: The trainer after its last step.
        validation: The validation pairs.
        translator: The new translator.
        tests: The pairs of the test corpora that are scored, by name.
        scores: The scores of the new translator on them.
        start: The bundle and its text.
        fit: The pairs that can be translated in a share of the time that is left.
    """
    device = trainer.state.device
    decoding = translator.decoding  # the same search for both
    before = Translator.open(EngineRequest(start.bundle, decoding, device, compute_type="float32"))
    directions, data = trainer.data.directions, translator.bundle.recipe.data
    name = f"{name_direction(data.languages)}, {VALIDATION}" if directions else VALIDATION
    most = max(LEAST_TRANSLATED, trainer.settings.validation_sentences // len(directions)) if directions else None
    most = most or trainer.settings.validation_sentences
    texts = {name: list(validation[:most]), **start.old_text}
    worse, others = [], {each: pairs for each, pairs in texts.items() if pairs}  # some directions have none to validate
    for number, (name, pairs) in enumerate({**tests, **others}.items()):
        trainer.log.line.update(1.0, f"comparing the scores of {name} …")
        if name in others:
            pairs = fit(pairs, before, COMPARISON_SHARE / (len(tests) + len(others) - number))
        old, search = _scores(before, pairs)
        new = {key: scores[name][key] for key in old} if name in tests else _scores(translator, pairs)[0]
        values = {"name": name, "old_text": name in start.old_text, "before": old, "after": new}
        trainer.log.metrics.write("comparison", trainer.position | values)
        trainer.log.message(
            f"{name}{', old text' * (name in start.old_text)}: BLEU {old['bleu']:.2f} → {new['bleu']:.2f}, chrF "
            f"{old['chrf']:.2f} → {new['chrf']:.2f} ({counted(len(pairs), 'sentence')}, {search}, before and after "
            "training)"
        )
        if name not in start.old_text and new["bleu"] < old["bleu"] and new["chrf"] < old["chrf"]:
            worse.append(name)
    if worse:
        message = (
            f"warning: on {' and '.join(worse)}, {trainer.settings.start_from} is better than the new translator; use "
            "it, or train on more text of this kind"
        )
        trainer.log.message(message)
        trainer.log.event(trainer.position, message)


def _scores(translator: Translator, pairs: list[Pair]) -> tuple[dict[str, Any], str]:
    """Scores, and how the translations were searched."""
    report, _ = evaluate(translator, [pair.source for pair in pairs], [pair.target for pair in pairs])
    return {"sentences": report.sentences, "bleu": report.bleu, "chrf": report.chrf}, report.decoding
