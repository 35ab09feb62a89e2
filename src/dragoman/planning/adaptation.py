"""Training that starts from a bundle: its settings, and old text that is mixed in so that less is forgotten."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from dragoman.bundle import Bundle, describe_direction, translates
from dragoman.corpus.corpus import find_corpora
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.doctor.data.corpora import stated_languages
from dragoman.errors import UserError, counted
from dragoman.languages.codes import primary_language
from dragoman.model.transformer import parameter_counts
from dragoman.planning.budget import PlannedBudget
from dragoman.planning.choose import (
    LARGE_MODEL,
    SMALL_MODEL,
    Choices,
    ChosenValue,
    choose_augmentation,
    choose_dropout,
    choose_training,
)
from dragoman.planning.text_facts import TextFacts
from dragoman.settings import CorpusReference, Recipe, Settings, WeightedCorpus
from dragoman.settings.data import IMPORTED, LEAST_WEIGHT
from dragoman.system.progress import Log
from dragoman.text.multilingual import name_direction
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.run.run_data import check_start_languages, start_in_direction

MAX_WARMUP = 100  # steps
MUON_RATE_OF_NEW_LANGUAGES = 6e-3
"""In ten minutes, a model of German, English and French learned to write Czech: 22.3 BLEU instead of 10.8 with Adam."""
OTHER_LANGUAGES = "The bundle translates other languages, so a vocabulary is learned from the text."

START_SHARE = 0.45  # of the initial weights in the final ones
MIN_KNOWN_TOKENS = 0.9  # of a new vocabulary; with 0.6, the share cost 5 points of chrF, and gained 0.5 on old text
SAME_TEXT, OTHER_TEXT = 0.65, 0.5  # likeness of samples of the same text: 0.74 to 1; of different subjects: 0.1 to 0.5
START_SHARE_PAIRS = 1000  # new pairs; with more, there is more old text next to them, and less is forgotten anyway
EPOCHS_SHARE = 0.5  # of the epochs of a training from random weights


@dataclass(frozen=True)
class StartingPoint:
    """A bundle to start from.

    Attributes:
        path: The bundle or run directory, as the user writes it.
        recipe: Its recipe.
        parameters: The number of its weights.
        same_languages: Whether it translates the languages of the training.
        known_tokens: The share of the tokens of the training text that its vocabulary has; 1 if that is used.
    """

    path: str
    recipe: Recipe
    parameters: int
    same_languages: bool = True
    known_tokens: float = 1.0


def load_start(
    path: str, languages: Languages, new_vocabulary: bool | None = None
) -> tuple[StartingPoint, tuple[Tokenizer, Tokenizer]]:
    """A bundle to start from, and its tokenizers of source and target.

    Args:
        path: The bundle or run directory.
        languages: Source and target of the training.
        new_vocabulary: Whether the training has another vocabulary, so that the languages of the bundle do not matter;
            None decides by these.

    Raises:
        UserError: It is missing or damaged, or its vocabulary is to be used for other languages.
    """
    bundle = Bundle.load(path)
    if bundle.recipe.data.directions and not new_vocabulary:  # its vocabulary grows if it lacks a language
        start = StartingPoint(path, bundle.recipe, parameter_counts(bundle.model)["total"])
        return start, (bundle.source, bundle.target)
    same_languages = translates(bundle, languages)
    if new_vocabulary is None:
        new_vocabulary = not same_languages
    bundle = start_in_direction(bundle, languages, new_vocabulary)
    if not new_vocabulary:
        check_start_languages(languages, bundle.recipe, path)
    start = StartingPoint(path, bundle.recipe, parameter_counts(bundle.model)["total"], same_languages)
    return start, (bundle.source, bundle.target)


def choose_adaptation(facts: TextFacts, start: StartingPoint, budget: PlannedBudget) -> Choices:
    """Settings for a text and a budget; those of text, model and search are the bundle's."""
    recipe = start.recipe
    text, model = "Text is split into tokens as in the bundle.", "The model of the bundle."
    copied = _copy("model", recipe.model, model)
    for key in ("model.dropout", "model.embedding_init"):
        copied.pop(key, None)
    choices: Choices = {
        **_copy("text", recipe.text, text),
        **_copy("text.specials", recipe.text.specials, text),
        **copied,
        **choose_dropout(facts, budget),
        "training.start_from": ChosenValue(start.path, "The bundle whose weights are the initial ones."),
    }
    if not start.same_languages:
        choices["training.new_vocabulary"] = ChosenValue(True, OTHER_LANGUAGES)
    return {
        **choices,
        "training.start_share": choose_start_share(facts, start),
        **_choose_training(facts, start, budget),
        **_choose_augmentation(facts, recipe, budget),
        **_copy("decoding", recipe.decoding, "The search of the bundle."),
    }


