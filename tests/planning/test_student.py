"""Recipes of students: what they take from the teacher, and how small they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.model.build import build_model
from dragoman.model.transformer import parameter_counts
from dragoman.planning.budget import MachineSpeed
from dragoman.planning.student import STUDENT_SIZES, SizeName, StudentPlan, plan_student
from dragoman.recipe import save_recipe
from dragoman.settings import Distillation, Model
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.system.run_paths import NoBundleError
from dragoman.training.run.run_data import check_start_fits

RANDOM: tuple[SizeName, ...] = ("tiny", "small", "base")
"""Sizes of students that start with random weights."""

BYTES_PER_SUBWORD = 50  # in tokenizers and vocabularies; 45 with the Multi30k recipe


def plan(path: Path, size: SizeName = "tiny", minutes: float | None = 30.0) -> StudentPlan:
    return StudentPlan(size, minutes, Distillation(teachers=(str(path),)))


def test_a_student_has_the_text_of_its_teacher_and_greedy_search(finished_run: Path) -> None:
    teacher, student = Bundle.load(finished_run).recipe, plan_student(plan(finished_run), [], None)
    assert (student.data, student.text) == (teacher.data, teacher.text)
    assert student.training.seed == teacher.training.seed, "the same pairs are held out"
    assert student.training.minutes == 30
    assert student.decoding == teacher.decoding.model_copy(update={"beam_size": 1})
    assert (student.model.positions, student.model.max_length) == (teacher.model.positions, teacher.model.max_length)
    assert student.distillation.teachers == (str(finished_run),)


def test_the_recipe_of_the_run_is_used_rather_than_that_of_the_bundle(finished_run: Path, tmp_path: Path) -> None:
    """The bundle of a run with stages names files of its run directory as training text."""
    bundle, run = Bundle.load(finished_run), tmp_path / "run"
    bundle.save(run / "bundle")
    save_recipe(bundle.recipe.model_copy(update={"name": "other"}), run / "recipe.toml")
    assert plan_student(plan(run), [], None).name == "other-tiny"
    assert plan_student(plan(run / "bundle"), [], None).name == "other-tiny"
    bundle.save(tmp_path / "alone")
    assert plan_student(plan(tmp_path / "alone"), [], None).name == "tiny-tiny"


def test_sizes_are_ordered_and_overrides_apply(finished_run: Path) -> None:
    for size in RANDOM:
        shape = plan_student(plan(finished_run, size, None), ["model.dropout=0.25"], None).model
        assert shape.encoder_layers >= 2 * shape.decoder_layers
        assert shape.dropout == 0.25
    widths = [STUDENT_SIZES[size].model["d_model"] for size in RANDOM]
    assert widths == sorted(set(widths))


def test_a_shallow_student_starts_with_the_weights_of_its_teacher(finished_run: Path, tmp_path: Path) -> None:
    bundle, path = Bundle.load(finished_run), tmp_path / "deep"
    shape = bundle.recipe.model.model_copy(update={"decoder_layers": 3, "dropout": 0.3})
    sizes = len(bundle.source.vocabulary), len(bundle.target.vocabulary)
    model = build_model(shape, *sizes, source_pad=bundle.source.vocabulary.pad, seed=0)
    recipe = bundle.recipe.model_copy(update={"model": shape})
    Bundle(recipe, model, bundle.source, bundle.target).save(path)
    student, tiny = (plan_student(plan(path, size), [], None) for size in ("shallow", "tiny"))
    assert student.model.model_copy(update={"decoder_layers": 3, "dropout": 0.3}) == shape
    assert (student.model.decoder_layers, student.training.start_from) == (1, str(path))
    assert tiny.training.start_from is None
    assert student.training.learning_rate < tiny.training.learning_rate
    check_start_fits(student, Bundle.load(path).recipe, str(path))


def test_monolingual_text_counts_as_text(finished_run: Path, tmp_path: Path) -> None:
    mono = tmp_path / "mono.de"
    mono.write_text("".join(f"Hund {number} läuft im Schnee.\n" for number in range(150_000)), "utf-8")
    alone = plan_student(plan(finished_run, minutes=None), [], None).training
    teachers = Distillation(teachers=(str(finished_run),), mono=(str(mono),))
    together = plan_student(StudentPlan("tiny", None, teachers), [], None).training
    assert together.epochs is not None
    assert alone.epochs is not None
    assert together.epochs < alone.epochs / 2


def test_students_with_monolingual_text_get_the_dropout_of_those_without(
    finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise they would get none, because there is time to read so much text only a few times."""
    monkeypatch.setattr("dragoman.planning.student.measure_chosen_speed", lambda overrides: MachineSpeed(1e12))
    mono = tmp_path / "mono.de"
    mono.write_text("".join(f"Hund {number} läuft im Schnee.\n" for number in range(90_000)), "utf-8")
    teachers = Distillation(teachers=(str(finished_run),), mono=(str(mono),))
    alone = plan_student(plan(finished_run, minutes=3.0), [], None).model.dropout
    assert plan_student(StudentPlan("tiny", 3.0, teachers), [], None).model.dropout == alone > 0


