"""The choice of settings for trainings that start from a bundle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dragoman.corpus.pair import Pair
from dragoman.planning.adaptation import (
    OLD_SHARE,
    SAME_TEXT,
    START_SHARE,
    StartingPoint,
    choose_old_text,
    choose_start_share,
    text_in_common,
)
from dragoman.planning.budget import MachineSpeed
from dragoman.planning.choose import ChosenValue
from dragoman.planning.plan import Texts, plan_with
from dragoman.planning.text_facts import SideFacts, TextFacts
from dragoman.recipe import build_recipe
from dragoman.settings import Recipe
from dragoman.settings.data import IMPORTED

TEXTS = Texts(("de", "en"), ["my/train.{lang}"])


def facts_of(pairs: int) -> TextFacts:
    side = SideFacts(60 * pairs, 12 * pairs, "Latin")
    return TextFacts(pairs, side, side)


def start_of(**sections: Any) -> StartingPoint:
    document = {
        "name": "old",
        "data": {"source_language": "de", "target_language": "en", "train": ["old.tsv"], "max_tokens": 9},
        "text": {"vocabulary_size": 1234, "normalization": "nfkc", "specials": {"unk": "[UNK]"}},
        "model": {"d_model": 96, "d_ff": 100, "positions": "rotary", "max_length": 60},
        "training": {"steps": 1},
        "decoding": {"beam_size": 3},
    }
    return StartingPoint("runs/old", build_recipe(document | sections), 6_000_000)


def adapted(pairs: int, start: StartingPoint, minutes: float | None = None) -> Recipe:
    return plan_with(TEXTS, facts_of(pairs), minutes, MachineSpeed(5e11), None, start).recipe()


@pytest.mark.parametrize("pairs", [1, 1000, 30_000, 1_000_000])
@pytest.mark.parametrize("minutes", [None, 5.0])
def test_an_adaptation_is_shorter_and_slower(pairs: int, minutes: float | None) -> None:
    start = start_of()
    new, plain = adapted(pairs, start, minutes), plan_with(TEXTS, facts_of(pairs), minutes, MachineSpeed(5e11)).recipe()
    assert (new.text, new.decoding) == (start.recipe.text, start.recipe.decoding)
    assert new.model == start.recipe.model.model_copy(update={"dropout": new.model.dropout})
    assert new.training.start_from == "runs/old"
    assert new.training.learning_rate < plain.training.learning_rate
    assert new.training.warmup_steps <= 100
    assert new.data.max_tokens == 59, "the model reads no longer sentences"
    assert new.training.minutes == minutes
    if new.training.epochs is not None and plain.training.epochs is not None:
        assert new.training.epochs < plain.training.epochs


def test_much_new_text_with_old_text_keeps_less_of_the_initial_weights() -> None:
    def share(pairs: int, old_share: float) -> float:
        facts = replace(facts_of(pairs), old_share=old_share)
        return plan_with(TEXTS, facts, None, MachineSpeed(5e11), None, start_of()).recipe().training.start_share

    assert share(100, 1.0) == share(1000, 1.0) == share(1_000_000, 0.0) == START_SHARE
    assert START_SHARE > share(2000, 1.0) > share(5000, 1.0) > share(1_000_000, 1.0) == 0


def chosen_share(pairs: int = 1000, old_likeness: float | None = None, **start: Any) -> ChosenValue:
    facts = facts_of(pairs)
    if old_likeness is not None:
        facts = replace(facts, old_share=1.0, old_likeness=old_likeness)
    return choose_start_share(facts, replace(start_of(), **start))


def test_nothing_is_kept_of_weights_for_other_languages_or_tokens() -> None:
    same, learned, other_tokens, other_languages = (
        chosen_share(**start)
        for start in ({}, {"known_tokens": 0.95}, {"known_tokens": 0.6}, {"same_languages": False})
    )
    assert START_SHARE == same.value == learned.value > other_tokens.value == other_languages.value == 0
    assert "60%" in other_tokens.reason
    assert "de-en" in other_languages.reason


def test_much_is_kept_of_weights_for_similar_text() -> None:
    similar, different = (chosen_share(5000, likeness) for likeness in (0.9, 0.2))
    assert START_SHARE == similar.value > different.value > 0
    assert similar.reason != different.reason
    assert chosen_share(1000, 0.2).value == chosen_share(5000).value == START_SHARE


def pairs_about(subject: str, number: int, seed: int) -> list[Pair]:
    """Random sentences of twenty words of a subject, and five words that all subjects have."""
    words = [f"{subject}{index}" for index in range(20)] + ["the", "and", "of", "in", "is"]
    generator = Random(seed)
    source, target = ([" ".join(generator.choices(words, k=8)) for _ in range(number)] for _ in range(2))
    return [Pair(*texts) for texts in zip(source, target, strict=True)]


def test_texts_about_the_same_have_more_in_common() -> None:
    old = pairs_about("captions", 1000, 1)
    for number in (100, 1000):
        same, other = (pairs_about(subject, number, 2) for subject in ("captions", "software"))
        assert text_in_common(same, old) >= SAME_TEXT > 2 * text_in_common(other, old) > 0
        assert text_in_common([*same, *other], old) < text_in_common(same, old)
        assert text_in_common(other, [*old, *other]) < SAME_TEXT, "old text about everything is not like it"
        directed = [[pair._replace(direction=("de", "en")) for pair in text] for text in (same, old)]
        in_both = [[each for pair in text for each in (pair, pair.reversed)] for text in directed]
        assert text_in_common(*in_both) == pytest.approx(text_in_common(same, old)), "each pair in both directions"
    assert text_in_common(old[:1], old) == text_in_common(old, old[:1]) == 0


def test_large_models_have_a_lower_learning_rate() -> None:
    small, large = start_of(), start_of(model={"d_model": 512, "max_length": 200})
    assert adapted(1000, large).training.learning_rate < adapted(1000, small).training.learning_rate


def test_training_goes_on_with_adamw_and_its_own_settings() -> None:
    new, plain = (
        adapted(1000, start_of()).training,
        plan_with(TEXTS, facts_of(1000), None, MachineSpeed(5e11)).recipe().training,
    )
    assert (plain.optimizer, plain.schedule) == ("muon", "linear")
    assert (new.optimizer, new.schedule) == ("adamw", "cosine")
    assert new.weight_decay * new.learning_rate < plain.weight_decay * plain.learning_rate, "little is forgotten"
    large = adapted(1000, start_of(model={"d_model": 512, "max_length": 200})).training
    assert (large.optimizer, large.schedule) == ("adamw", "cosine")
    assert large.weight_decay < new.weight_decay


def test_a_new_language_is_learned_as_fast_as_from_random_weights() -> None:
    known, new = (replace(facts_of(1000), by_direction={direction: 1000}) for direction in (("de", "en"), ("de", "cs")))
    data = {"source_language": "de", "target_language": "en", "train": ["old.tsv"], "max_tokens": 9}
    start = start_of(data={**data, "directions": [["de", "en"], ["en", "de"]]})
    optimizers = [
        plan_with(TEXTS, facts, None, MachineSpeed(5e11), None, start).recipe().training.optimizer
        for facts in (known, new)
    ]
    assert optimizers == ["adamw", "muon"]


@pytest.mark.parametrize(("terms", "matches"), [(0.1, 0.25), (0.4, 0.6), (0.0, 0.25), (0.0, 0.0)])
def test_abilities_of_the_bundle_are_kept(terms: float, matches: float) -> None:
    """A translator that no longer sees marked terms or matches would forget how to use a glossary or a memory."""
    text = {"terms": terms > 0, "placeholders": True, "tokenizer": "bpe", "joint": True}
    old = {"steps": 1, "augmentation": {"terms": terms, "fuzzy_matches": matches}}
    new = adapted(1000, start_of(text=text, training=old)).training.augmentation
    assert (new.terms > 0, new.fuzzy_matches > 0) == (terms > 0, matches > 0)
    assert new.terms <= terms
    assert new.fuzzy_matches <= matches
    if terms + matches < 0.5:
        assert (new.terms, new.fuzzy_matches) == (terms, matches)


def test_words_get_no_augmentation_that_changes_letters() -> None:
    words = start_of(text={"tokenizer": "whitespace"})
    assert not any(adapted(1000, words).training.augmentation.model_dump().values())
    assert any(adapted(1000, start_of()).training.augmentation.model_dump().values())


def test_the_summary_counts_the_weights_of_the_bundle() -> None:
    planned = plan_with(TEXTS, facts_of(1000), None, MachineSpeed(5e11), None, start_of(text={"lowercase": True}))
    summary = planned.summary(planned.recipe())
    assert "6.0 million parameters" in summary
    assert "starts from runs/old" in summary
    assert f"training.start_share = {START_SHARE}: The bundle's share" in summary
    assert "converts text to lower case" in summary


@pytest.fixture
def old_files(tmp_path: Path) -> list[str]:
    """Two corpora of 300 and 100 pairs."""
    for name, number in (("one", 300), ("two", 100)):
        for language in ("de", "en"):
            (tmp_path / f"{name}.{language}").write_text(f"{name} in {language}\n" * number, "utf-8")
    return [str(tmp_path / f"{name}.{{lang}}") for name in ("one", "two")]


def start_with(train: list[Any], **data: Any) -> StartingPoint:
    return start_of(data={"source_language": "de", "target_language": "en", "train": train, "max_tokens": 9} | data)


@pytest.mark.parametrize("pairs", [10, 100, 100_000])
def test_an_epoch_has_at_most_as_many_old_pairs_as_new_ones(old_files: list[str], pairs: int) -> None:
    start = start_with([old_files[0], {"corpus": old_files[1], "weight": 3.0, "tagged": True}])
    (one, two), share = choose_old_text(start, ("de", "en"), [], pairs, None, print)
    assert share == pytest.approx((300 * one.weight + 100 * two.weight) / pairs)
    assert share == pytest.approx(OLD_SHARE, 0.02) if pairs <= 400 else share < OLD_SHARE
    assert two.weight == pytest.approx(3 * one.weight, 0.02)
    assert max(one.weight, two.weight) < 1, "held-out pairs are new ones"
    assert (one.tagged, two.tagged) == (False, True)


def test_old_text_is_left_out_where_it_is_new_or_missing(old_files: list[str], tmp_path: Path) -> None:
    messages: list[str] = []

    def choose(train: list[Any], new: list[str], **data: Any) -> list[str]:
        old, share = choose_old_text(start_with(train, **data), ("de", "en"), new, 100, None, messages.append)
        assert (share > 0) == bool(old)
        return [str(each.corpus) for each in old]

    assert choose(old_files, [old_files[1]]) == [old_files[0]]
    assert [message.split(",")[0] for message in messages] == ["mixed in", "not mixed in"]
    assert str(tmp_path / "one.de") in messages[0], "another project may have files of the same name"
    assert choose(old_files, old_files) == []
    (memory := tmp_path / "memory.tsv").write_text("Ein Hund.\tA dog.\n" * 9, "utf-8")
    languages = (["de", "en"], ["en", "de"], ["de", "fr"])
    texts = [{"file": str(memory), "languages": each} for each in languages]
    assert len(choose(texts, [str(memory)], directions=["de-en", "de-fr", "fr-de"])) == 1, "text in other languages"
    messages.clear()
    assert choose([*old_files, str(tmp_path / "missing.{lang}")], []) == []
    assert choose(old_files, [], target_language="fr") == []
    assert choose([f"{IMPORTED} opus-mt"], []) == []
    assert [message.count("is not mixed in") for message in messages] == [1, 1, 1]
    assert "the bundle was imported" in messages[-1]


def test_old_text_makes_epochs_longer() -> None:
    start, facts = start_of(), facts_of(1000)
    alone, mixed = (
        plan_with(TEXTS, each, None, MachineSpeed(5e11), None, start) for each in (facts, replace(facts, old_share=0.5))
    )
    assert mixed.facts.target_tokens == pytest.approx(1.5 * alone.facts.target_tokens, 0.01)
    assert "0.5 pairs for each new one" in mixed.summary(mixed.recipe())
