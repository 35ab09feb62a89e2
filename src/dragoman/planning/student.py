"""The recipe of a student: a small, fast translator that learns from finished ones."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from dragoman.bundle import Bundle
from dragoman.corpus.corpus import count_texts
from dragoman.corpus.lines import read_lines
from dragoman.corpus.pair import Languages
from dragoman.errors import UserError, counted
from dragoman.evaluation.metrics import USELESS, overall_score
from dragoman.model.transformer import parameter_counts
from dragoman.planning.budget import (
    MachineSpeed,
    chosen_minutes,
    count_parameters,
    describe_minutes,
    expect_training,
    measure_chosen_speed,
    plan_budget,
)
from dragoman.planning.choose import LARGE_MODEL, SMALL_MODEL, choose_dropout, choose_training, values_of
from dragoman.planning.plan import Texts, plan_recipe
from dragoman.planning.text_facts import TextFacts, collect_facts, facts_with
from dragoman.recipe import build_recipe, load_recipe
from dragoman.settings import CorpusFile, CorpusReference, Data, Distillation, FilePair, Model, Recipe
from dragoman.settings.decoding import PLAIN_SEARCH
from dragoman.synthesis.bundle_ensemble import BundleEnsemble, largest_vocabulary
from dragoman.synthesis.pair_checks import check_language
from dragoman.system.progress import Log, no_log
from dragoman.system.run_paths import run_directory
from dragoman.text.multilingual import name_direction

SizeName = Literal["base", "small", "tiny"]


@dataclass(frozen=True)
class StudentSize:
    """The sizes of a student: more layers in the encoder, which is fast, than in the decoder (Kasai et al. 2021).

    Attributes:
        model: Settings of the model.
        subwords: Most entries of its vocabulary: each one costs memory, and time for each token of a translation.
    """

    model: dict[str, int]
    subwords: int


STUDENT_SIZES: dict[SizeName, StudentSize] = {  # the largest first
    "base": StudentSize({"d_model": 512, "heads": 8, "d_ff": 2048, "encoder_layers": 6, "decoder_layers": 2}, 32_000),
    "small": StudentSize({"d_model": 256, "heads": 4, "d_ff": 768, "encoder_layers": 4, "decoder_layers": 1}, 16_000),
    "tiny": StudentSize({"d_model": 192, "heads": 4, "d_ff": 512, "encoder_layers": 3, "decoder_layers": 1}, 8000),
}

TRAINING: dict[str, Any] = {
    "best_by": "bleu",  # the loss would be that of references, which a student does not imitate
    "early_stopping": None,
}
"""Settings of the training that differ from those that `choose_training` chooses."""

LESS_DROPOUT = 0.1  # than a model that learns from text of people: a student is small, and its text is simpler
SHORT_MINUTES = 5.0  # in which validations of many sentences would take too large a part
GREEDY = {**PLAIN_SEARCH, "beam_size": 1, "n_best": 1}
TRANSLATION_SHARE = 0.25  # at most; the student also gets the time that translating does not need


@dataclass(frozen=True)
class StudentPlan:
    """What a student is planned for.

    Attributes:
        size: The size of the student.
        minutes: The time for translating and training; None chooses a number of epochs.
        distillation: The teachers, and what they translate.
        direction: The name of the direction of the student, such as ``de-dsb``, if the teachers have several.
    """

    size: SizeName
    minutes: float | None
    distillation: Distillation
    direction: str | None = None


def recipe_of_run(path: str) -> Recipe:
    """The recipe of the run at a path, which names its training text; of a bundle without its run, that of the bundle.

    Raises:
        UserError: There is no run and no bundle, or the recipe is damaged.
    """
    recipe = run_directory(Path(path)) / "recipe.toml"
    return load_recipe(recipe) if recipe.is_file() else Bundle.load(path).recipe


def plan_student(plan: StudentPlan, overrides: Sequence[str], data_directory: Path | None, log: Log = no_log) -> Recipe:
    """Read the training text of the first teacher, and choose a recipe for the student.

    Args:
        plan: What it is planned for.
        overrides: ``SECTION.KEY=VALUE`` each; those of the section data change the text that is read, and
            training.minutes the time that is planned for.
        data_directory: Mirror of the dataset catalog.
        log: Receives what to expect, and a message if the student is as large as the teacher, or a teacher is useless.

    Raises:
        UserError: A bundle is missing or does not fit, or the training text is gone, or monolingual text is in another
            language, or a setting is invalid.
    """
    plan = replace(plan, minutes=chosen_minutes(plan.minutes, overrides))
    path = plan.distillation.teachers[0]
    of_data = [each for each in overrides if each.startswith("data.")]
    whole = recipe_of_run(path)
    direction = _find_direction(whole.data, path, plan.direction)
    document = whole.to_dict()
    if whole.data.directions:
        document["data"] = data_of_direction(whole.data, direction)
        mono_files = (*plan.distillation.mono, *_other_sources(whole.data, direction))
        plan = replace(plan, distillation=plan.distillation.model_copy(update={"mono": mono_files}))
    teacher = build_recipe(document, of_data, origin=path)
    bundles = _open_teachers(plan.distillation, teacher.data.languages)  # before the text is read, which takes long
    for name, each in zip(plan.distillation.teachers, bundles, strict=True):
        _warn_of_useless(name, each, log)
    bundle, mono = bundles[0], _count_monolingual(plan.distillation.mono, bundles[0])
    try:
        facts = _facts_of_text(teacher.data, bundle, data_directory)
    except UserError as error:
        hint = "" if of_data else f"; it is training text of {path}; if it was moved, name it with --set data.train=…"
        raise UserError(f"{error}{hint}") from error
    subwords = min(largest_vocabulary(bundle), STUDENT_SIZES[plan.size].subwords)
    machine = measure_chosen_speed(overrides)
    document = _choose_sections(plan, teacher, facts, mono, subwords, machine) | {
        "name": f"{teacher.name[:190]}-{plan.size}",
        "distillation": plan.distillation.model_dump(mode="json", exclude_none=True),
        "teachers": {"translation_share": TRANSLATION_SHARE},
    }
    recipe = build_recipe(document, overrides, origin=f"{plan.size} student of {path}")
    if not recipe.data.validation and recipe.training.seed != teacher.training.seed:
        log(
            f"warning: training.seed is not that of {path}, so other pairs are held out for validation, and the "
            "teacher has learned most of them; name validation text with --set data.validation=…"
        )
    log(_describe_plan(plan, recipe, facts, mono, machine))
    _warn_of_size(plan.size, recipe, bundle, path, log)
    return recipe


def plan_student_of_text(
    plan: StudentPlan,
    train: Sequence[CorpusReference],
    languages: Languages,
    overrides: Sequence[str],
    data_directory: Path | None,
    log: Log = no_log,
) -> Recipe:
    """Choose a recipe for a student of a teacher that is no bundle, and has translated its training text.

    Args:
        plan: What it is planned for; its teachers do not matter.
        train: The text with its translations by the teacher.
        languages: Source and target.
        overrides: ``SECTION.KEY=VALUE`` each.
        data_directory: Mirror of the dataset catalog.
        log: Receives what to expect.

    Raises:
        UserError: The text cannot be used, or a setting is invalid.
    """
    plan = replace(plan, minutes=chosen_minutes(plan.minutes, overrides))
    made = plan_recipe(Texts(languages, train), plan.minutes, data_directory, log)
    base, subwords = made.recipe(), STUDENT_SIZES[plan.size].subwords
    subwords = min(base.text.vocabulary_size, subwords)
    document = _choose_sections(plan, base, made.facts, 0, subwords, made.machine) | {
        "name": f"{'-'.join(languages)}-{plan.size}"
    }
    recipe = build_recipe(document, overrides, origin=f"{plan.size} student")
    log(_describe_plan(plan, recipe, made.facts, 0, made.machine))
    return recipe


def _find_direction(data: Data, path: str, name: str | None) -> Languages:
    """The direction of a student; raises UserError if a teacher with several does not have the named one."""
    directions = {name_direction(each): each for each in data.directions or (data.languages,)}
    if name is None and not data.directions:
        return data.languages
    if name not in directions:
        problem = "choose the direction of the student with --directions" if name is None else f"no direction {name}"
        raise UserError(f"{path}: {problem}; there is {', '.join(directions)}")
    return directions[name]


def data_of_direction(data: Data, direction: Languages) -> dict[str, Any]:
    """The section for a student of a teacher with several directions: the text of one of them.

    As many pairs are held out as the teacher has held out of each two languages, so they are the same ones.
    """
    least = data.least_held_out_weight
    held_out_of = {
        frozenset(data.languages_of(each.corpus)) for each in data.weighted if not each.tagged and each.weight >= least
    }
    own = {
        "source_language": direction[0],
        "target_language": direction[1],
        "directions": (),
        "temperature": 1.0,
        "validation_pairs": max(1, data.validation_pairs // max(1, len(held_out_of))),
    }
    corpora = [
        each
        for each in data.weighted
        if direction in data.directions_of(each.corpus)
        and not (each.tagged and data.languages_of(each.corpus) != direction)  # whose sources are text of machines
    ]
    train = [each.model_copy(update={"corpus": _in_direction(each.corpus, data, direction)}) for each in corpora]
    held_out = {
        name: tuple(
            _in_direction(each, data, direction) for each in references if direction in data.directions_of(each)
        )
        for name, references in (("validation", data.validation), ("test", data.test))
    }
    changed = data.model_copy(update={**own, "train": tuple(train), **held_out})
    return changed.model_dump(mode="json", exclude_none=True)


def _in_direction(corpus: CorpusReference, data: Data, direction: Languages) -> CorpusReference:
    """A corpus for a recipe with one direction; it states its languages if its sides are in the other order."""
    languages = data.languages_of(corpus)
    stated = None if languages == direction else languages
    if isinstance(corpus, str):
        return corpus if stated is None else CorpusFile(file=corpus, languages=stated)
    return corpus.model_copy(update={"languages": stated})


def _other_sources(data: Data, direction: Languages) -> list[str]:
    """Files with text in the source language of a direction, in the training text of other directions."""
    files = []
    for each in data.weighted:
        languages = data.languages_of(each.corpus)
        if not isinstance(each.corpus, FilePair) or each.tagged or direction in (languages, languages[::-1]):
            continue
        sides = dict(zip(languages, (each.corpus.source, each.corpus.target), strict=True))
        files += [sides[direction[0]]] if direction[0] in sides else []
    return files


def _count_monolingual(files: Sequence[str], teacher: Bundle) -> int:
    """The number of texts in files; raises UserError if one is in another language than the teacher translates."""
    number = sum(map(count_texts, files))
    for file in files:
        with closing(read_lines(Path(file))) as lines:
            check_language(lines, teacher, file)
    return number


def _facts_of_text(data: Data, teacher: Bundle, data_directory: Path | None) -> TextFacts:
    """Facts about the training text, in tokens of the teacher; raises UserError if a corpus cannot be read."""
    untagged = [each for each in data.weighted if not each.tagged]  # others are not translated
    facts, sample = collect_facts(untagged or data.weighted, data.languages, data_directory)
    return facts_with(facts, (teacher.source, teacher.target), sample)


def _describe_plan(plan: StudentPlan, recipe: Recipe, facts: TextFacts, mono: int, machine: MachineSpeed) -> str:
    """How much text there is, and how long it takes; `mono` is the number of monolingual texts."""
    expected = expect_training(recipe, facts.with_pairs(mono), machine)
    if recipe.training.minutes:
        translating = describe_minutes(recipe.teachers.translation_share * recipe.training.minutes)
        time = f"translating takes at most {translating} of the {describe_minutes(recipe.training.minutes)}"
    else:
        time = f"after translating, training takes about {describe_minutes(expected.minutes)}"
    text = counted(facts.pairs, "training pair") + (f" and {counted(mono, 'monolingual text')}" if mono else "")
    return f"{plan.size}: {text}; {expected.parameters / 1e6:.1f} million parameters; {time}"


def _open_teachers(settings: Distillation, languages: Languages) -> Sequence[Bundle]:
    """The teachers; raises UserError if the bundles do not fit together."""
    if settings.round_trip is not None:
        BundleEnsemble.load([settings.round_trip], languages[::-1])
    return BundleEnsemble.load(settings.teachers, languages).bundles


def _warn_of_useless(name: str, teacher: Bundle, log: Log) -> None:
    """Warn of a teacher whose translations of all its test and validation text are useless."""
    scored = {**({"its validation text": teacher.validation} if teacher.validation else {}), **teacher.scores}
    tests = {corpus: test for corpus, test in scored.items() if isinstance(test, dict)}  # unlike old versions
    scores = {corpus: overall_score(test["bleu"], test["chrf"]) for corpus, test in tests.items()}
    if scores and max(scores.values()) < USELESS:
        log(
            f"the translations of {name} have little in common with the references of {', '.join(scores)}, and "
            "those of the student will not be better; train the teacher longer first"
        )


def _warn_of_size(size: SizeName, recipe: Recipe, teacher: Bundle, path: str, log: Log) -> None:
    """Warn of a student that is not smaller than its teacher, and name the largest size that is."""
    weights = count_parameters(recipe.model, recipe.text.vocabulary_size)
    limit, subwords, sizes = parameter_counts(teacher.model)["total"], largest_vocabulary(teacher), list(STUDENT_SIZES)
    if weights < limit:
        return
    advice = "there is no --size with fewer weights than that"
    for name in sizes[sizes.index(size) + 1 :]:
        shape = recipe.model.model_copy(update=STUDENT_SIZES[name].model)
        if count_parameters(shape, min(subwords, STUDENT_SIZES[name].subwords)) < limit:
            advice = f"choose --size {name}"
            break
    log(
        f"the student has {weights:,} weights and {path} has {limit:,}, so it is not smaller, and may not be faster; "
        f"{advice}"
    )


def _choose_sections(
    plan: StudentPlan, teacher: Recipe, facts: TextFacts, mono: int, subwords: int, machine: MachineSpeed
) -> dict[str, Any]:
    """The sections that all recipes have, as plain data; `mono` is the number of monolingual texts."""
    shape = Model(**STUDENT_SIZES[plan.size].model, tie="all" if teacher.text.joint else "target")
    speed = machine.tokens_per_second(count_parameters(shape, subwords))
    with_mono = facts.with_pairs(mono)
    budget = plan_budget(with_mono, plan.minutes, speed)
    width = LARGE_MODEL if shape.d_model >= LARGE_MODEL.d_model else SMALL_MODEL
    without_mono = plan_budget(facts, plan.minutes, speed)
    dropout = choose_dropout(facts, without_mono)["model.dropout"]  # less was not measured with monolingual text
    model = {
        **shape.model_dump(mode="json"),
        "positions": teacher.model.positions,  # so that the same exports are possible
        "max_length": teacher.model.max_length,
        "dropout": round(max(0.0, dropout.value - LESS_DROPOUT), 3),
    }
    training = {
        **values_of("training", choose_training(with_mono, width, budget)),
        "augmentation": teacher.training.augmentation.model_dump(),
        "seed": teacher.training.seed,  # which decides which pairs are held out
        **TRAINING,
        "validation_sentences": 200 if plan.minutes and plan.minutes < SHORT_MINUTES else 1000,
    }
    sections = teacher.to_dict()
    return {
        "data": sections["data"],
        "text": {**sections["text"], "vocabulary_size": subwords, "bpe_dropout": 0.0},
        "model": model,
        "training": {key: value for key, value in training.items() if value is not None},
        "decoding": {**sections["decoding"], **GREEDY},
    }
