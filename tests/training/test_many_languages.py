"""One model for several directions: what each pair becomes, and that runs are as exact as with two languages."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from forked_ranks import train_in_forks
from three_languages import PAIRS, documents, recipe_of_many, relative, write_texts

from dragoman.bundle import Bundle, choose_direction
from dragoman.corpus.pair import Pair
from dragoman.dataset import prepare
from dragoman.dataset.pairs import find_training_corpora
from dragoman.dataset.prepare import Dataset
from dragoman.dataset.split import HeldOutText
from dragoman.dataset.tokenizer_training import balance, copies_of
from dragoman.errors import UserError
from dragoman.planning.student import data_of_directions
from dragoman.recipe import build_recipe, save_recipe
from dragoman.settings import Recipe
from dragoman.system.files import sha256
from dragoman.system.progress import ProgressLine
from dragoman.text.multilingual import in_direction, name_direction
from dragoman.training.loop.batches import BatchStream
from dragoman.training.loop.progress import Progress
from dragoman.training.run.describe import describe
from dragoman.training.run.log import read_metrics
from dragoman.training.run.open_checkpoint import open_checkpoint
from dragoman.training.run.run import train
from dragoman.training.stages.recipes import check_stage_corpora, teacher_recipe
from dragoman.training.stages.text import collect_text

if TYPE_CHECKING:
    from collections.abc import Callable

EVERYTHING = (
    "text.placeholders=true",
    "text.terms=true",
    "text.bpe_dropout=0.2",
    "model.dropout=0.1",
    "training.r_drop=1",
    "training.optimizer=muon",
    "training.accumulation=2",
    "training.length_groups=2",
    *(
        f"training.augmentation.{kind}=0.12"
        for kind in (
            "upper_case",
            "title_case",
            "typos",
            "no_end_punctuation",
            "single_words",
            "terms",
            "fuzzy_matches",
        )
    ),
)
"""All that changes what a model reads."""


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The texts in three languages."""
    directory = tmp_path_factory.mktemp("texts")
    write_texts(directory, "train", 200)
    write_texts(directory, "validation", 10)
    return directory


@pytest.fixture(scope="module")
def make(texts: Path) -> Callable[..., Recipe]:
    """Makes tiny recipes for all directions."""

    def make(*overrides: str, **data: Any) -> Recipe:
        short = ("training.steps=4", "training.validations=1", "decoding.max_length=10")
        return recipe_of_many(texts, *short, *overrides, **data)

    return make


@pytest.fixture(scope="module")
def everything(make: Callable[..., Recipe]) -> Dataset:
    """The dataset of a recipe with all changes, and a small pair of languages that is seen more often."""
    return prepare.prepare(make(*EVERYTHING, "data.temperature=3"), None, None, print)


def test_recipes_have_all_directions_of_their_text(make: Callable[..., Recipe]) -> None:
    directions = [each for pair in PAIRS for each in (pair, pair[::-1])]
    assert list(make().data.directions) == directions
    assert make().data.languages == directions[0]
    assert build_recipe(make().to_dict()) == make(), "resolved recipes stay as they are"
    chosen = make('data.directions=["de-en", "hsb-de", "en-hsb"]').data
    assert (chosen.directions, chosen.languages) == ((("de", "en"), ("hsb", "de"), ("en", "hsb")), ("de", "en"))
    with pytest.raises(UserError, match="no training corpus is in de-fr"):
        make('data.directions=["de-en", "de-fr", "hsb-de", "en-hsb"]')
    with pytest.raises(UserError, match="a model with several needs"):
        make("text.joint=false", "model.tie=target")


def test_each_pair_is_read_in_both_directions(make: Callable[..., Recipe]) -> None:
    data = prepare.prepare(make(), None, None, print)
    assert data.train.directions is not None
    read: Counter[Any] = Counter()
    for index, number in enumerate(data.train.directions.tolist()):
        languages = data.directions[number]
        source, target = (side[index].tolist() for side in (data.train.source, data.train.target))
        assert data.source.vocabulary.tokens[source[0]] == f"<2{languages[1]}>"
        assert not set(data.source.all_language_ids) & {*source[1:], *target}
        read[languages, data.source.decode(source), data.target.decode(target)] += 1
    for (languages, source, target), count in read.items():
        assert read[languages[::-1], target, source] == count