def _choose_augmentation(facts: TextFacts, recipe: Recipe, budget: PlannedBudget) -> Choices:
    """The augmentation of other recipes, and what keeps the bundle able to use terms and matches."""
    choices = choose_augmentation(facts, budget) if recipe.text.tokenizer in ("bpe", "unigram") else {}
    augmentation = recipe.training.augmentation
    kept = {key: share for key in ("terms", "fuzzy_matches") if (share := getattr(augmentation, key))}
    room, needed = 1 - sum(choice.value for choice in choices.values()), sum(kept.values())
    for key, share in kept.items():
        fitting = share if needed <= room else math.floor(1000 * share * room / needed) / 1000  # at most 1 in all
        choices[f"training.augmentation.{key}"] = ChosenValue(fitting, "As for the bundle, which would forget it.")
    return choices


def choose_start_share(facts: TextFacts, start: StartingPoint) -> ChosenValue:
    """The share of the initial weights in the final ones, by what the training has in common with the bundle.

    What is learned and what is known before must be of the same languages and tokens: otherwise, a mean of the weights
    costs much and keeps nothing. New text of another kind needs a low share once there is enough of it; new text like
    the old one loses nothing by a high share.
    """
    share, reason = START_SHARE, "less is forgotten."
    if new := _new_directions(facts, start):
        share, reason = 0.0, f"none, because it has never seen {' and '.join(map(name_direction, new))}."
    elif not start.same_languages:
        bundle = describe_direction(start.recipe.data.languages)
        share, reason = 0.0, f"none, because it translates other languages ({bundle})."
    elif start.known_tokens < MIN_KNOWN_TOKENS:
        share, reason = (
            0.0,
            f"none, because its vocabulary has only {start.known_tokens:.0%} of the tokens of the text.",
        )
    elif facts.old_share:
        difference = min(1.0, max(0.0, (SAME_TEXT - facts.old_likeness) / (SAME_TEXT - OTHER_TEXT)))
        many = 1 - min(1.0, START_SHARE_PAIRS / facts.pairs)
        share *= 1 - difference * many * min(1.0, facts.old_share)
        if not difference:
            reason = "high, because the new text is like the old one."
        elif share < START_SHARE / 2:
            reason = f"low, because {facts.pairs:,} new pairs next to old text, which is different, forget little."
    return ChosenValue(round(share, 2), f"The bundle's share of the final weights: {reason}")


def _new_directions(facts: TextFacts, start: StartingPoint) -> list[Languages]:
    """The directions of the text in which a bundle with several was not trained."""
    return [each for each in facts.by_direction if each not in start.recipe.data.directions]


def _has_new_language(facts: TextFacts, start: StartingPoint) -> bool:
    """Whether the text has a language that the bundle does not know."""
    known = set(map(primary_language, start.recipe.data.all_languages))
    return not known.issuperset(primary_language(each) for direction in facts.by_direction for each in direction)


def _choose_training(facts: TextFacts, start: StartingPoint, budget: PlannedBudget) -> Choices:
    size = LARGE_MODEL if start.recipe.model.d_model >= LARGE_MODEL.d_model else SMALL_MODEL
    choices = choose_training(facts, size, budget)
    if size == SMALL_MODEL and _has_new_language(facts, start):
        rate = MUON_RATE_OF_NEW_LANGUAGES
    else:
        rate = 5e-4 if size == LARGE_MODEL else 1e-3
        if size == SMALL_MODEL:
            choices["training.weight_decay"] = ChosenValue(0.1, "Weight decay of the matrices.")
            choices["training.schedule"] = choices["training.schedule"]._replace(value="cosine")
        choices["training.optimizer"] = ChosenValue(
            "adamw", "Adam with decoupled weight decay, for which the learning rate and start_share were measured."
        )
    choices["training.learning_rate"] = ChosenValue(
        rate, "Peak learning rate: lower than for random weights, so that less is forgotten."
    )
    choices["training.warmup_steps"] = ChosenValue(
        min(choices["training.warmup_steps"].value, MAX_WARMUP),
        "Steps in which the learning rate rises: few, because the weights are trained.",
    )
    return choices


def _copy(section: str, settings: Settings, reason: str) -> Choices:
    """The settings of a section that differ from the defaults; the first one states the reason for all."""
    values = settings.model_dump(mode="json")
    changed = [
        name
        for name, field in type(settings).model_fields.items()
        if (value := getattr(settings, name)) != field.get_default() and not isinstance(value, Settings)
    ]
    return {
        f"{section}.{name}": ChosenValue(values[name], "" if number else reason) for number, name in enumerate(changed)
    }


OLD_SHARE = 1.0
"""Pairs of old text in an epoch for each new one. With half as many, a model lost 5.5 instead of 3.4 points of chrF on
old text, and its chrF on new text was 1.2 lower, in the same time."""

MOST_OLD_WEIGHT = 0.99
"""The largest weight of an old corpus. Validation pairs are held out of corpora with the weight 1, the new ones."""

