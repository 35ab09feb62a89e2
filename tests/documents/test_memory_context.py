"""A model that was trained with fuzzy matches uses the translation of a similar segment."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from random_bundles import make_bundle

import dragoman
from conftest import TINY
from dragoman.corpus.pair import Pair
from dragoman.corpus.writers import write_corpus
from dragoman.engines.fuzzy_memory import FuzzyMemory
from dragoman.lexicon.match_index import COMPARED
from dragoman.recipe import build_recipe
from dragoman.text.match import Match
from dragoman.training.run.run import train

GROUPS = 1000
WORDS = 12
"""In each language. The translation of a group is random, so that only a match can show it."""

Group = tuple[list[str], list[str]]


def make_group(generator: random.Random) -> Group:
    """Three source words and three target words that have nothing to do with each other."""
    return [f"a{generator.randrange(60)}" for _ in range(3)], [f"b{generator.randrange(WORDS)}" for _ in range(3)]


def pair_of(group: Group, number: int) -> Pair:
    """A pair of a group: its last words translate each other."""
    source, target = group
    return Pair(" ".join([*source, f"n{number}"]), " ".join([*target, f"m{number}"]))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dragoman.Translator:
    """A model of pairs of which two are in each group."""
    directory = tmp_path_factory.mktemp("matches")
    generator = random.Random(1)
    groups = [make_group(generator) for _ in range(GROUPS)]
    pairs = [pair_of(group, number) for group in groups for number in generator.sample(range(10), 2)]
    write_corpus(pairs, str(directory / "train.tsv"), ("de", "en"))
    settings: dict[str, Any] = TINY | {
        "data": TINY["data"] | {"train": [str(directory / "train.tsv")], "validation_pairs": 10},
        "text": {"tokenizer": "whitespace"},
    }
    overrides = [
        "training.augmentation.fuzzy_matches=0.9",
        "training.steps=200",
        "training.validations=1",
        "training.batch_tokens=1000",
        "model.positions=learned",
        "model.norm=pre",
    ]
    assert train(build_recipe(settings, overrides), directory / "run")
    return dragoman.load(directory / "run")


def test_the_model_copies_from_the_match(trained: dragoman.Translator) -> None:
    generator = random.Random(2)
    groups = [make_group(generator) for _ in range(50)]
    memory = dragoman.TranslationMemory(pair_of(group, 3) for group in groups)
    wanted = [pair_of(group, 5) for group in groups]
    sources = [pair.source for pair in wanted]
    found = list(dragoman.TextTranslator(trained, memory=memory).stream(sources))
    plain = list(dragoman.TextTranslator(trained).stream(sources))
    right = [sum(each.text == pair.target for each, pair in zip(some, wanted, strict=True)) for some in (found, plain)]
    assert right[0] > 40
    assert right[1] < 5
    assert {each.match for each in found} == {Match("fuzzy", 0.75)}


def test_models_that_follow_glossaries_also_read_matches(trained: dragoman.Translator) -> None:
    bundle = replace(trained.bundle, training_text=trained.bundle.training_text | {"terms": 0.07})
    translator = dragoman.Translator(bundle, engine=trained.engine)
    group = make_group(random.Random(5))
    memory = dragoman.TranslationMemory([pair_of(group, 3)])
    (found,) = dragoman.TextTranslator(translator, memory=memory).stream([pair_of(group, 5).source])
    assert found.match == Match("fuzzy", 0.75)


def test_a_match_that_makes_the_source_too_long_is_left_out(trained: dragoman.Translator) -> None:
    group = make_group(random.Random(3))
    memory = dragoman.TranslationMemory([Pair(pair_of(group, 3).source, "b1 " * 200)])
    (found,) = dragoman.TextTranslator(trained, memory=memory).stream([pair_of(group, 5).source])
    (plain,) = dragoman.TextTranslator(trained).stream([pair_of(group, 5).source])
    assert found == plain


def test_explanations_show_the_match(trained: dragoman.Translator) -> None:
    group = make_group(random.Random(4))
    memory = dragoman.TranslationMemory([pair_of(group, 3)])
    explained = trained.with_memory(memory).explain(pair_of(group, 5).source)
    assert explained.translation.match.kind == "fuzzy"
    assert explained.attention.source.tokens[4:8] == ["<s>", *group[1]]


@pytest.mark.parametrize("copies", [1, COMPARED, 200])
def test_segments_that_differ_only_in_a_placeholder_do_not_hide_a_more_similar_one(copies: int) -> None:
    bundle = make_bundle("placeholders", training__augmentation__fuzzy_matches=0.25)
    similar = [Pair(f"mit einem roten Ball. Ein Hund läuft im Schnee {{n{n}}}", f"{{n{n}}}") for n in range(copies)]
    wanted = Pair("Ein Hund springt im Schnee mit einem blauen Ball", "A dog jumps")
    memory = FuzzyMemory(dragoman.TranslationMemory([*similar, wanted]), bundle, 150)
    (ids,) = bundle.source.encode(["Ein Hund läuft im Schnee mit einem roten Ball"])
    context, match = memory.find(ids)
    assert match.score > 0.7
    assert context[1:] == bundle.target.encode([wanted.target])[0]
