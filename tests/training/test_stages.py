"""Runs with several stages: teachers, the pairs that they make, and the translator, also after interruptions."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
import torch
from killed_stages import Killed, kill_at

from dragoman.bundle import Bundle
from dragoman.corpus.corpus import read_texts
from dragoman.corpus.pair import Pair
from dragoman.dataset.split import HeldOutText
from dragoman.errors import UserError
from dragoman.recipe import build_recipe, load_recipe, save_recipe
from dragoman.synthesis import block
from dragoman.synthesis.block import PairBlock
from dragoman.system.files import sha256
from dragoman.system.progress import ProgressLine
from dragoman.system.time_limit import TimeLimit
from dragoman.training.run.run import train
from dragoman.training.stages import stages
from dragoman.training.stages.pairs import OtherThanHeldOut, RunTeachers, make_corpora, synthetic_corpora
from dragoman.training.stages.recipes import check_stage_corpora, final_recipe, needed_teachers, teacher_recipe
from dragoman.training.stages.text import collect_text

if TYPE_CHECKING:
    from conftest import Command
    from dragoman.settings import Recipe

FAST = {"steps": 30, "validations": 2, "average": 1, "checkpoint_minutes": 0.0001}
MONO_LINES = 25

pytestmark = pytest.mark.usefixtures("bare_runs")


@pytest.fixture(scope="module", autouse=True)
def no_filter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep all pairs: the tiny teachers are too bad to pass the filter. Blocks are small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dragoman.synthesis.pair_checks.PairFilter._problems", lambda *arguments: iter(()))
        patch.setattr(block, "BLOCK", 10)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def write_mono(corpus: Path, directory: Path) -> Path:
    path = directory / "mono.en"
    path.write_text("".join((corpus / "test.en").read_text("utf-8").splitlines(True)[:MONO_LINES]), "utf-8")
    return path


@pytest.fixture
def mono(corpus: Path, tmp_path: Path) -> Path:
    return write_mono(corpus, tmp_path)


@pytest.fixture(scope="module")
def train_text(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The files of 40 pairs; those of five more for validation are in the same directory."""
    directory = tmp_path_factory.mktemp("text")
    for split, number in (("train", 40), ("validation", 5)):
        for language in ("de", "en"):
            lines = (corpus / f"{split}.{language}").read_text("utf-8").splitlines(True)[:number]
            (directory / f"{split}.{language}").write_text("".join(lines), "utf-8")
    return f"{directory}/train.{{lang}}"


@pytest.fixture(scope="module")
def make_staged(recipe_document: dict[str, Any], train_text: str) -> Callable[..., Recipe]:
    """Makes tiny recipes with stages, for 40 pairs."""
    data = {"train": [train_text], "validation": [train_text.replace("train.", "validation.")], "test": []}

    def make(*overrides: str, **sections: Any) -> Recipe:
        document = recipe_document | {
            "data": recipe_document["data"] | data | sections.pop("data", {}),
            "training": recipe_document["training"] | FAST,
        }
        return build_recipe(document | sections, overrides)

    return make


@pytest.fixture(scope="module")
def finished(make_staged: Any, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Recipe, Path]:
    """The recipe and the directory of a finished run with back-translation. Tests must not change it."""
    directory = tmp_path_factory.mktemp("finished")
    recipe = make_staged(backtranslation={"mono": [str(write_mono(corpus, directory))]})
    assert train(recipe, directory / "run")
    return recipe, directory / "run"


@pytest.fixture
def unfinished(finished: tuple[Recipe, Path], tmp_path: Path) -> tuple[Recipe, Path]:
    """The recipe of the finished run, and a copy of its directory that lacks the bundle."""
    recipe, run = finished[0], Path(shutil.copytree(finished[1], tmp_path / "run"))
    shutil.rmtree(run / "bundle")
    return recipe, run


def texts(run: Path, name: str) -> tuple[list[str], list[str]]:
    return read_texts(run / f"{name}.source", run / f"{name}.target")