def test_the_time_may_be_set(finished_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It decides the other settings, too."""
    monkeypatch.setattr("dragoman.planning.student.measure_chosen_speed", lambda overrides: MachineSpeed(1e12))
    given = plan_student(plan(finished_run, minutes=3.0), [], None)
    assert plan_student(plan(finished_run, minutes=None), ["training.minutes=3"], None) == given


def test_other_held_out_pairs_than_those_of_the_teacher_are_reported(finished_run: Path) -> None:
    """The teacher has learned most of them."""
    said: list[str] = []
    held_out = ["data.validation=[]", "data.validation_pairs=5"]
    plan_student(plan(finished_run), [*held_out, "training.seed=7"], None, said.append)
    assert "may have learned them, also because training.seed is not that of the teacher" in " ".join(said)
    said.clear()
    plan_student(plan(finished_run), held_out, None, said.append)
    assert "may have learned them, and then its scores on them are too high" in " ".join(said)
    said.clear()
    plan_student(plan(finished_run), ["training.seed=7"], None, said.append)
    assert "held out" not in " ".join(said)


def test_a_large_vocabulary_is_not_kept(finished_run: Path, tmp_path: Path) -> None:
    bundle = Bundle.load(finished_run)
    text = bundle.recipe.text.model_copy(update={"vocabulary_size": 12_000, "bpe_dropout": 0.1})
    replace(bundle, recipe=bundle.recipe.model_copy(update={"text": text})).save(tmp_path / "large")
    sizes: list[tuple[SizeName, int]] = [("tiny", 8000), ("small", 12_000)]
    for size, expected in sizes:
        student = plan_student(plan(tmp_path / "large", size), [], None)
        assert student.text == text.model_copy(update={"vocabulary_size": expected, "bpe_dropout": 0.0})


def test_an_imported_vocabulary_that_is_larger_than_its_setting_is_not_kept_either(
    finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle, teacher = Bundle.load(finished_run), tmp_path / "imported"
    number = len(bundle.source.vocabulary)
    text = bundle.recipe.text.model_copy(update={"vocabulary_size": number - 50})
    replace(bundle, recipe=bundle.recipe.model_copy(update={"text": text})).save(teacher)
    tokenizers = BundleEnsemble.load([str(teacher)], ("de", "en")).tokenizers_for
    for largest, is_kept in ((number, True), (number - 10, False), (number - 50, False)):
        monkeypatch.setitem(STUDENT_SIZES, "tiny", replace(STUDENT_SIZES["tiny"], subwords=largest))
        student = plan_student(plan(teacher), [], None)
        assert student.text.vocabulary_size == largest
        assert (tokenizers(student.text) is not None) == is_kept


@pytest.mark.parametrize("tie", ["all", "target"])
def test_a_tiny_student_has_at_most_eight_megabytes_in_int8(tie: str) -> None:
    """With the largest vocabulary, also one for each language; weights have a byte each."""
    size = STUDENT_SIZES["tiny"]
    subwords = size.vocabulary(100_000)
    model = build_model(Model.model_validate({**size.model, "tie": tie}), subwords, subwords, 0, seed=0)
    weights = parameter_counts(model)["total"]
    assert weights + 2 * subwords * BYTES_PER_SUBWORD < 8_000_000


def test_a_teacher_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoBundleError, match="nothing"):
        plan_student(plan(tmp_path / "nothing"), [], None)


def test_bundles_are_checked_before_the_text_is_read(finished_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.planning.student.collect_facts", lambda *arguments: pytest.fail("reads text"))
    same_direction = Distillation(teachers=(str(finished_run),), mono=("mono.de",), round_trip=str(finished_run))
    with pytest.raises(UserError, match="not from en to de"):
        plan_student(StudentPlan("tiny", 30.0, same_direction), [], None)
    with pytest.raises(NoBundleError, match="nothing"):
        plan_student(StudentPlan("tiny", 30.0, Distillation(teachers=(str(finished_run), "nothing"))), [], None)


@pytest.mark.parametrize(("chrf", "is_warned"), [(12.0, True), (60.0, False)])
def test_a_useless_teacher_is_warned_about(chrf: float, is_warned: bool, finished_run: Path, tmp_path: Path) -> None:
    bundle = Bundle.load(finished_run)
    bad = {"bleu": 1.0, "chrf": 9.0}
    scores = {"old": 3.0, "a:test": bad, "b:test": {"bleu": 1.0, "chrf": chrf}}
    replace(bundle, scores=scores, validation=bad).save(tmp_path / "teacher")
    messages: list[str] = []
    plan_student(plan(tmp_path / "teacher"), [], None, messages.append)
    message = "little in common with the references of its validation text, a:test, b:test"
    assert any(message in each for each in messages) == is_warned


def test_a_student_that_is_not_smaller_than_its_teacher_is_announced(finished_run: Path) -> None:
    messages: list[str] = []
    plan_student(plan(finished_run), [], None, messages.append)
    (message,) = (each for each in messages if "so it is not smaller, and may not be faster" in each)
    assert "there is no --size with fewer weights" in message
    messages.clear()
    plan_student(plan(finished_run, "small"), [], None, messages.append)
    assert any("there is no --size with fewer weights" in each for each in messages), "nor is tiny"
    shape = Bundle.load(finished_run).recipe.model
    names = ("d_model", "heads", "d_ff", "encoder_layers", "decoder_layers")
    smaller = [f"model.{name}={getattr(shape, name)}" for name in names]
    messages.clear()
    plan_student(plan(finished_run), [*smaller, "model.decoder_layers=1", "model.d_ff=8"], None, messages.append)
    assert not any("smaller" in each for each in messages)


def test_training_text_that_was_moved_is_named(finished_run: Path, tmp_path: Path) -> None:
    bundle = Bundle.load(finished_run)
    data = bundle.recipe.data.model_copy(update={"train": (str(tmp_path / "moved.{lang}"),)})
    replace(bundle, recipe=bundle.recipe.model_copy(update={"data": data})).save(tmp_path / "teacher")
    with pytest.raises(UserError, match=r"moved\.de: no such file.*if it was moved, name it with --set data\.train"):
        plan_student(plan(tmp_path / "teacher"), [], None)


@pytest.mark.parametrize("size", [*RANDOM, "shallow"])
def test_a_teacher_that_was_imported_needs_named_text(size: SizeName, finished_run: Path, tmp_path: Path) -> None:
    bundle = Bundle.load(finished_run)
    data = bundle.recipe.data.model_copy(update={"train": ("imported from opus",)})
    replace(bundle, recipe=bundle.recipe.model_copy(update={"data": data})).save(tmp_path / "teacher")
    with pytest.raises(UserError, match=r"was imported, so its training text is not known; name some with --set"):
        plan_student(plan(tmp_path / "teacher", size), [], None)
    text = f"data.train={[str(each) for each in bundle.recipe.data.train]}"
    assert plan_student(plan(tmp_path / "teacher", size), [text], None).data.train == bundle.recipe.data.train


def test_monolingual_text_is_checked_first(finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.planning.student.collect_facts", lambda *arguments: pytest.fail("reads text"))
    (tmp_path / "blank.de").write_text("\n\n")
    mono = Distillation(teachers=(str(finished_run),), mono=(str(tmp_path / "blank.de"),))
    with pytest.raises(UserError, match=r"blank.de: contains no text"):
        plan_student(StudentPlan("tiny", 30.0, mono), [], None)


def test_a_size_that_is_smaller_than_the_teacher_is_named(finished_run: Path, tmp_path: Path) -> None:
    bundle = Bundle.load(finished_run)
    shape = bundle.recipe.model.model_copy(update=STUDENT_SIZES["small"].model)
    vocabularies = len(bundle.source.vocabulary), len(bundle.target.vocabulary)
    recipe = bundle.recipe.model_copy(update={"model": shape})
    model = build_model(shape, *vocabularies, bundle.target.vocabulary.pad, seed=0)
    replace(bundle, recipe=recipe, weights=model).save(tmp_path / "teacher")
    sizes: dict[SizeName, bool] = {"base": True, "small": True, "tiny": False}
    for size, is_named in sizes.items():
        messages: list[str] = []
        plan_student(plan(tmp_path / "teacher", size), [], None, messages.append)
        assert any(each.endswith("choose --size tiny") for each in messages) == is_named, messages
    messages = []
    plan_student(plan(tmp_path / "teacher"), ["model.encoder_layers=24"], None, messages.append)
    assert any("leave out the --set that makes it so large" in each for each in messages)


@pytest.mark.parametrize("setting", ["model.encoder_layers=9", "model.d_model=8", "text.vocabulary_size=77"])
def test_a_shallow_student_cannot_have_other_settings_than_its_teacher(setting: str, finished_run: Path) -> None:
    with pytest.raises(UserError, match=rf"shallow student starts with the weights.*\n  {setting.replace('=', ': ')}"):
        plan_student(plan(finished_run, "shallow"), [setting], None)
