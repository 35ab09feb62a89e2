"""The recipe of a student: a small, fast translator that learns from finished ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from dragoman.bundle import Bundle
from dragoman.corpus.corpus import count_texts
from dragoman.corpus.lines import read_lines
from dragoman.corpus.pair import Languages
from dragoman.corpus.references import describe_reference, file_name
from dragoman.errors import UserError, counted
from dragoman.evaluation.metrics import USELESS, overall_score
from dragoman.model.transformer import parameter_counts
from dragoman.planning.adaptation import EPOCHS_SHARE, MAX_WARMUP
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
from dragoman.settings import CorpusReference, Data, Distillation, FilePair, Model, Recipe
from dragoman.settings.data import IMPORTED, can_be_joined
from dragoman.settings.decoding import PLAIN_SEARCH
from dragoman.synthesis.bundle_ensemble import BundleEnsemble, largest_vocabulary
from dragoman.synthesis.pair_checks import check_language
from dragoman.system.progress import Log, no_log
from dragoman.system.run_paths import run_directory
from dragoman.text.multilingual import name_direction
from dragoman.training.run.run_data import start_differences
from dragoman.training.stages.pairs import OtherSources
from dragoman.training.stages.recipes import mono_to_translate, stated_language

SizeName = Literal["base", "small", "tiny", "shallow"]


@dataclass(frozen=True)
class StudentSize:
    """The sizes of a student: more layers in the encoder, which is fast, than in the decoder (Kasai et al. 2021).

    Attributes:
        model: Settings of the model.
        subwords: Most entries of its vocabulary: each one costs memory, and time for each token of a translation; None
            for a student that has the other settings and the weights of its teacher, and as many entries (Shleifer and
            Rush 2020, "Pre-trained Summarization Distillation", shrink and fine-tune).
    """

    model: dict[str, int]
    subwords: int | None = None

    @property
    def is_of_teacher(self) -> bool:
        """Whether the student starts with what its teacher knows."""
        return self.subwords is None

    def shape(self, teacher: Recipe) -> Model:
        """The model of a student, without what does not decide its size."""
        if self.is_of_teacher:
            return teacher.model.model_copy(update=self.model)
        return Model(**self.model, tie="all" if teacher.text.joint else "target")

    def vocabulary(self, teacher: int) -> int:
        """Entries of the vocabulary of a student, given those of its teacher."""
        return teacher if self.subwords is None else min(teacher, self.subwords)


STUDENT_SIZES: dict[SizeName, StudentSize] = {  # the largest first
    "base": StudentSize({"d_model": 512, "heads": 8, "d_ff": 2048, "encoder_layers": 6, "decoder_layers": 2}, 32_000),
    "small": StudentSize({"d_model": 256, "heads": 4, "d_ff": 768, "encoder_layers": 4, "decoder_layers": 1}, 16_000),
    "tiny": StudentSize({"d_model": 192, "heads": 4, "d_ff": 512, "encoder_layers": 3, "decoder_layers": 1}, 8000),
    "shallow": StudentSize({"decoder_layers": 1}),  # whose size is that of the teacher without these layers
}

TRAINING: dict[str, Any] = {
    "best_by": "bleu",  # the loss would be that of references, which a student does not imitate
    "early_stopping": None,
}
"""Settings of the training that differ from those that `choose_training` chooses."""

LOWER_RATE = 0.5  # of a student that starts with the weights of its teacher, relative to random ones
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
        directions: The names of the directions of the student, such as ``de-dsb``; none for all that the first teacher
            was trained for.
    """

    size: SizeName
    minutes: float | None
    distillation: Distillation
    directions: tuple[str, ...] = ()


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
    directions = find_directions(whole.data, path, plan.directions)
    document, others = whole.to_dict(), list[str]()
    if whole.data.directions:
        document["data"] = data_of_directions(whole.data, directions)
        if "data.train" not in {each.partition("=")[0].strip() for each in overrides}:
            _refuse_only_joined(whole.data, directions)
            others = _other_sources(whole.data, directions, log)
    teacher = build_recipe(document, of_data, origin=path)
    if plan.directions and (more := {*teacher.data.directions} - {*directions}):
        raise UserError(
            f"--set data.train: has text in {', '.join(map(name_direction, sorted(more)))}, but --directions are "
            f"{', '.join(plan.directions)}; leave one of them out, or add these directions"
        )
    if any(str(each.corpus).startswith(IMPORTED) for each in teacher.data.weighted):
        raise UserError(f"{path}: was imported, so its training text is not known; name some with --set data.train=…")
    # before the text is read, which takes long
    bundle, files = _check_teachers(plan.distillation, teacher.data, others, log)
    mono_files = dict.fromkeys(chain.from_iterable(files.values()))
    plan = replace(plan, distillation=plan.distillation.model_copy(update={"mono": tuple(mono_files)}))
    try:
        facts = _facts_of_text(teacher.data, bundle, data_directory)
    except UserError as error:
        hint = "" if of_data else f"; it is training text of {path}; if it was moved, name it with --set data.train=…"
        raise UserError(f"{error}{hint}") from error
    mono = Counter[Languages]()
    for direction in files:
        mono[direction] = sum(1 for _ in OtherSources(files[direction], teacher.data, direction, data_directory).read())
        if teacher.data.directions and not (mono[direction] or facts.by_direction.get(direction)):
            raise UserError(
                f"{path}: no {direction[0]} text by people to translate into {direction[1]}; name some with --mono, or "
                "leave the direction out with --directions"
            )
    subwords = STUDENT_SIZES[plan.size].vocabulary(largest_vocabulary(bundle))
    machine = measure_chosen_speed(overrides)
    document = _choose_sections(plan, teacher, facts, mono.total(), subwords, machine) | {
        "name": f"{'-'.join((teacher.name, *plan.directions))[:190]}-{plan.size}",
        "distillation": plan.distillation.model_dump(mode="json", exclude_none=True),
        "teachers": {"translation_share": TRANSLATION_SHARE},
    }
    if STUDENT_SIZES[plan.size].is_of_teacher and set(teacher.data.directions) != set(whole.data.directions):
        document["training"]["new_vocabulary"] = True  # for fewer languages
    recipe = build_recipe(document, overrides, origin=f"{plan.size} student of {path}")
    if STUDENT_SIZES[plan.size].is_of_teacher and (others := list(start_differences(recipe, bundle.recipe))):
        raise UserError(
            "\n  ".join(
                [
                    f"a {plan.size} student starts with the weights of {path}, so these settings cannot differ",
                    *others,
                    "leave out their --set, or choose another --size",
                ]
            )
        )
    is_seed_other = recipe.training.seed != teacher.training.seed
    if not recipe.data.validation and (is_seed_other or whole.data.validation):
        why = ", also because training.seed is not that of the teacher" if is_seed_other else ""
        log(
            f"warning: there is no validation text, so some pairs are held out; {path} may have learned them{why}, and "
            "then its scores on them are too high; name validation text with --set data.validation=…"
        )
    for direction in recipe.data.directions:
        log(f"{name_direction(direction)}: {_describe_text(facts.by_direction.get(direction, 0), mono[direction])}")
    kept = recipe.training.start_from and not recipe.training.new_vocabulary
    parameters = count_parameters(recipe.model, subwords) if kept else None  # imported ones do not state their number
    log(_describe_plan(plan, recipe, facts, mono.total(), machine, parameters=parameters))
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
        plan: What it is planned for; it names what has translated the text.
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
    base = made.recipe()
    subwords = STUDENT_SIZES[plan.size].vocabulary(base.text.vocabulary_size)
    document = _choose_sections(plan, base, made.facts, 0, subwords, made.machine) | {
        "name": f"{'-'.join(languages)}-{plan.size}",
        "distillation": plan.distillation.model_dump(mode="json", exclude_none=True),
    }
    recipe = build_recipe(document, overrides, origin=f"{plan.size} student")
    log(_describe_plan(plan, recipe, made.facts, 0, made.machine, translated=True))
    return recipe