def test_text_that_is_held_out_is_in_no_pair_of_its_language(make: Callable[..., Recipe], texts: Path) -> None:
    line = (texts / "de-en" / "train.de").read_text("utf-8").splitlines()[190]  # also a line of de-hsb
    (texts / "held.de").write_text(f"{line}\nEtwas.\n", "utf-8")
    (texts / "held.hsb").write_text("Neco.\nTo.\n", "utf-8")
    held = {"source": str(texts / "held.de"), "target": str(texts / "held.hsb"), "languages": ["de", "hsb"]}
    for key in ("validation", "test"):
        corpora = {"validation": documents(texts, "validation")} | {key: [held]}
        data = prepare.prepare(make(**corpora), None, None, print)
        sides = zip(data.train.source, data.train.target, strict=True)  # type: ignore[call-overload]
        texts_read = {data.source.decode(ids.tolist()) for pair in sides for ids in pair}
        assert line not in texts_read
        assert len(texts_read) > 300
    pairs = HeldOutText([Pair("Der Hund.", "Pos.", direction=("de", "hsb"))])
    for pair, is_held_out in (
        (Pair("A dog.", "Der Hund.", direction=("en", "de")), True),
        (Pair("Pos.", "Other", direction=("hsb", "en")), True),
        (Pair("Der Hund.", "Other", direction=("en", "hsb")), False),
    ):
        assert (pair in pairs) == is_held_out


def test_pairs_are_held_out_in_both_directions(make: Callable[..., Recipe]) -> None:
    data = prepare.prepare(make("data.validation_pairs=30", validation=[]), None, None, print)
    held_out = Counter(pair.direction for pair in data.validation)
    assert dict(held_out) == dict.fromkeys(data.directions, 10)
    assert {pair.reversed for pair in data.validation} == set(data.validation)


def test_temperature_balances_pairs_of_languages(make: Callable[..., Recipe], texts: Path) -> None:
    small = documents(texts)
    for side in ("source", "target"):
        lines = Path(small[1][side]).read_text("utf-8").splitlines(keepends=True)
        small[1][side] = str(texts / f"small.{side}")
        Path(small[1][side]).write_text("".join(lines[:50]), "utf-8")
    shares = {}
    for temperature in (1.0, 2.0, 100.0):
        data = prepare.prepare(make(f"data.temperature={temperature}", train=small), None, None, print)
        assert data.train.directions is not None
        weights = np.ones(len(data.train)) if data.train.weights is None else data.train.weights
        assert weights.sum() == pytest.approx(len(data.train), rel=1e-3), "epochs are as long"
        of_direction = np.bincount(data.train.directions, weights)
        shares[temperature] = of_direction[2] / of_direction.sum()
        assert of_direction[2] == pytest.approx(of_direction[3])
    assert shares[1.0] < shares[2.0] < shares[100.0] == pytest.approx(1 / 6, rel=0.02)


def test_text_with_a_low_weight_is_balanced_too(make: Callable[..., Recipe], texts: Path) -> None:
    seen = {}
    for weight in (1.0, 0.001):
        train = [{**documents(texts)[0], "weight": weight}, *documents(texts)[1:]]
        data = prepare.prepare(make("data.temperature=100", train=train), None, None, print)
        assert data.train.directions is not None
        of_direction = np.bincount(data.train.directions, data.train.weights)
        seen[weight] = of_direction[0] / of_direction.sum()
    assert seen[0.001] == pytest.approx(seen[1.0], rel=0.1)


def test_tagged_text_counts_in_whichever_order_it_is_stated(
    make: Callable[..., Recipe], texts: Path, tmp_path: Path
) -> None:
    found = []
    for number, languages in enumerate((["de", "hsb"], ["hsb", "de"])):
        tagged = {**documents(texts)[1], "languages": languages, "tagged": True}
        recipe = make(train=[*documents(texts), tagged])
        with ProgressLine("test", quiet=True) as line:
            copied = collect_text(recipe, None, tmp_path / str(number), line)
        marked = [kind for kind in copied.kinds if kind["tagged"]]
        assert [list(kind["languages"]) for kind in marked] == [languages]
        found.append(sum(copied.pairs))
    assert found[0] == found[1]


