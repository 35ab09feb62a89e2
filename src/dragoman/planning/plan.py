"""From files of text and a budget to a recipe."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.references import describe_reference
from dragoman.dataset.pairs import find_training_corpora
from dragoman.dataset.prepare import describe_tokens_per_word
from dragoman.dataset.tokenizer_training import balance
from dragoman.doctor.data.cleaned_text import CleanedText, clean_data
from dragoman.errors import UserError, counted
from dragoman.planning.adaptation import (
    EPOCHS_SHARE,
    StartingPoint,
    choose_adaptation,
    choose_old_text,
    choose_start_share,
    load_start,
    text_in_common,
)
from dragoman.planning.budget import (
    FEW_STEPS,
    ExpectedTraining,
    MachineSpeed,
    PlannedBudget,
    advise,
    chosen_minutes,
    count_parameters,
    describe_minutes,
    expect_training,
    measure_chosen_speed,
    plan_budget,
    refuse_short_stages,
)
from dragoman.planning.choose import (
    LARGE_MODEL,
    MANY_PAIRS,
    NO_DROPOUT_EPOCHS,
    SMALL_MODEL,
    TINY_MODEL,
    Choices,
    ChosenValue,
    ModelSize,
    as_document,
    choose_model,
    choose_settings,
    choose_text,
    values_of,
    vocabulary_size,
)
from dragoman.planning.machine_text import weigh_machine_text
from dragoman.planning.text_facts import TextFacts, collect_facts, facts_with, share_of_known_tokens, train_on_sample
from dragoman.recipe import build_recipe, overridden
from dragoman.settings import CorpusReference, Data, Model, Recipe, Text, WeightedCorpus
from dragoman.settings.data import joined_directions
from dragoman.system.progress import Log, Update, no_log, no_update
from dragoman.system.time_limit import TimeLimit
from dragoman.text.multilingual import name_direction
from dragoman.training.report.verdict import FEW_EPOCHS
from dragoman.training.run.run_data import check_start_fits, same_depth
from dragoman.training.stages.text import require_mono_language

ADAPTED = "-adapted"
"""The end of the name of a recipe that starts from a bundle, whose run is often called like the languages."""
MAX_TOKENS = 128
MAX_HELD_OUT = 1000  # validation pairs
PREPARATION = 1.5
"""How long preparing the text takes after it was checked to choose settings, relative to that; measured with 40,000
pairs."""
MAX_BLOCK = 50  # neighboring pairs; in corpora of documents, lines further apart have little in common
MIN_BLOCKS = 10
MAX_MINUTES = 24 * 60.0  # of training a large model, if no time is given


@dataclass(frozen=True)
class Texts:
    """The text to plan for.

    Attributes:
        languages: Source and target.
        train: Corpora to train on.
        validation: Corpora to validate on; if there are none, pairs are held out.
        test: Corpora to score the finished translator on.
        clean: Leave out training pairs with problems.
        join: Train on the pairs that corpora in several languages make together, too.
        directions: All directions, if there are several; `languages` are those of the first.
        mono: Files of monolingual text to translate back.
        named: What a run is called, if not after all languages: old text may be in others.
    """

    languages: Languages
    train: Sequence[CorpusReference | WeightedCorpus]
    validation: Sequence[CorpusReference] = ()
    test: Sequence[CorpusReference] = ()
    clean: bool = True
    join: bool = True
    directions: tuple[Languages, ...] = ()
    mono: tuple[str, ...] = ()
    named: str = ""

    @property
    def name(self) -> str:
        """What a run with this text is called."""
        codes = sorted({code for direction in self.directions for code in direction})
        return self.named or "-".join(codes or self.languages)

    def with_joined(self) -> Texts:
        """The text with the directions, too, in which there may be pairs because corpora share lines."""
        return replace(self, directions=(*self.directions, *joined_directions(self.directions)))

    def data(self) -> Data:
        """The text as the section of a recipe."""
        source, target = self.languages
        return Data(
            source_language=source,
            target_language=target,
            train=tuple(self.train),
            validation=tuple(self.validation),
            test=tuple(self.test),
            clean=self.clean,
            join=self.join,
            directions=self.directions,
        )


@dataclass(frozen=True)
class PlannedRecipe:
    """Chosen settings, and what they are based on.

    Attributes:
        name: The name of the recipe, such as the languages.
        choices: The settings, with reasons.
        facts: The training text.
        machine: The speed of the machine.
        cleaned: What was left out of the training text.
        start: The bundle that the training starts from.
        texts: The text.
    """

    name: str
    choices: Choices
    facts: TextFacts
    machine: MachineSpeed
    cleaned: CleanedText | None
    start: StartingPoint | None
    texts: Texts

    def recipe(self, overrides: Sequence[str] = ()) -> Recipe:
        """The recipe with overrides, ``SECTION.KEY=VALUE`` each; UserError if they are invalid."""
        return build_recipe(as_document(self.name, self.choices), overrides, self.name)

    def refuse_short_stages(self, overrides: Sequence[str] = (), given: float | None = None) -> None:
        """Raises UserError if stages have too little time, see `dragoman.planning.budget.refuse_short_stages`.

        Args:
            overrides: Those of the recipe.
            given: The minutes of the command, if training gets only a part of them.
        """

        def plan(minutes: float) -> Recipe:
            return plan_with(self.texts, self.facts, minutes, self.machine, start=self.start).recipe(overrides)

        refuse_short_stages(self.recipe(overrides), self.machine, given, plan)

    def expect(self, recipe: Recipe) -> ExpectedTraining:
        """How long training takes on this machine.

        Args:
            recipe: The recipe with the overrides that training uses.
        """
        start = self.start
        is_same = start and not recipe.training.new_vocabulary and same_depth(recipe.model, start.recipe.model)
        parameters = start.parameters if start and is_same else None
        return expect_training(recipe, self.facts, self.machine, parameters)

    def summary(self, recipe: Recipe) -> str:
        """How much text there is and what to expect, without what was left out.

        Args:
            recipe: The recipe with the overrides that training uses.
        """
        facts, start, expected = self.facts, self.start, self.expect(recipe)
        tokens = replace(facts, old_share=0).target_tokens
        words = f"{counted(facts.source.words, 'source word')}, {counted(facts.target.words, 'target word')}"
        lines = [
            f"{self.name}: {facts.count('training pair')}: {words}, about {tokens:,} target tokens",
            f"{expected.parameters / 1e6:.1f} million parameters; expect about {counted(expected.steps, 'step')}, "
            f"{expected.epochs:,.1f} epochs and {describe_minutes(expected.minutes)}, at "
            f"{expected.tokens_per_second:,.0f} tokens per second on this machine",
            *_describe_directions(facts, recipe.data.temperature, expected.epochs),
            *self.machine.describe_load(),
            *advise(facts, expected.epochs, bool(recipe.backtranslation.mono)),
        ]
        if start:
            share = f"{facts.old_share:.2g}"
            pairs = "pair" if share == "1" else "pairs"
            mixed = f"; its training text is mixed in, {share} {pairs} for each new one"
            whose = "another" if recipe.training.new_vocabulary else "its"
            lines.insert(1, f"starts from {start.path}, with {whose} vocabulary{mixed if facts.old_share else ''}")
            kept = choose_start_share(facts, start)
            if recipe.training.start_share == kept.value:
                lines.insert(2, f"training.start_share = {kept.value}: {kept.reason}")
            if recipe.text.lowercase:
                lines.insert(2, "it converts text to lower case, and so will the new translator")
        return "\n".join(lines)


def _describe_directions(facts: TextFacts, temperature: float, epochs: float) -> Iterator[str]:
    """What each direction of a model with several contributes, and how often its text is read."""
    for direction, share in direction_shares(facts, temperature).items():
        pairs = facts.by_direction.get(direction, 0) + facts.old_by_direction.get(direction, 0)
        times = epochs * share * facts.pairs_per_epoch / max(1, pairs)
        yield f"{name_direction(direction)}: {counted(pairs, 'pair')}, {share:.0%} of the steps, read {times:.1f} times"
    if facts.tokens_per_word:
        yield f"tokens per word: {describe_tokens_per_word(facts.tokens_per_word)}"


def plan_recipe(
    texts: Texts,
    minutes: float | None,
    data_directory: Path | None,
    log: Log = no_log,
    start_from: str | None = None,
    overrides: Sequence[str] = (),
    limit: TimeLimit | None = None,
    update: Update = no_update,
) -> PlannedRecipe:
    """Read the training text and choose a recipe for it.

    Args:
        texts: The text.
        minutes: The time for training; None chooses a number of epochs.
        data_directory: Mirror of the dataset catalog.
        log: Receives messages while text is checked.
        start_from: The bundle or run directory that the training starts from.
        overrides: ``SECTION.KEY=VALUE`` each, with which the bundle must agree; they can set the time, too.
        limit: The time for everything, of which training gets the rest; instead of `minutes`.
        update: Receives the progress of the checks.

    Raises:
        UserError: The text or the bundle cannot be used, for example because the bundle is of other languages.
    """
    minutes = chosen_minutes(minutes, overrides)
    start, tokenizers = None, None
    if start_from is not None:  # refused before the text is read, which takes long
        given = overridden(overrides, "training.new_vocabulary")
        start, tokenizers = load_start(start_from, texts.languages, given if isinstance(given, bool) else None)
    find_training_corpora(texts.data(), data_directory).check_files(
        "the text is read to choose settings, and again to train"
    )
    train = weigh_machine_text(texts.train, texts.languages, bool(texts.validation), data_directory, log)
    texts = replace(texts, train=train, join=overridden(overrides, "data.join") is not False)
    if texts.join:
        texts = texts.with_joined()
    temperature = TEMPERATURE if start is None else 1.0  # decides the weight of text that corpora make together
    text = texts.data().model_copy(update={"temperature": temperature})
    data, cleaned = clean_data(text, data_directory, log, update)
    facts, sample = collect_facts(data.weighted, texts.languages, data_directory, texts.directions)
    if not texts.directions:  # as training does, before anything else takes long
        reversed_pairs = [pair.reversed for pair in sample]
        require_mono_language(texts.mono, reversed_pairs, texts.languages[::-1], "--mono")
    if untrained := [each for each in texts.directions if each not in facts.by_direction]:
        given = {frozenset(data.languages_of(each.corpus)) for each in data.weighted}
        if machine_made := [name_direction(each) for each in untrained if frozenset(each) in given]:
            log(f"not trained, because no text by people is in that direction: {', '.join(machine_made)}")
        trained = tuple(each for each in texts.directions if each in facts.by_direction)
        texts = replace(texts, directions=trained, languages=trained[0])
    if facts.pairs == 1 and not texts.validation:
        raise UserError(
            "the training text has one pair, and training needs another one to validate on; add text, or name "
            "validation text (dragoman train --validation)"
        )
    if start is None or tokenizers is None:
        facts = measure_subwords(facts, sample, texts.languages)
    else:
        facts = facts_with(facts, tokenizers, sample)
        new = [each.corpus for each in texts.data().weighted]
        old, share = choose_old_text(start, texts.languages, new, facts.distinct_pairs, data_directory, log)
        old_directions, with_text = start.recipe.data.directions, list[Languages]()
        if old:
            old_facts, old_sample = collect_facts(old, texts.languages, data_directory, old_directions)
            likeness = text_in_common(sample, old_sample)
            with_text = [each for each in old_directions if each in old_facts.by_direction]
            directions = tuple(dict.fromkeys([*texts.directions, *with_text])) if old_directions else ()
            texts = replace(texts, train=[*texts.train, *old], directions=directions, named=texts.name)
            facts = facts.with_old_text(old_facts, share, likeness)
        if dropped := [each for each in old_directions if each not in (*with_text, *texts.directions)]:
            log(
                f"not trained again, because there is no old text in that direction: "
                f"{', '.join(map(name_direction, dropped))}; the new model may translate worse there"
            )
    _refuse_untrained(texts)
    machine = measure_chosen_speed(overrides)
    if limit:
        sentences = (1 + len(texts.test)) * MAX_HELD_OUT
        minutes = round(limit.training_minutes(sentences, PREPARATION * limit.spent), 4)
    made = plan_with(texts, facts, minutes, machine, cleaned, start)
    if start is None or tokenizers is None:
        return made
    recipe = made.recipe(overrides)
    check_start_fits(recipe, start.recipe, start.path)
    if not recipe.training.new_vocabulary:
        return made
    learned = train_on_sample(sample, texts.languages, recipe.text)
    start = replace(start, known_tokens=share_of_known_tokens(learned, tokenizers, sample))
    return plan_with(texts, facts_with(facts, learned, sample), minutes, machine, cleaned, start)


def _refuse_untrained(texts: Texts) -> None:
    """Check that held-out text is in directions that are trained: corpora may share too few lines for one."""
    data, trained = texts.data(), ", ".join(map(name_direction, texts.directions))
    for each in (*texts.validation, *texts.test):
        if trained and not data.directions_of(each):
            raise UserError(
                f"{describe_reference(each)}: text in {name_direction(data.languages_of(each))}, but there is no text "
                f"to train that, and corpora share too few lines; the directions are {trained}"
            )


def measure_subwords(
    facts: TextFacts, sample: Sequence[Pair], languages: Languages, settings: Text | None = None
) -> TextFacts:
    """The facts with the length of the sample in subwords, split by tokenizers with these settings.

    Measured characters per subword: 3.4 to 4.5 in German, English and Hindi corpora, 3.7 in Czech, 2.2 in Korean, 2.1
    in Japanese and 1.6 in Chinese interface texts. The sample gives 0 to 4 % more than the whole text in four corpora
    of up to 176,000 pairs, because its words are in the vocabulary.

    Args:
        facts: The text.
        sample: Some of its pairs.
        languages: Source and target.
        settings: Those of the tokenizers; by default, they are chosen for the text.
    """
    settings = settings or Text(**values_of("text", choose_text(facts)))
    return facts_with(facts, train_on_sample(sample, languages, settings), sample)


def plan_with(
    texts: Texts,
    facts: TextFacts,
    minutes: float | None,
    machine: MachineSpeed,
    cleaned: CleanedText | None = None,
    start: StartingPoint | None = None,
) -> PlannedRecipe:
    """The recipe for a text of which the facts are known.

    Args:
        texts: The text, which is not read.
        facts: The facts about its training pairs.
        minutes: The time for training; None chooses a number of epochs.
        machine: The speed of the machine.
        cleaned: What was left out of the training text.
        start: The bundle that the training starts from.
    """
    name, longest = texts.name, MAX_TOKENS
    if start is None:
        settings = choose_settings(facts, *choose_size(facts, minutes, machine))
    else:
        speed = machine.tokens_per_second(start.parameters)
        budget = plan_budget(facts, minutes, speed, epochs_share=EPOCHS_SHARE)
        settings = choose_adaptation(facts, start, budget)
        name, longest = f"{name}{ADAPTED}", min(MAX_TOKENS, start.recipe.model.max_length - 1)
    choices = {**_choose_data(texts, facts, cleaned, longest), **settings, **_choose_mono(texts)}
    return PlannedRecipe(name, choices, facts, machine, cleaned, start, texts)


def choose_size(facts: TextFacts, minutes: float | None, machine: MachineSpeed) -> tuple[ModelSize, PlannedBudget]:
    """The size of the model, and what the time amounts to with it.

    A large model needs much text, and time to read it several times. If there is time for few steps and few epochs of
    a small one, a tiny one learns more, because it takes more steps.

    Args:
        facts: The text.
        minutes: The time for training; None if there is no limit.
        machine: The speed of the machine.
    """
    if facts.distinct_pairs >= MANY_PAIRS:
        budget = _plan_budget(facts, LARGE_MODEL, minutes, machine)
        if budget.epochs >= FEW_EPOCHS and (minutes is not None or budget.expected_minutes <= MAX_MINUTES):
            return LARGE_MODEL, budget
    budget = _plan_budget(facts, SMALL_MODEL, minutes, machine)
    if budget.steps < FEW_STEPS and budget.epochs < NO_DROPOUT_EPOCHS:
        return TINY_MODEL, _plan_budget(facts, TINY_MODEL, minutes, machine)
    return SMALL_MODEL, budget


def _plan_budget(facts: TextFacts, size: ModelSize, minutes: float | None, machine: MachineSpeed) -> PlannedBudget:
    model = Model(**values_of("model", choose_model(facts, size)))
    parameters = count_parameters(model, vocabulary_size(facts.pairs))
    return plan_budget(facts, minutes, machine.tokens_per_second(parameters), allow_r_drop=True)


TEMPERATURE = 2.0
"""Of `data.temperature`: with 1, the smallest of three pairs of Sorbian languages gets a sixth of the steps."""


def _choose_directions(texts: Texts, facts: TextFacts) -> Choices:
    """The directions of a model with several, and how they are balanced."""
    if not texts.directions:
        return {}
    temperature = 1.0 if facts.old_share else TEMPERATURE
    shares = ", ".join(
        f"{name_direction(each)} {share:.0%}" for each, share in direction_shares(facts, temperature).items()
    )
    reason = "Old text has weights instead" if facts.old_share else "Small pairs of languages are seen more often"
    return {
        "data.directions": ChosenValue(
            [list(each) for each in texts.directions],
            "All that the text has, each pair in both directions, and those for which corpora share lines.",
        ),
        "data.temperature": ChosenValue(temperature, f"{reason}: {shares}."),
    }


MONO_TEACHER_SHARE = 0.4
"""Of the time, before monolingual text is translated, for a model that is trained further afterwards."""


def _choose_mono(texts: Texts) -> Choices:
    """Back-translation of monolingual text, if there is any."""
    if not texts.mono:
        return {}
    choices: Choices = {
        "backtranslation.mono": ChosenValue(list(texts.mono), "Monolingual text, which a translator translates back.")
    }
    if texts.directions:
        choices["backtranslation.method"] = ChosenValue("greedy", "Faster: there is time for more of the text.")
        choices["teachers.share"] = ChosenValue(
            MONO_TEACHER_SHARE, "Share of the time before that; the same model is then trained further."
        )
    return choices


def direction_shares(facts: TextFacts, temperature: float) -> dict[Languages, float]:
    """The share of each direction in an epoch, see `data.temperature`."""
    pairs: dict[frozenset[str], float] = defaultdict(float)
    for direction, weight in facts.weights.items():
        pairs[frozenset(direction)] += weight
    shares = balance(pairs, temperature, 1.0)
    return {
        direction: shares[frozenset(direction)] * weight / pairs[frozenset(direction)]
        for direction, weight in facts.weights.items()
    }


def _choose_data(texts: Texts, facts: TextFacts, cleaned: CleanedText | None, max_tokens: int) -> Choices:
    mixed = ", and old text, so that the translator forgets less of it" if facts.old_share else ""
    data = texts.data().model_dump(mode="json", exclude_none=True)
    choices = {
        "data.source_language": ChosenValue(data["source_language"], "Language codes."),
        "data.target_language": ChosenValue(data["target_language"], "The language to translate into."),
        **_choose_directions(texts, facts),
        "data.train": ChosenValue(data["train"], f"Training text: {facts.count('pair')}{mixed}."),
        "data.validation": ChosenValue(data["validation"], "Text to choose the best checkpoint with."),
    }
    if not texts.validation:
        held_out = min(MAX_HELD_OUT, max(1, facts.distinct_pairs // 20))
        if facts.similar_neighbors:
            block = min(MAX_BLOCK, max(1, held_out // MIN_BLOCKS))
            reason = "… in blocks of neighboring pairs, because neighbors are similar: single pairs would be too easy."
        else:
            block, reason = 1, "… one by one; a larger number holds out blocks of neighbors, which documents need."
        choices["data.validation_pairs"] = ChosenValue(
            held_out,
            "Without validation text, this many pairs of the training text are held out: a twentieth, at most 1,000 …",
        )
        choices["data.validation_block"] = ChosenValue(block, reason)
    choices["data.test"] = ChosenValue(data["test"], "Text to score the finished translator with.")
    choices["data.max_tokens"] = ChosenValue(
        max_tokens, "Longer pairs are left out: they are often misaligned, and need much memory."
    )
    if texts.clean:
        found = str(cleaned) if cleaned else "duplicates, misaligned lines, wrong languages and others"
        choices["data.clean"] = ChosenValue(True, f"Leave out pairs with problems: {found}.")
    return choices