MOST_PAIRS = 1_000_000
"""More old text than this takes long to prepare."""


def choose_old_text(
    start: StartingPoint,
    languages: Languages,
    new: Sequence[CorpusReference],
    pairs: int,
    data_directory: Path | None,
    log: Log,
) -> tuple[list[WeightedCorpus], float]:
    """The training corpora of a bundle, with low weights.

    Args:
        start: The bundle.
        languages: Those of the new training.
        new: The new training corpora, which are left out.
        pairs: The number of their pairs.
        data_directory: Mirror of the dataset catalog.
        log: Receives what is mixed in, and why a corpus is not: its file may have been replaced, for example.

    Returns:
        The corpora, and how many of their pairs an epoch has for each new one.
    """
    data, known = start.recipe.data, set[object]()
    for reference, corpus in zip(new, _find(new, languages, data_directory), strict=True):
        known.add(_identify(corpus, stated_languages(reference) or languages))
    found: list[tuple[WeightedCorpus, int]] = []
    messages: list[str] = []
    try:
        if any(str(old.corpus).startswith(IMPORTED) for old in data.weighted):
            raise UserError("the bundle was imported, and its text is not known")
        if data.languages != languages and not data.directions:
            raise UserError(f"it is in {'-'.join(data.languages)}")
        for old in data.weighted:
            (corpus,) = _find([old.corpus], data.languages, data_directory)
            place = ", ".join(str(file.resolve()) for file in corpus.files) or corpus.name
            if data.directions:
                place = f"{place} ({name_direction(data.languages_of(old.corpus))})"
            if _identify(corpus, data.languages_of(old.corpus)) in known:
                messages.append(f"not mixed in, because it is also new text: {place}")
            else:
                found.append((old, count := sum(pair.complete for pair in corpus.read())))
                if count:
                    messages.append(f"mixed in, as old text: {place}, {counted(count, 'pair')}")
        if (total := sum(count for _, count in found)) > MOST_PAIRS:
            raise UserError(f"it has {total:,} pairs; name some of them in data.train")
    except UserError as error:
        log(f"the training text of {start.path} is not mixed in, so the new translator will forget more of it: {error}")
        return [], 0.0
    for message in messages:
        log(message)
    found = [(old, count) for old, count in found if count]
    if not found:
        return [], 0.0
    highest = max(old.weight for old, _ in found)
    scale = OLD_SHARE * min(1.0, pairs * highest / sum(old.weight * count for old, count in found)) / highest
    weights = (min(MOST_OLD_WEIGHT, max(LEAST_WEIGHT, float(f"{scale * old.weight:.3g}"))) for old, _ in found)
    mixed = [
        old.model_copy(update={"weight": weight, "corpus": data.state(old.corpus) if data.directions else old.corpus})
        for (old, _), weight in zip(found, weights, strict=True)
    ]
    return mixed, sum(each.weight * count for each, (_, count) in zip(mixed, found, strict=True)) / pairs


def _find(references: Sequence[CorpusReference], languages: Languages, data_directory: Path | None) -> list[Corpus]:
    source, target = languages
    return find_corpora(references, source_language=source, target_language=target, data_directory=data_directory)


def _identify(corpus: Corpus, languages: Languages) -> object:
    """A key that is equal for corpora of the same text: the files, or the name if there are none, and two languages.

    A memory may have text in many.
    """
    return tuple(file.resolve() for file in corpus.files) or corpus.name, frozenset(languages)


def text_in_common(new: Sequence[Pair], old: Sequence[Pair]) -> float:
    """How similar two texts are: about 1 for samples of the same text, and less than 0.6 for different subjects.

    Half of a text contains some of the pairs of neighboring words in its other half. It contains fewer of those in a
    different text; the result is the ratio. Of both directions, the lower one counts: a text about many subjects
    resembles each special one, but not the other way round.

    Args:
        new: Pairs of one text.
        old: Pairs of the other text.
    """
    return min(_resemblance(new, old), _resemblance(old, new), 1.0)


def _resemblance(pairs: Sequence[Pair], others: Sequence[Pair]) -> float:
    """The share of the word pairs of a text that half of another text contains, relative to that text's other half."""
    if any(pair.direction for pair in others):  # each is there in both directions, so both halves would be alike
        others = list({frozenset(pair[:2]): pair for pair in others}.values())
    known = set(_word_pairs(others[::2]))
    shares = []
    for each in (pairs, others[1::2]):
        found = [word_pair in known for word_pair in _word_pairs(each)]
        shares.append(sum(found) / max(1, len(found)))
    share, usual = shares
    return share / usual if usual else 0.0


def _word_pairs(pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    """Pairs of neighboring words; of neighboring characters in texts without spaces, such as Chinese ones."""
    for pair in pairs:
        for text in (pair.source, pair.target):
            yield from pairwise(text.split() if " " in text.strip() else text)