def test_one_way_text_is_read_only_in_its_direction(make: Callable[..., Recipe], texts: Path) -> None:
    first, *others = documents(texts)
    opposite = {"source": first["target"], "target": first["source"], "languages": first["languages"][::-1]}
    each = [{**first, "one_way": True}, {**opposite, "one_way": True}]
    read = [Counter(find_training_corpora(make(train=[*one, *others]).data, None)) for one in ([first], each)]
    assert Counter(pair._replace(one_way=False) for pair in read[1].elements()) == read[0]
    assert {pair.direction for pair in read[1] if pair.one_way} == {("de", "en"), ("en", "de")}
    with pytest.raises(UserError, match="no training corpus is in en-de"):
        make(train=[{**first, "one_way": True}, *others])


def test_directions_that_cannot_be_trained_are_refused(make: Callable[..., Recipe], texts: Path) -> None:
    tagged = [documents(texts)[0], {**documents(texts)[1], "tagged": True}]
    with pytest.raises(UserError, match=r"no pair to train on is in hsb-de; .* \['de-en', 'en-de', 'de-hsb'\]"):
        prepare.prepare(make(train=tagged, validation=documents(texts, "validation")[:2]), None, None, print)
    one_way = 'data.directions=["de-en", "de-hsb", "en-hsb"]'
    for overrides, message in (
        (["backtranslation.tagged=false"], r"backtranslation.tagged = false: is for models with one direction"),
        ([one_way], r"mono.hsb: no direction from hsb and back is trained"),
    ):
        with pytest.raises(UserError, match=message):
            check_stage_corpora(make("backtranslation.mono=['mono.hsb']", *overrides))
    check_stage_corpora(make("backtranslation.mono=['mono.hsb']"))