def find_directions(data: Data, path: str, names: Sequence[str]) -> list[Languages]:
    """The directions of a student, in the order of its teacher.

    Args:
        data: The text of the teacher.
        path: The teacher, for the error.
        names: Names of directions; none for all.

    Raises:
        UserError: The teacher was not trained for one of them.
    """
    directions = {name_direction(each): each for each in data.directions or (data.languages,)}
    if lacking := [name for name in names if name not in directions]:
        raise UserError(f"{path}: no direction {', '.join(lacking)}; there is {', '.join(directions)}")
    return [each for name, each in directions.items() if name in names or not names]


def data_of_directions(data: Data, directions: Sequence[Languages]) -> dict[str, Any]:
    """The section for a student of a teacher with several directions: the text of some of them.

    As many pairs are held out as the teacher has held out of each two languages, so they are the same ones.
    """
    least = data.least_held_out_weight
    held_out_of = {
        frozenset(data.languages_of(each.corpus)) for each in data.weighted if not each.tagged and each.weight >= least
    }
    is_one, (source, target) = len(directions) == 1, directions[0]
    kinds = sum(any(frozenset(each) == pair for each in directions) for pair in held_out_of)
    own = {
        "source_language": source,
        "target_language": target,
        "directions": () if is_one else tuple(directions),
        "temperature": 1.0 if is_one else data.temperature,
        "validation_pairs": max(1, data.validation_pairs // max(1, len(held_out_of))) * max(1, kinds),
    }

    def is_used(corpus: CorpusReference, only: bool = False) -> bool:
        return any(each in directions for each in data.directions_of(corpus, only))

    def state(corpus: CorpusReference) -> CorpusReference:
        """The corpus with its languages, unless they are those of a recipe with one direction."""
        if not (is_one and data.languages_of(corpus) == (source, target)):
            return data.state(corpus)
        return corpus if isinstance(corpus, str) else corpus.model_copy(update={"languages": None})

    corpora = {
        # sources in the opposite direction are text of machines
        "train": tuple(
            each.model_copy(update={"corpus": state(each.corpus)})
            for each in data.weighted
            if is_used(each.corpus, each.tagged or each.one_way)
        ),
        "validation": tuple(state(each) for each in data.validation if is_used(each)),
        "test": tuple(state(each) for each in data.test if is_used(each)),
    }
    changed = data.model_copy(update={**own, **corpora})
    return changed.model_dump(mode="json", exclude_none=True)


def _refuse_only_joined(data: Data, directions: Sequence[Languages]) -> None:
    """Refuse directions that the teacher learned only from lines that corpora of other directions share."""
    used = [data.languages_of(each.corpus) for each in data.weighted]
    pairs = {frozenset(each) for each in used if each in directions or each[::-1] in directions}
    lacking = [
        name_direction(each)
        for each in directions
        if frozenset(each) not in pairs and not (data.join and can_be_joined(each, pairs))
    ]
    if lacking:
        raise UserError(
            f"no corpus is in {', '.join(lacking)}, which was learned from lines that other corpora share; name more "
            "of the directions, or none for all"
        )


def _other_sources(data: Data, directions: Sequence[Languages], log: Log) -> list[str]:
    """Files with text in a source language of the directions, in the training text that none of them is learned from.

    Text that cannot be read like files of `--mono` is not used, and the log says so. Nor is text of machines.
    """
    sources, is_one, files = {source for source, _ in directions}, len(directions) == 1, list[str]()
    for each in data.weighted:
        languages = data.languages_of(each.corpus)
        if each.tagged or languages in directions or languages[::-1] in directions:
            continue
        found = _files_of_sides(each.corpus, languages)
        for code in languages[:1] if each.one_way else languages:
            file = found.get(code)
            if code not in sources:
                continue
            if file and Path(file).is_file() and (is_one or stated_language(file, [code])):
                files.append(file)
                continue
            reason = "it is not in a separate UTF-8 file"
            if file:
                reason = "its name states no language" if Path(file).is_file() else "there is no such file"
            name = file or describe_reference(each.corpus)
            remedy = f"write it to a file such as mono.{code}, and add --mono mono.{code}"
            log(f"{name}: the text in {code} is not used, because {reason}; {remedy}")
    return files


def _files_of_sides(corpus: CorpusReference, languages: Languages) -> dict[str, str]:
    """The UTF-8 text files of a corpus by language; none if it is stored in another way."""
    if getattr(corpus, "encoding", None):
        return {}
    if isinstance(corpus, FilePair):
        return dict(zip(languages, (corpus.source, corpus.target), strict=True))
    name = file_name(corpus)
    return {code: name.replace("{lang}", code) for code in languages} if "{lang}" in name else {}


def _check_monolingual(file: str, teacher: Bundle) -> None:
    """Raise UserError if a file has no text, or is in another language than the teacher translates."""
    count_texts(file)
    with closing(read_lines(Path(file))) as lines:
        check_language(lines, teacher, file)


def _facts_of_text(data: Data, teacher: Bundle, data_directory: Path | None) -> TextFacts:
    """Facts about the training text, in tokens of the teacher; raises UserError if a corpus cannot be read."""
    untagged = [each for each in data.weighted if not each.tagged]  # others are not translated
    facts, sample = collect_facts(untagged or data.weighted, data.languages, data_directory, data.directions)
    return facts_with(facts, (teacher.source, teacher.target), sample)


def _describe_plan(
    plan: StudentPlan,
    recipe: Recipe,
    facts: TextFacts,
    mono: int,
    machine: MachineSpeed,
    *,
    translated: bool = False,
    parameters: int | None = None,
) -> str:
    """How much text there is, and how long it takes; `mono` is the number of monolingual texts."""
    expected = expect_training(recipe, facts.with_pairs(mono), machine, parameters)
    if translated:
        time = f"training takes {describe_minutes(recipe.training.minutes or expected.minutes)}"
    elif recipe.training.minutes:
        translating = describe_minutes(recipe.teachers.translation_share * recipe.training.minutes)
        time = f"translating takes at most {translating} of the {describe_minutes(recipe.training.minutes)}"
    else:
        time = f"after translating, training takes about {describe_minutes(expected.minutes)}"
    text = _describe_text(facts.pairs, mono)
    return f"{plan.size}: {text}; {expected.parameters / 1e6:.1f} million parameters; {time}"


def _describe_text(pairs: int, mono: int) -> str:
    return counted(pairs, "training pair") + (f" and {counted(mono, 'monolingual text')}" if mono else "")


def _check_teachers(
    settings: Distillation, data: Data, others: Sequence[str], log: Log
) -> tuple[Bundle, dict[Languages, list[str]]]:
    """The first teacher, and the files with monolingual text for each direction.

    `others` are files that nobody has named as such text; the log says which are not used, because they are in another
    language.

    Raises:
        UserError: The bundles do not fit together, or monolingual text is in another language.
    """
    mono = mono_to_translate([*dict.fromkeys((*settings.mono, *others))], data)
    for direction, files in mono.items():
        bundles = _open_teachers(settings, direction)
        for name, each in zip(settings.teachers, bundles, strict=True):
            _warn_of_useless(f"{name}, {name_direction(direction)}" if data.directions else name, each, log)
        for file in [*files]:
            try:
                _check_monolingual(file, bundles[0])
            except UserError as error:
                if file in settings.mono:
                    raise
                log(f"warning: {str(error).partition(';')[0]}; this text is not used")
                files.remove(file)
    return bundles[0], mono


def _open_teachers(settings: Distillation, languages: Languages) -> Sequence[Bundle]:
    """The teachers; raises UserError if the bundles do not fit together, or one was not trained for the languages."""
    if settings.round_trip is not None:
        BundleEnsemble.load([settings.round_trip], languages[::-1])
    bundles = BundleEnsemble.load(settings.teachers, languages).bundles
    for name, bundle in zip(settings.teachers, bundles, strict=True):
        if bundle.is_zero_shot:
            known = ", ".join(map(name_direction, bundle.directions))
            raise UserError(f"{name}: was not trained for {name_direction(languages)}, only for {known}")
    return bundles


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
    if STUDENT_SIZES[size].is_of_teacher and recipe.model.decoder_layers < teacher.recipe.model.decoder_layers:
        return
    weights = count_parameters(recipe.model, recipe.text.vocabulary_size)
    limit, subwords = parameter_counts(teacher.model)["total"], largest_vocabulary(teacher)
    if weights < limit:
        return
    advice = "there is no --size with fewer weights than that"
    for name, other in STUDENT_SIZES.items():
        shape = (teacher.recipe.model if other.is_of_teacher else recipe.model).model_copy(update=other.model)
        if count_parameters(shape, other.vocabulary(subwords)) < limit:
            advice = f"choose --size {name}" if name != size else "leave out the --set that makes it so large"
            break
    log(
        f"the student has {weights:,} weights and {path} has {limit:,}, so it is not smaller, and may not be faster; "
        f"{advice}"
    )


def _choose_sections(
    plan: StudentPlan, teacher: Recipe, facts: TextFacts, mono: int, subwords: int, machine: MachineSpeed
) -> dict[str, Any]:
    """The sections that all recipes have, as plain data; `mono` is the number of monolingual texts."""
    size = STUDENT_SIZES[plan.size]
    shape = size.shape(teacher)
    speed = machine.tokens_per_second(count_parameters(shape, subwords))
    with_mono = facts.with_pairs(mono)
    share = EPOCHS_SHARE if size.is_of_teacher else 1.0
    budget = plan_budget(with_mono, plan.minutes, speed, epochs_share=share)
    width = LARGE_MODEL if shape.d_model >= LARGE_MODEL.d_model else SMALL_MODEL
    without_mono = plan_budget(facts, plan.minutes, speed)
    dropout = choose_dropout(facts, without_mono)["model.dropout"]  # less was not measured with monolingual text
    model = {
        **shape.model_dump(mode="json"),
        "positions": teacher.model.positions,  # so that the same exports are possible
        "max_length": teacher.model.max_length,
        "dropout": round(max(0.0, dropout.value - LESS_DROPOUT), 3),
    }
    if shape.implementation == "torch":  # has one dropout for all places
        model |= dict.fromkeys(("attention_dropout", "activation_dropout"), model["dropout"])
    training = {
        **values_of("training", choose_training(with_mono, width, budget)),
        "augmentation": teacher.training.augmentation.model_dump(),
        "seed": teacher.training.seed,  # which decides which pairs are held out
        **TRAINING,
        "validation_sentences": 200 if plan.minutes and plan.minutes < SHORT_MINUTES else 1000,
    }
    sections = teacher.to_dict()
    text = {**sections["text"], "bpe_dropout": 0.0}
    if size.is_of_teacher:
        training |= {
            "start_from": plan.distillation.teachers[0],
            "learning_rate": LOWER_RATE * training["learning_rate"],
            "warmup_steps": min(training["warmup_steps"], MAX_WARMUP),
        }
    else:
        text["vocabulary_size"] = subwords
    return {
        "data": sections["data"],
        "text": text,
        "model": model,
        "training": {key: value for key, value in training.items() if value is not None},
        "decoding": {**sections["decoding"], **GREEDY},
    }