def test_back_translation(
    make_staged: Any,
    mono: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dragoman.training.report.verdict.FEW_EPOCHS", 0)  # the training is short
    recipe, run = make_staged(backtranslation={"mono": [str(mono)], "weight": 2.0}), tmp_path / "run"
    assert train(recipe, run)
    assert load_recipe(run / "recipe.toml") == recipe
    sources, targets = texts(run, "synthetic/backtranslation")
    assert targets == mono.read_text("utf-8").splitlines()
    teacher = Bundle.load(run / "teachers" / "backward").recipe
    assert (teacher.data.source_language, teacher.data.target_language) == ("en", "de")
    assert not (run / "teachers" / "forward").exists()
    final = Bundle.load(run).recipe
    assert (teacher.training.steps, final.training.steps) == (6, 24)
    assert [(each.weight, each.tagged) for each in final.data.weighted] == [(1.0, False), (2.0, True)]
    assert len(sources) == MONO_LINES
    assert json.loads((run / "pairs.json").read_text())["training"] == 40 + MONO_LINES
    printed, report = capsys.readouterr().err, (run / "report.html").read_text("utf-8")
    assert "The training text has only 40 pairs." in printed, "those of people"
    assert "[backtranslation]" in report, "the recipe of the whole run, which can be used again"
    assert str(run / "synthetic") not in report
    for number, stage in enumerate(("backward teacher, en to de", "translating", "the translator, de to en"), 1):
        assert f"stage {number} of 3:" in printed
        assert stage in printed
    assert "Backward teacher, en to de" in report
    assert f"{MONO_LINES} pairs from {MONO_LINES} lines" in report
    assert "no intact checkpoint" not in printed


def test_diversification(make_staged: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert train(make_staged(diversification={"weight": 0.5}), run)
    original = texts(run, "text/train-0")
    backward, forward = (texts(run, f"synthetic/diversification-{each}-0") for each in ("backward", "forward"))
    assert set(backward[1]) <= set(original[1])
    assert set(forward[0]) <= set(original[0])
    assert not set(backward[0]) <= set(original[0])
    assert not set(forward[1]) <= set(original[1])
    recipes = [load_recipe(run / "teachers" / each / "recipe.toml") for each in ("backward", "forward")]
    final = Bundle.load(run).recipe
    assert len({recipe.training.seed for recipe in (*recipes, final)}) == 3
    assert [recipe.training.steps for recipe in (*recipes, final)] == [6, 6, 18]
    assert [(each.weight, each.tagged) for each in final.data.weighted] == [(1, False), (0.5, False), (0.5, False)]


@pytest.mark.slow
def test_an_interrupted_run_has_the_same_weights_also_if_it_was_moved(
    make_staged: Any, mono: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = make_staged(backtranslation={"mono": [str(mono)], "minimum_chrf": 0.1}, diversification={"weight": 1.0})
    assert train(recipe, tmp_path / "whole")
    run, moments, resumed = tmp_path / "run", random.Random(1), 0
    while not (run / "bundle" / "bundle.json").exists():
        with monkeypatch.context() as patch:
            kill_at(patch, moments.randrange(3, 20))
            try:
                assert train(recipe, run, resume="auto")
            except Killed:
                resumed += 1
                run = run.rename(tmp_path / f"run-{resumed}")
    assert resumed > 2
    for name in ("bundle/model.safetensors", "teachers/forward/bundle/model.safetensors", "text/train-0.source"):
        assert sha256(run / name) == sha256(tmp_path / "whole" / name), name
    assert train(recipe, run, resume=True)


def test_stop_while_translating(
    make_staged: Any, mono: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C between two blocks."""
    original = block.PairBlock.save

    def interrupt(self: block.PairBlock, path: Path) -> None:
        original(self, path)
        os.kill(os.getpid(), signal.SIGINT)

    recipe, run = make_staged(backtranslation={"mono": [str(mono)]}), tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(block.PairBlock, "save", interrupt)
        assert not train(recipe, run)
    assert f"stopped while translating; continue with: dragoman train {run}/recipe.toml" in capsys.readouterr().err
    assert len(list(run.glob("synthetic/*.partial/*.json"))) == 1
    assert train(recipe, run, resume=True)
    assert texts(run, "synthetic/backtranslation")[1] == mono.read_text("utf-8").splitlines()


def test_a_stop_while_a_report_is_written_ends_the_run_after_a_teacher_only(
    make_staged: Any, mono: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*arguments: Any) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return "the report</html>"

    recipe, run = make_staged(backtranslation={"mono": [str(mono)]}), tmp_path / "run"
    monkeypatch.setattr("dragoman.training.run.run.render_report", interrupt)
    assert not train(recipe, run)
    assert f"stopped between two stages; continue with: dragoman train {run}/recipe.toml" in capsys.readouterr().err
    assert (run / "teachers/backward/report.html").read_text("utf-8") == "the report</html>"
    assert train(recipe, run, resume=True), "it was complete"
    assert (run / "report.html").read_text("utf-8") == "the report</html>"


def test_an_interruption_between_two_stages_says_how_to_continue(
    make_staged: Any, mono: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(directory: Path) -> str:
        raise KeyboardInterrupt

    recipe, run = make_staged(backtranslation={"mono": [str(mono)]}), tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr("dragoman.training.stages.stages._describe_teacher", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train(recipe, run)
    assert f"stopped; continue with: dragoman train {run}/recipe.toml" in capsys.readouterr().err
    assert train(recipe, run, resume=True)


def test_text_that_changes_while_teachers_are_trained_is_refused(
    make_staged: Any, mono: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise, the run would translate another text than the one that it has recorded."""
    recipe, run = make_staged(backtranslation={"mono": [str(mono)]}), tmp_path / "run"
    original = mono.read_bytes()

    def change(*arguments: Any) -> str:
        mono.write_text("Another sentence.\n", "utf-8")
        return "the scores"

    monkeypatch.setattr(
        "dragoman.training.stages.stages._describe_teacher", change
    )  # called after a teacher is trained
    with pytest.raises(UserError, match=r"mono\.en: changed since the run was started"):
        train(recipe, run)
    assert not (run / "synthetic").exists()
    mono.write_bytes(original)
    monkeypatch.setattr("dragoman.training.stages.stages._describe_teacher", lambda *arguments: "the scores")
    assert train(recipe, run, resume=True)


def test_text_is_not_needed_once_it_is_translated(unfinished: tuple[Recipe, Path]) -> None:
    recipe, run = unfinished
    (mono,) = map(Path, recipe.backtranslation.mono)
    moved = mono.rename(mono.with_suffix(".moved"))
    try:
        assert train(recipe, run, resume=True)
    finally:
        moved.rename(mono)
    assert Bundle.load(run)


@pytest.mark.parametrize("name", ["text/train-0.source", "text/validation.target", "synthetic/backtranslation.source"])
def test_missing_text_of_an_unfinished_run_is_made_again(name: str, unfinished: tuple[Recipe, Path]) -> None:
    recipe, run = unfinished
    before = (run / name).read_bytes()
    (run / name).unlink()
    assert train(recipe, run, resume=True)
    assert (run / name).read_bytes() == before
    assert Bundle.load(run)


MADE_AGAIN, NOT_NOTICED = "delete it, and resume the run, which makes it again", "does not notice if its text"
FACTS = {"kinds": 5, "pairs": [], "cleaning": None, "left_out_share": 0}


@pytest.mark.parametrize(
    ("name", "content", "advice"),
    [
        ("text/text.json", '{"pairs": ', MADE_AGAIN),
        ("text/text.json", json.dumps(FACTS), rf"damaged \(kinds.*\); {MADE_AGAIN}"),
        ("synthetic/backtranslation.json", '{"pairs": ', MADE_AGAIN),
        ("synthetic/backtranslation.json", '{"pairs": 3, "left_out": {}, "seconds": null}', MADE_AGAIN),
        (
            "synthetic/backtranslation.json",
            '{"pairs": 3, "left_out": {}, "seconds": 1, "share": -1}',
            rf"damaged \(share\); {MADE_AGAIN}",
        ),
        ("sources.json", '{"pairs": ', NOT_NOTICED),
        ("pairs.json", '{"pairs": ', NOT_NOTICED),
        ("pairs.json", '{"training": null}', NOT_NOTICED),
    ],
)
def test_a_damaged_record_without_a_copy_says_how_to_continue(
    name: str, content: str, advice: str, unfinished: tuple[Recipe, Path]
) -> None:
    recipe, run = unfinished
    for copy in (run / "checkpoints").glob(f"*/{name}"):
        copy.unlink()
    (run / name).write_text(content, "utf-8")
    with pytest.raises(UserError, match=advice):
        train(recipe, run, resume=True)
    (run / name).unlink()
    assert train(recipe, run, resume=True)
    assert Bundle.load(run)


@pytest.mark.parametrize("name", ["text/train-0.source", "text/validation.target", "synthetic/backtranslation.source"])
def test_damaged_text_of_a_run_is_made_again(name: str, unfinished: tuple[Recipe, Path]) -> None:
    recipe, run = unfinished
    before = (run / name).read_bytes()
    (run / name).write_bytes(before.partition(b"\n")[2])
    assert train(recipe, run, resume=True)
    assert (run / name).read_bytes() == before


def test_other_settings_are_refused_when_resuming(make_staged: Any, finished: tuple[Recipe, Path]) -> None:
    recipe, run = finished
    mono = list(recipe.backtranslation.mono)
    with pytest.raises(UserError, match=r"backtranslation.method: beam -> sampling"):
        train(make_staged("backtranslation.method=sampling", backtranslation={"mono": mono}), run, resume=True)
    with pytest.raises(UserError, match="already contains a run"):
        train(recipe, run)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["backtranslation.mono=['{tmp}/nothing.en']"], "no such file"),
        (["data.train=['{tmp}/nothing.{{lang}}']"], "no such file"),
        (["text.vocabulary_size=200"], "leaves no entries for subwords"),
    ],
)
def test_errors_leave_no_directory(
    overrides: list[str], message: str, make_staged: Any, mono: Path, tmp_path: Path
) -> None:
    recipe = make_staged(*(each.format(tmp=tmp_path) for each in overrides), diversification={"weight": 1.0})
    with pytest.raises(UserError, match=message):
        train(recipe, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_empty_directory_can_be_used_after_an_error(make_staged: Any, mono: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    with pytest.raises(UserError, match="no such file"):
        train(make_staged(backtranslation={"mono": [f"{mono}x"]}), run)
    assert train(make_staged(backtranslation={"mono": [str(mono)]}), run)


@pytest.mark.parametrize(
    ("section", "other", "expected"), [("backtranslation", "de", "en"), ("distillation", "en", "de")]
)
def test_monolingual_text_in_the_other_language_is_refused_before_teachers_are_trained(
    section: str,
    other: str,
    expected: str,
    make_staged: Any,
    finished_run: Path,
    corpus: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    teachers = {"teachers": [str(finished_run)]} if section == "distillation" else {}
    recipe = make_staged(**{section: {"mono": [str(corpus / f"train.{other}")], **teachers}})
    message = (
        rf"train\.{other}: \d+ of the first 200 lines do not look like {expected}; {section}\.mono must be in that"
    )
    with pytest.raises(UserError, match=message):
        train(recipe, tmp_path / "run")
    assert "stage 1" not in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_held_out_pairs_are_chosen_once(
    make_staged: Any, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = {"train": [f"{corpus}/train.{{lang}}"], "validation": [], "validation_pairs": 20}
    recipe = make_staged(data=data, diversification={"weight": 1.0})
    found = collect_text(recipe, None, tmp_path / "text", ProgressLine("", quiet=True))
    held_out = list(zip(*texts(tmp_path, "text/validation"), strict=True))
    assert len(held_out) == 20
    assert not set(held_out) & set(zip(*texts(tmp_path, "text/train-0"), strict=True))
    again = collect_text(recipe, None, tmp_path / "text", ProgressLine(""))
    assert again == found
    assert "changes to their files since the start of the run do not count" in capsys.readouterr().err
    for direction in ("backward", "forward"):
        (validation,) = teacher_recipe(recipe, found.data(recipe), direction).data.validation
        assert load_pairs(validation) == [pair[::-1] if direction == "backward" else pair for pair in held_out]


def test_text_of_another_version_is_refused(make_staged: Any, tmp_path: Path) -> None:
    recipe = make_staged(diversification={"weight": 1.0})
    collect_text(recipe, None, tmp_path / "text", ProgressLine("", quiet=True))
    (tmp_path / "text" / "text.json").write_text('{"corpora": [], "cleaning": null}')
    with pytest.raises(UserError, match=r"text\.json: another version of dragoman has written this file"):
        collect_text(recipe, None, tmp_path / "text", ProgressLine("", quiet=True))


def test_synthetic_text_of_another_version_is_refused(make_staged: Any, corpus: Path, tmp_path: Path) -> None:
    recipe = make_staged(diversification={"weight": 1.0})
    made = synthetic_corpora(RunTeachers(recipe, tmp_path, torch.device("cpu")), recipe.data, tmp_path, [])
    (tmp_path / "synthetic").mkdir()
    for each in made:
        each._facts.write_text('{"pairs": 3}')
        with pytest.raises(UserError, match=r"\.json: another version of dragoman has written this file"):
            assert each.result
    assert made


def load_pairs(files: Any) -> list[tuple[str, str]]:
    return list(zip(*read_texts(Path(files.source), Path(files.target)), strict=True))


def test_marked_and_weighted_text(make_staged: Any, corpus: Path, train_text: str, tmp_path: Path) -> None:
    """Teachers do not learn from text of machines; weights are kept."""
    train_data = [
        {"corpus": train_text, "weight": 3.0},
        {"corpus": f"{corpus}/test.{{lang}}", "tagged": True},
    ]
    recipe = make_staged(data={"train": train_data}, diversification={"weight": 2.0})
    data = collect_text(recipe, None, tmp_path / "text", ProgressLine("", quiet=True)).data(recipe)
    assert [(each.weight, each.tagged) for each in data.weighted] == [(3.0, False), (1.0, True)]
    for direction in ("backward", "forward"):
        taught = teacher_recipe(recipe, data, direction).data.weighted
        assert [(each.weight, each.tagged) for each in taught] == [(3.0, False)]
    made = synthetic_corpora(RunTeachers(recipe, tmp_path, torch.device("cpu")), data, tmp_path, [])
    names = [f"training text 1 of 2, {direction} teacher" for direction in ("backward", "forward")]
    assert [(corpus.name, corpus.weight) for corpus in made] == [(name, 6.0) for name in names]


class Copier:
    """Makes pairs whose source is their target, in capital letters."""

    identity: ClassVar[dict[str, Any]] = {"maker": "copier"}

    def __init__(self) -> None:
        self.given: list[Pair] = []

    def make(self, pairs: Sequence[Pair]) -> PairBlock:
        self.given += pairs
        return PairBlock([Pair(pair.target.upper(), pair.target) for pair in pairs], Counter({"blank": 1}))

    def compared_with(self, made: Sequence[Pair]) -> Callable[[Pair], Pair | str]:
        return lambda pair: pair


def test_held_out_text_is_not_translated(
    make_staged: Any, mono: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, teacher = mono.read_text("utf-8").splitlines(), Copier()
    monkeypatch.setattr(RunTeachers, "open_backward", lambda *arguments: teacher)
    held_out = [Pair("Ein Hund.", lines[3]), Pair("Eine Katze.", "elsewhere")]
    recipe, others = make_staged(backtranslation={"mono": [str(mono)]}), [line for line in lines if line != lines[3]]
    (corpus,) = synthetic_corpora(RunTeachers(recipe, tmp_path, torch.device("cpu")), recipe.data, tmp_path, held_out)
    assert [pair.target for pair in corpus.read()] == lines
    made = corpus.open_maker().make(list(corpus.read()))
    assert [pair.target for pair in made.pairs] == [pair.target for pair in teacher.given] == others
    assert made.left_out["held-out text"] == 1, "the log states all that are left out"


def test_pairs_are_translated_although_their_old_translation_is_held_out() -> None:
    teacher = Copier()
    OtherThanHeldOut(teacher, HeldOutText([Pair("Danke sehr.", "Thanks.")])).make([Pair("Danke sehr.", "Thank you.")])
    assert len(teacher.given) == 1


def test_translations_that_are_held_out_text_are_left_out() -> None:
    pairs = [Pair("", line) for line in ("A dog.", "A cat.", "A bird.")]
    held_out = [Pair("A DOG.", "elsewhere"), Pair("a cat", "elsewhere"), Pair("elsewhere", "a bird")]
    for ignore_punctuation, expected in ((False, ["A cat.", "A bird."]), (True, [])):
        maker = OtherThanHeldOut(Copier(), HeldOutText(held_out, ignore_punctuation))
        made = maker.make(pairs)
        assert [pair.target for pair in made.pairs] == expected
        assert made.left_out == {"blank": 1, "held-out text": 3 - len(expected)}
        assert maker.identity["maker"] == "copier"
        assert maker.identity != OtherThanHeldOut(Copier(), HeldOutText([], ignore_punctuation)).identity


def test_all_kinds_of_synthetic_pairs_lack_held_out_text(
    make_staged: Any, mono: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for opener in ("open_backward", "open_forward", "open_given"):
        monkeypatch.setattr(RunTeachers, opener, lambda *arguments: Copier())
    sections: list[dict[str, Any]] = [
        {"backtranslation": {"mono": [str(mono)]}, "diversification": {"weight": 1.0}},
        {"distillation": {"teachers": [str(tmp_path)], "mono": [str(mono)]}},
    ]
    for each in sections:
        recipe = make_staged(**each)
        data = collect_text(recipe, None, tmp_path / "text", ProgressLine("", quiet=True)).data(recipe)
        teachers = RunTeachers(recipe, tmp_path, torch.device("cpu"))
        corpora = synthetic_corpora(teachers, data, tmp_path, [Pair("A DOG.", "elsewhere")])
        assert len(corpora) >= 2
        for corpus in corpora:
            made = corpus.open_maker().make([Pair("", "A dog."), Pair("", "A cat.")])
            assert [pair.target for pair in made.pairs] == ["A cat."]


def test_held_out_text_is_compared_as_in_the_training_text(
    make_staged: Any, mono: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunTeachers, "open_backward", lambda *arguments: Copier())
    lines = mono.read_text("utf-8").splitlines()
    held_out = [Pair("Ein Hund.", lines[3].upper().rstrip("."))]
    for block_size, expected in ((1, lines), (5, [line for line in lines if line != lines[3]])):
        recipe = make_staged(data={"validation_block": block_size}, backtranslation={"mono": [str(mono)]})
        teachers = RunTeachers(recipe, tmp_path, torch.device("cpu"))
        (corpus,) = synthetic_corpora(teachers, recipe.data, tmp_path, held_out)
        assert [pair.target for pair in corpus.open_maker().make(list(corpus.read())).pairs] == expected


@pytest.mark.parametrize(
    ("budget", "expected"),
    [({"minutes": 60.0}, (12.0, 60 - 24 - 2)), ({"epochs": 10.0}, (2.0, 6.0)), ({"steps": 7}, (1, 4))],
    ids=str,
)
def test_shares_of_the_budget(budget: dict[str, float], expected: Any, make_staged: Any, tmp_path: Path) -> None:
    (unit, value), none = next(iter(budget.items())), ["steps", "epochs", "minutes"]
    recipe = make_staged(f"training.{unit}={value}", diversification={"weight": 1.0})
    teacher = teacher_recipe(recipe, recipe.data.model_copy(update=FILES), "forward").training
    final = final_recipe(recipe, recipe.data, [], seconds=120).training
    assert (getattr(teacher, unit), getattr(final, unit)) == pytest.approx(expected)
    assert all(getattr(teacher, other) is None for other in none if other != unit)
    late = final_recipe(recipe, recipe.data, [], seconds=10**6).training
    if unit == "minutes":
        most = make_staged("training.minutes=60", "teachers.translation_share=0.55", diversification={"weight": 1.0})
        minutes = final_recipe(most, most.data, [], seconds=10**6).training.minutes
        assert minutes == pytest.approx(60 - 24 - 33), "all stages together take the whole time"
    assert getattr(late, unit) == pytest.approx(18.0 if unit == "minutes" else expected[1])


FILES: dict[str, Any] = {"train": (), "validation": ()}


def test_teachers_that_are_needed(make_staged: Any) -> None:
    mono = {"mono": ["mono.en"]}
    assert needed_teachers(make_staged()) == []
    assert needed_teachers(make_staged(backtranslation=mono)) == ["backward"]
    assert needed_teachers(make_staged(backtranslation={**mono, "minimum_chrf": 30})) == ["backward", "forward"]
    assert needed_teachers(make_staged(diversification={"weight": 1})) == ["backward", "forward"]
    shares = "teachers.share=0.45", "teachers.translation_share=0.1"
    check_stage_corpora(make_staged(*shares, backtranslation=mono))
    with pytest.raises(UserError, match="2 times share and translation_share add up to 1, which must be below 1"):
        check_stage_corpora(make_staged(*shares, diversification={"weight": 1}))


def test_the_command_runs_all_stages(make_staged: Any, mono: Path, tmp_path: Path, command: Command) -> None:
    odd = "".join(f"{line}\n" for line in ("", "…", "12", mono.read_text("utf-8").partition("\n")[0]))
    mono.write_text(mono.read_text("utf-8") + odd, "utf-8")
    save_recipe(make_staged(backtranslation={"mono": [str(mono)]}), tmp_path / "recipe.toml")
    outcome = command("train", tmp_path / "recipe.toml", "--output", tmp_path / "run")
    assert outcome.code == 0, outcome.error
    assert "there was time to translate" not in outcome.error, "all lines count, also those that are left out"
    assert command("translate", tmp_path / "run", "Ein Hund.").code == 0
    again = command("train", tmp_path / "recipe.toml", "--output", tmp_path / "run", "--resume")
    assert (again.code, "this run is finished" in again.error) == (0, True)


def test_a_limit_of_time_leaves_text_out(
    make_staged: Any, mono: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a budget in minutes, each corpus gets an equal part of the time that is left."""
    parts: list[float | None] = []

    def limited(corpora: Any, line: Any, limit: float | None, check: Any) -> None:
        parts.append(limit)
        make_corpora(corpora, line, 1e-9, check)

    monkeypatch.setattr(stages, "make_corpora", limited)
    recipe = make_staged("training.minutes=0.05", "teachers.share=0.1", backtranslation={"mono": [str(mono)]})
    assert train(recipe, tmp_path / "run")
    assert parts == [pytest.approx(0.05 * 60 * 0.1)]
    translated = len(texts(tmp_path / "run", "synthetic/backtranslation")[1])
    assert translated == 1, "one small block"
    share = translated / len(mono.read_text().splitlines())
    limited_by_time = f"there was time to translate {100 * share:.3g}% of the text"
    assert limited_by_time in capsys.readouterr().err
    assert limited_by_time in (tmp_path / "run" / "report.html").read_text("utf-8")


@pytest.mark.parametrize(("weight", "of_corpus"), [("0.0005", "1"), ("0.05", "0.01"), ("1000", "2")])
def test_impossible_weights_are_refused_before_teachers_are_trained(
    weight: str, of_corpus: str, make_recipe: Any
) -> None:
    train = f"data.train=[{{corpus='captions:train', weight={of_corpus}}}]"
    with pytest.raises(UserError, match=r"diversification\.weight times"):
        check_stage_corpora(make_recipe(train, f"diversification.weight={weight}"))
    check_stage_corpora(make_recipe(train))


def test_teachers_need_text_that_is_not_tagged(make_recipe: Any) -> None:
    train = "data.train=[{corpus='captions:train', tagged=true}]"
    with pytest.raises(UserError, match="teachers learn from text that is not tagged"):
        check_stage_corpora(make_recipe(train, "diversification.weight=1"))
    check_stage_corpora(make_recipe(train))


def test_a_new_test_text_is_refused_if_it_filters_monolingual_text(
    make_staged: Any, mono: Path, tmp_path: Path
) -> None:
    recipe, run = make_staged(backtranslation={"mono": [str(mono)]}), tmp_path / "run"
    run.mkdir()
    save_recipe(recipe, run / "recipe.toml")
    with pytest.raises(UserError, match=r"data\.test: \[\] -> "):
        train(make_staged("data.test=['captions:test']", backtranslation={"mono": [str(mono)]}), run, resume=True)


def test_a_command_with_a_limit_can_be_killed_while_it_trains_a_teacher(
    make_staged: Any, mono: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stage keeps a part of its minutes for its end."""
    recipe = make_staged("training.minutes=0.1", backtranslation={"mono": [str(mono)]})
    with monkeypatch.context() as patch:
        kill_at(patch, 2)
        with pytest.raises(Killed):
            train(recipe, tmp_path / "run", limit=TimeLimit.start(0.1))
    teacher = tmp_path / "run" / "teachers" / "backward"
    before = load_recipe(teacher / "recipe.toml")
    assert before.training.minutes < recipe.teachers.share * recipe.training.minutes
    assert train(load_recipe(tmp_path / "run" / "recipe.toml"), tmp_path / "run", resume=True)
    assert load_recipe(teacher / "recipe.toml") == before
    last = load_recipe(tmp_path / "run" / "recipe.toml")
    assert last.training.minutes <= recipe.training.minutes


@pytest.mark.parametrize(("schedule", "warmup"), [("cosine", (80, 240)), ("noam", (400, 400))])
def test_stages_have_their_share_of_the_warm_up(
    schedule: str, warmup: tuple[int, int], make_staged: Any, tmp_path: Path
) -> None:
    settings = ("training.steps=1000", "training.warmup_steps=400", f"training.schedule={schedule}")
    recipe = make_staged(*settings, diversification={"weight": 1.0})
    data = collect_text(recipe, None, tmp_path / "text", ProgressLine("")).data(recipe)
    made = teacher_recipe(recipe, data, "forward"), final_recipe(recipe, data, [], 0.0)
    assert tuple(each.training.warmup_steps for each in made) == warmup


@pytest.mark.parametrize("seed", [1, 2**63 - 1])
def test_recipes_of_teachers_can_be_read(seed: int, make_staged: Any, tmp_path: Path) -> None:
    recipe = make_staged(f"training.seed={seed}", diversification={"weight": 1.0})
    data = collect_text(recipe, None, tmp_path / "text", ProgressLine("")).data(recipe)
    for direction in needed_teachers(recipe):
        made = teacher_recipe(recipe, data, direction)
        save_recipe(made, tmp_path / "recipe.toml")
        assert load_recipe(tmp_path / "recipe.toml") == made