def test_a_teacher_that_an_earlier_version_has_trained_keeps_its_schedule(
    make: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mono.hsb").write_text("Dobry dźeń.\n", "utf-8")
    recipe = make(f"backtranslation.mono=['{tmp_path}/mono.hsb']")

    def whole_schedule(*arguments: Any) -> Recipe:
        made = teacher_recipe(*arguments)
        return made.model_copy(update={"training": made.training.model_copy(update={"schedule_part": (0.0, 1.0)})})

    with monkeypatch.context() as patch:
        patch.setattr("dragoman.training.stages.stages.teacher_recipe", whole_schedule)
        patch.setattr("dragoman.training.stages.stages.make_corpora", lambda *arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(recipe, tmp_path / "run")
    assert train(recipe, tmp_path / "run", resume=True)


def test_students_hold_out_what_their_teacher_has_held_out(make: Callable[..., Recipe]) -> None:
    recipe = make("data.validation_pairs=30", validation=[])
    held_out = [(pair.source, pair.target) for pair in prepare.prepare(recipe, None, None, print).validation]
    every = list(recipe.data.directions)
    for directions in ([("de", "hsb")], [("hsb", "en")], [("hsb", "de"), ("de", "en")], every[::3], every):
        document = recipe.to_dict() | {"data": data_of_directions(recipe.data, directions)}
        student = prepare.prepare(build_recipe(document), None, None, print).validation
        assert len(student) == 10 * len(directions)
        assert {(pair.source, pair.target) for pair in student} <= set(held_out)


def test_samples_have_the_wanted_size() -> None:
    wanted = balance({"de": 900, "hsb": 100}, 2.0, 1000)
    assert wanted == {"de": pytest.approx(750), "hsb": pytest.approx(250)}
    for number, size in ((900, 750.0), (100, 250.0), (7, 7.0)):
        assert sum(copies_of(index, number, size) for index in range(number)) == int(size)


def test_changed_pairs_stay_in_their_direction(make: Callable[..., Recipe], everything: Dataset) -> None:
    recipe = make(*EVERYTHING, "data.temperature=3")
    batches, tokens = BatchStream(recipe, everything, Progress()), everything.source.vocabulary.tokens
    of_language = {name: everything.source.vocabulary.ids[f"<2{name}>"] for name in recipe.data.all_languages}
    hsb = set("áêìøùŠ")
    seen: Counter[Any] = Counter()
    for _ in range(60):
        for batch in batches.next_step():
            for group in batch:
                for source, target in zip(group.source.tolist(), group.target_output.tolist(), strict=True):
                    assert source[0] in of_language.values(), "always the first token, also of changed sources"
                    assert not set(of_language.values()) & {*source[1:], *target}
                    text = everything.target.decode(target).lower()
                    if len(text) > 20:
                        is_hsb = bool(hsb & set(text))
                        seen[tokens[source[0]], is_hsb] += 1
    wrong = seen["<2hsb>", False] + seen["<2de>", True] + seen["<2en>", True]
    assert wrong <= 0.01 * seen.total(), seen
    assert min(seen["<2hsb>", True], seen["<2de>", False], seen["<2en>", False]) > 50


def test_matches_are_in_the_same_direction(everything: Dataset) -> None:
    assert everything.matches is not None
    assert everything.train.directions is not None
    found = np.flatnonzero(everything.matches >= 0)
    assert len(found) > 20
    of_match = everything.train.directions[everything.matches[found]]
    assert (everything.train.directions[found] == of_match).all()


def test_each_direction_has_its_masking(everything: Dataset) -> None:
    for languages in everything.directions:
        masking = in_direction(everything.source, languages, "source").masking
        assert masking
        assert masking.known
        assert ("ø" in masking.known.characters) == (languages[0] == "hsb")


def test_a_large_text_is_prepared_like_a_small_one(
    make: Callable[..., Recipe], everything: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(prepare, "IN_MEMORY_PAIRS", 10)
    monkeypatch.setattr(prepare, "SHARD_PAIRS", 300)
    large = prepare.prepare(make(*EVERYTHING, "data.temperature=3", "training.threads=1"), None, None, print)
    assert large.train.maps, "mapped from files"
    assert (large.words, large.validation) == (everything.words, everything.validation)
    for one, other in ((large.train, everything.train), (large.train.source, everything.train.source)):
        for name in ("weights", "directions", "ids", "offsets"):
            if hasattr(one, name):
                assert np.array_equal(getattr(one, name), getattr(other, name))
    assert large.matches is not None
    assert everything.matches is not None
    assert np.array_equal(large.matches, everything.matches)


def test_the_order_of_directions_decides_what_is_cached(
    make: Callable[..., Recipe], texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "IN_MEMORY_PAIRS", 10)
    orders = ['["de-en", "en-de", "de-hsb", "hsb-de"]', '["de-en", "de-hsb", "hsb-de", "en-de"]']
    for order in (*orders, *orders):
        own = {"train": documents(texts)[:2], "validation": documents(texts, "validation")[:2]}
        data = prepare.prepare(make(f"data.directions={order}", **own), None, None, print)
        assert data.train.directions is not None
        for index in range(0, len(data.train), 7):
            languages = data.directions[data.train.directions[index]]
            assert data.source.vocabulary.tokens[data.train.source[index][0]] == f"<2{languages[1]}>"


def test_text_in_directions_that_are_not_trained_is_refused(make: Callable[..., Recipe], texts: Path) -> None:
    held_out = documents(texts, "validation")
    chosen = 'data.directions=["de-en", "en-de"]'
    for name in ("validation", "test"):
        both = {"train": documents(texts)[:1], "validation": held_out[:1], name: held_out[:2]}
        with pytest.raises(UserError, match=rf"data.{name}: .* is not trained; the directions are de-en, en-de"):
            prepare.prepare(make(chosen, **both), None, None, print)


def test_a_resumed_run_is_the_same_and_its_bundle_knows_each_direction(
    make: Callable[..., Recipe], texts: Path, tmp_path: Path
) -> None:
    options = (*EVERYTHING, "data.temperature=3", "training.validations=2", "training.validation_sentences=12")
    recipe = make(*options, test=documents(texts, "validation"))
    assert train(recipe, tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "resumed")
    shutil.rmtree(tmp_path / "resumed" / "bundle")
    shutil.rmtree(tmp_path / "resumed" / "checkpoints" / "step-00000004")
    assert train(recipe, tmp_path / "resumed", resume=True)
    weights = [sha256(tmp_path / name / "bundle" / "model.safetensors") for name in ("whole", "resumed")]
    assert weights[0] == weights[1]
    bundle, names = Bundle.load(tmp_path / "whole"), set(map(name_direction, recipe.data.directions))
    assert bundle.facts.keys() == names
    assert bundle.profiles.keys() == {"de", "en", "hsb"}
    for source, target in recipe.data.directions:
        view = choose_direction(bundle, source, target)
        assert view.training_text["evidence"]
        assert view.scores
        assert view.alignment
        assert (view.validation["pairs"], view.validation["sentences"]) == (10, 10)
        assert view.validation["wrong_language"] is not None
        shown = f"{source}-{target}, validation: BLEU {view.validation['bleu']:.2f}, chrF "
        assert shown in (tmp_path / "whole" / "bundle" / "README.md").read_text("utf-8")
    about = describe(tmp_path / "whole")
    assert about["scores"].keys() == about["validation"].keys() == names
    validations = [line for line in read_metrics(tmp_path / "whole" / "metrics.jsonl") if line["kind"] == "validation"]
    for line in validations:
        assert line["directions"].keys() == names
        for key in ("bleu", "chrf", "loss", "wrong_language"):
            assert line[key] == pytest.approx(np.mean([each[key] for each in line["directions"].values()]), abs=1e-3)
        prefixed = [f"{name}: {one}" for name, each in line["directions"].items() for one in each["problems"]]
        assert line["problems"] == prefixed
    checkpoint = open_checkpoint(max((tmp_path / "whole" / "checkpoints").iterdir()))
    assert checkpoint.profiles == bundle.profiles, "it recognizes the same languages"
    report = (tmp_path / "whole" / "report.html").read_text("utf-8")
    assert all(f"<td>{name}</td>" in report for name in names)
    assert all(f"{name}: validation scores" in report for name in names)


def test_another_language_is_added_to_a_model(
    make: Callable[..., Recipe], texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = documents(texts)[:1]
    both = make('data.directions=["de-en", "en-de"]', train=pair, validation=documents(texts, "validation")[:1])
    assert train(both, tmp_path / "two")
    old = Bundle.load(tmp_path / "two")
    known = {"constant": 1.0, "mean": 2.0, "probability": 3.0, "length": 4.0}
    replace(old, facts={name: {**each, "confidence": known} for name, each in old.facts.items()}).save(
        tmp_path / "two" / "bundle"
    )
    old_text = {**documents(texts)[0], "weight": 0.9}  # mixed in, so nothing is held out of it
    more = make(
        f"training.start_from={tmp_path / 'two'}",
        "training.steps=1",
        "training.learning_rate=1e-9",
        train=[old_text, *documents(texts)[1:]],
        validation=[],
    )
    assert train(more, tmp_path / "three")
    assert "no validation text in de-en, en-de:" in capsys.readouterr().err
    new = Bundle.load(tmp_path / "three")
    assert new.facts["de-en"]["confidence"] == known, "without validation text, it stays as it was"
    assert new.facts["de-hsb"]["confidence"] == {}
    assert new.facts["de-en"]["validation"] == {}
    size = len(old.source.vocabulary)
    assert new.source.vocabulary.tokens[:size] == old.source.vocabulary.tokens
    assert len(new.source.vocabulary) > size
    before, after = (bundle.model.target_embedding.weight[:size].detach() for bundle in (old, new))
    assert torch.allclose(before, after, atol=1e-5)
    text = relative("Two dogs are playing in the park.")
    ids = [choose_direction(old, "en", "de").source, choose_direction(new, "hsb", "de").source]
    assert len(ids[1].encode([text])[0]) < 0.8 * len(ids[0].encode([text])[0]), "words are not split into characters"


def test_a_part_of_the_dataset_is_in_its_direction(everything: Dataset) -> None:
    languages = ("de", "en")
    part = everything.in_direction(languages)
    assert {pair.direction for pair in part.validation} == {languages}
    assert part.source.encode(["Hund"])[0][0] == part.source.vocabulary.ids["<2en>"]
    assert replace(part, validation=[]).train.directions is None


@pytest.mark.slow
def test_two_processes_train_as_one(make: Callable[..., Recipe], tmp_path: Path) -> None:
    recipe = make("data.temperature=3", "text.bpe_dropout=0.2", "training.length_groups=4", "model.dropout=0")
    save_recipe(recipe, tmp_path / "recipe.toml")
    assert train(recipe, tmp_path / "alone")
    train_in_forks(2, tmp_path / "recipe.toml", tmp_path / "both").run_to_the_end()
    losses = []
    for name in ("alone", "both"):
        lines = read_metrics(tmp_path / name / "metrics.jsonl")
        losses.append([line["loss"] for line in lines if line["kind"] in ("train", "validation")])
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
