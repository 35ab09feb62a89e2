"""Students that learn from finished translators, also after interruptions."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from killed_stages import Killed, kill_at

import dragoman
from dragoman.bundle import Bundle
from dragoman.corpus.corpus import read_texts
from dragoman.engines.choose import ENGINES
from dragoman.errors import UserError
from dragoman.export.run import export
from dragoman.recipe import build_recipe
from dragoman.settings import FilePair, WeightedCorpus
from dragoman.synthesis import block
from dragoman.synthesis.identity import identify_bundle
from dragoman.system.files import sha256
from dragoman.training.compare import END_OF_SECTION, HEADING, compare_student
from dragoman.training.run.directory import saved_tokenizers
from dragoman.training.run.run import train
from dragoman.training.stages.pairs import RunTeachers, SyntheticCorpus, synthetic_corpora
from dragoman.training.stages.recipes import check_stage_corpora

if TYPE_CHECKING:
    from dragoman.settings import Recipe

MakeStudent = Callable[..., "Recipe"]

pytestmark = pytest.mark.usefixtures("bare_runs")


@pytest.fixture(scope="module", autouse=True)
def small_parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Small blocks and a small comparison; the tiny teacher is too bad to pass the filter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block, "BLOCK", 10)
        patch.setattr("dragoman.synthesis.pair_checks.PairFilter._problems", lambda *arguments: iter(()))
        patch.setattr("dragoman.training.compare.MAX_PAIRS", 5)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of significance take seconds."""
    monkeypatch.setattr("dragoman.training.run.run.compare_student", lambda *arguments: True)


@pytest.fixture(autouse=True, scope="module")
def no_loops() -> Iterator[None]:
    """The speed of models that have learned nothing is measured, too, although they repeat words."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dragoman.training.compare.count_repeats", lambda text: 1)
        yield


@pytest.fixture
def mono(corpus: Path, tmp_path: Path) -> Path:
    path = tmp_path / "mono.de"
    path.write_text("".join((corpus / "train.de").read_text("utf-8").splitlines(True)[100:115]), "utf-8")
    return path


@pytest.fixture(scope="module")
def make_student(
    recipe_document: dict[str, Any], corpus: Path, finished_run: Path, tmp_path_factory: pytest.TempPathFactory
) -> MakeStudent:
    """Makes recipes of students that learn from the tiny run, for 40 pairs."""
    directory = tmp_path_factory.mktemp("text")
    for language in ("de", "en"):
        lines = (corpus / f"train.{language}").read_text("utf-8").splitlines(True)[:40]
        (directory / f"train.{language}").write_text("".join(lines), "utf-8")
    document = recipe_document | {
        "data": recipe_document["data"] | {"train": [f"{directory}/train.{{lang}}"], "test": []},
        "model": recipe_document["model"] | {"d_model": 16},
        "training": recipe_document["training"] | {"steps": 12, "validations": 2, "checkpoint_minutes": 0.0001},
        "decoding": recipe_document["decoding"] | {"beam_size": 1},
    }

    def make(*overrides: str, **distillation: Any) -> Recipe:
        section = {"teachers": [str(finished_run)]} | distillation
        return build_recipe(document | {"distillation": section}, overrides)

    return make


@pytest.fixture(scope="module")
def student(make_student: MakeStudent, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "student"
    assert train(make_student(), run)
    return run


def texts(run: Path, name: str) -> tuple[list[str], list[str]]:
    return read_texts(run / f"{name}.source", run / f"{name}.target")


def test_a_student_learns_translations_with_the_tokenizers_of_its_teacher(student: Path, finished_run: Path) -> None:
    originals, distilled = texts(student, "text/train-0"), texts(student, "synthetic/distillation-0")
    assert distilled[0] == originals[0]
    assert not set(distilled[1]) & set(originals[1])
    bundle, teacher = Bundle.load(student), Bundle.load(finished_run)
    assert bundle.source.to_json() == teacher.source.to_json()
    (learned,) = bundle.recipe.data.weighted
    assert "distillation-0.source" in str(learned.corpus)


def test_the_card_and_the_report_compare_it_with_its_teacher(student: Path, finished_run: Path) -> None:
    card, report = ((student / name).read_text("utf-8") for name in ("bundle/README.md", "report.html"))
    table = [line.strip("| ").split(" | ") for line in card.splitlines() if line.startswith("|")]
    assert [row[:2] for row in table[2:]] == [
        ["Teacher", "beam 3, length penalty 1, max_length 40"],
        ["Teacher", "greedy, max_length 40"],
        ["This translator", "greedy, max_length 40"],
    ]
    assert "times as fast as the teacher with greedy search" in card
    assert "approximate randomization" in card
    assert "MB in float16" in card
    assert f"The teacher is {finished_run / 'bundle'}. " in card
    for row in table[2:]:
        assert f"BLEU {row[3]}, chrF {row[4]}" in report


def replace_weights(run: Path) -> None:
    """Put another translator in the place of a finished one."""
    bundle = Bundle.load(run)
    with torch.no_grad():
        bundle.model.output.weight.mul_(-1)
    bundle.save(run / "bundle")


def interrupt(*arguments: Any) -> None:
    os.kill(os.getpid(), signal.SIGINT)


MakeUncompared = Callable[..., tuple[Path, "Recipe"]]


@pytest.fixture
def make_uncompared(make_student: MakeStudent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeUncompared:
    """Makes the run of a student whose comparison was interrupted; returns its recipe, too."""

    def make(**settings: Any) -> tuple[Path, Recipe]:
        run, recipe = tmp_path / "run", make_student("training.steps=2", "training.validations=1", **settings)
        with monkeypatch.context() as patch:
            patch.setattr("dragoman.training.compare.compare_with_teachers", interrupt)
            assert not train(recipe, run)
        return run, recipe

    return make


def test_a_student_whose_comparison_is_interrupted_is_complete_and_compared_later(
    make_student: MakeStudent,
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for language in ("de", "en"):
        shutil.copyfile(corpus / f"test.{language}", tmp_path / f"test.{language}")
    test = f"data.test=['{tmp_path}/test.{{lang}}']"
    run, recipe = tmp_path / "run", make_student("training.steps=2", "training.validations=1", test)
    card, report, bundle = run / "bundle" / "README.md", run / "report.html", run / "bundle" / "bundle.json"
    with monkeypatch.context() as patch:
        patch.setattr("dragoman.training.compare.compare_with_teachers", interrupt)
        assert not train(recipe, run)
        assert "to compare the student with its teacher later, run: " in capsys.readouterr().err
        made = bundle.stat().st_mtime_ns
        for weights in run.glob("checkpoints/*/*.safetensors"):
            weights.write_bytes(b"")  # they are not needed any more
        assert not train(recipe, run, resume=True)
    for text in (report.read_text("utf-8"), card.read_text("utf-8")):
        assert "not compared with the teacher: the comparison is not finished" in text
    moved = (tmp_path / "test.de").rename(tmp_path / "moved")
    report.unlink()
    about = f"Größe, see {HEADING}\n{HEADING}, by people\n\n"
    card.write_bytes(about.encode("cp1252") + card.read_bytes() + b"\nEnd")  # edited by a user
    assert train(recipe, run, resume=True), "it is complete"
    assert "not compared with the teacher: " in capsys.readouterr().err
    before = report.read_text("utf-8")
    for text in (before, card.read_text("cp1252")):
        assert f"not compared with the teacher: {tmp_path}/test.de: no such file" in text
    moved.rename(tmp_path / "test.de")
    assert train(recipe, run, resume=True)
    after = report.read_text("utf-8")
    for text in (after, card.read_text("cp1252")):
        assert "times as fast as the teacher with greedy search" in text
        assert "not compared" not in text
    assert set(after.splitlines()) >= {line for line in before.splitlines() if "not compared" not in line}
    assert bundle.stat().st_mtime_ns == made, "nothing is trained or scored again"
    assert card.read_text("cp1252").startswith(about)
    assert card.read_text("cp1252").endswith("\nEnd")


def test_a_card_without_the_end_mark_keeps_its_other_sections(make_uncompared: MakeUncompared) -> None:
    run, recipe = make_uncompared()
    card = run / "bundle" / "README.md"
    card.write_text(card.read_text("utf-8").replace(END_OF_SECTION, "") + "\n## Notes\n", "utf-8")
    assert train(recipe, run, resume=True)
    text = card.read_text("utf-8")
    assert text.count(HEADING) == text.count(END_OF_SECTION) == 1
    assert text.endswith("\n## Notes\n")
    assert "interrupted" not in text


def test_a_damaged_file_of_an_uncompared_student_is_reported(make_uncompared: MakeUncompared) -> None:
    run, recipe = make_uncompared()
    (run / "not-compared.json").write_text('{"facts": [1], "about_text": []}')
    with pytest.raises(UserError, match=r"not-compared\.json: damaged"):
        train(recipe, run, resume=True)


def test_monolingual_text_may_change_once_it_is_translated(make_uncompared: MakeUncompared, mono: Path) -> None:
    run, recipe = make_uncompared(mono=[str(mono)])
    mono.write_text("Etwas anderes.\n", "utf-8")
    assert train(recipe, run, resume=True)
    assert "times as fast as the teacher" in (run / "bundle" / "README.md").read_text("utf-8")


def test_a_run_ends_well_without_its_teacher_and_compares_once_it_is_back(
    make_student: MakeStudent,
    tmp_path: Path,
    finished_run: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    teacher, run = shutil.copytree(finished_run, tmp_path / "teacher"), tmp_path / "run"
    recipe = make_student("training.steps=2", "training.validations=1", teachers=[str(teacher)])
    with monkeypatch.context() as patch:
        patch.setattr("dragoman.training.run.run.score_and_save", interrupt)
        assert not train(recipe, run)
    moved, card = teacher.rename(tmp_path / "moved"), run / "bundle" / "README.md"
    for expected in ("comparing with the teacher", "this run is finished"):
        assert train(recipe, run, resume=True)
        printed = capsys.readouterr().err
        assert expected in printed
        assert "not compared with the teacher: " in printed
    assert "was not compared with the teacher" in card.read_text("utf-8")
    assert "not compared with the teacher" in (run / "report.html").read_text("utf-8")
    replace_weights(shutil.copytree(moved, teacher))
    assert train(recipe, run, resume=True)
    assert "changed since the run was started" in capsys.readouterr().err
    shutil.rmtree(teacher)
    moved.rename(teacher)
    assert train(recipe, run, resume=True)
    assert "times as fast as the teacher with greedy search" in card.read_text("utf-8")
    assert "not compared" not in card.read_text("utf-8") + (run / "report.html").read_text("utf-8").lower()
    assert train(recipe, run, resume=True)
    assert capsys.readouterr().err.count("comparing with the teacher") == 1


def test_a_teacher_that_is_replaced_during_the_training_is_not_compared(
    make_student: MakeStudent,
    tmp_path: Path,
    finished_run: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    teacher, run = shutil.copytree(finished_run, tmp_path / "teacher"), tmp_path / "run"

    def replace_teacher(*arguments: Any) -> Any:
        replace_weights(teacher)
        return compare_student(*arguments)

    monkeypatch.setattr("dragoman.training.run.run.compare_student", replace_teacher)
    assert train(make_student("training.steps=2", "training.validations=1", teachers=[str(teacher)]), run)
    assert "not compared with the teacher: " in capsys.readouterr().err
    assert "changed since the run was started" in (run / "bundle" / "README.md").read_text("utf-8")


@pytest.mark.usefixtures("no_card")
def test_an_interrupted_student_has_the_same_weights(
    make_student: MakeStudent, mono: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = make_student(mono=[str(mono)])
    assert train(recipe, tmp_path / "whole")
    run, moments, resumed = tmp_path / "run", random.Random(1), 0
    while not (run / "bundle" / "bundle.json").exists():
        with monkeypatch.context() as patch:
            kill_at(patch, moments.randrange(2, 14))
            try:
                assert train(recipe, run, resume="auto")
            except Killed:
                resumed += 1
    assert resumed > 2
    assert sha256(run / "bundle/model.safetensors") == sha256(tmp_path / "whole" / "bundle/model.safetensors")
    assert train(recipe, run, resume=True)


def test_an_ensemble_teaches_and_original_pairs_are_mixed_in(
    make_student: MakeStudent, finished_run: Path, tmp_path: Path
) -> None:
    recipe = make_student(teachers=[str(finished_run), str(finished_run / "bundle")], original_weight=0.5)
    assert train(recipe, tmp_path / "run")
    learned = Bundle.load(tmp_path / "run").recipe.data.weighted
    assert [each.weight for each in learned] == [0.5, 1.0]
    assert "| ensemble " in (tmp_path / "run" / "bundle" / "README.md").read_text("utf-8")


@pytest.mark.usefixtures("no_card")
def test_monolingual_text_is_translated_except_what_is_held_out(
    make_student: MakeStudent, corpus: Path, mono: Path, tmp_path: Path
) -> None:
    held_out = (corpus / "validation.de").read_text("utf-8").splitlines(True)[0]
    lines = mono.read_text("utf-8").splitlines()
    mono.write_text(held_out + mono.read_text("utf-8"), "utf-8")
    assert train(make_student(mono=[str(mono)]), tmp_path / "run")
    sources, targets = texts(tmp_path / "run", "synthetic/distillation-mono")
    assert sources == lines
    assert all(targets)


def test_a_teacher_without_good_translations_is_named_as_the_cause(
    make_student: MakeStudent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.synthesis.pair_checks.PairFilter._problems", lambda *arguments: iter(["repetition"]))
    with pytest.raises(UserError, match=r"the teachers made no good pair \(training text: 0 pairs .* repetition"):
        train(make_student(), tmp_path / "run")


@pytest.mark.parametrize(("budget", "is_sampled"), [("training.minutes=1", True), ("training.epochs=1", False)])
def test_text_that_may_not_fit_into_the_time_is_translated_in_a_random_order(
    budget: str, is_sampled: bool, make_student: MakeStudent, tmp_path: Path
) -> None:
    """What does not fit is not the end of the text, and not the last files."""
    recipe = make_student(budget)
    (pattern,) = recipe.data.train
    files = FilePair(source=str(pattern).format(lang="de"), target=str(pattern).format(lang="en"))
    data = recipe.data.model_copy(update={"train": (WeightedCorpus(corpus=files),)})
    mono = [tmp_path / "first.de", tmp_path / "second.de"]
    for path in mono:
        path.write_text("".join(f"{path.stem} {number}\n" for number in range(500)), "utf-8")
    distillation = recipe.distillation.model_copy(update={"mono": tuple(map(str, mono))})
    recipe = recipe.model_copy(update={"distillation": distillation})
    corpora = synthetic_corpora(RunTeachers(recipe, tmp_path, torch.device("cpu")), data, tmp_path, [])
    assert [corpus.name for corpus in corpora] == ["training text", "monolingual text"]
    for corpus in corpora:
        lines = [pair.source for pair in corpus.read()]
        found = [pair.source for pair in corpus.pairs(len(lines))]
        assert (found != lines) == is_sampled
        assert sorted(found) == sorted(lines)
    if is_sampled:
        sample = [text.partition(" ") for text in found[:100]]
        assert {(file, int(number) // 100) for file, _, number in sample} == {
            (path.stem, part) for path in mono for part in range(5)
        }


@pytest.mark.usefixtures("no_card")
def test_another_vocabulary_is_learned_if_the_recipe_says_so(
    make_student: MakeStudent, finished_run: Path, tmp_path: Path
) -> None:
    assert train(make_student("text.vocabulary_size=380"), tmp_path / "run")
    tokenizers = saved_tokenizers(tmp_path / "run")
    assert tokenizers
    assert tokenizers[0].to_json() != Bundle.load(finished_run).source.to_json()


@pytest.mark.slow
def test_a_student_works_in_every_engine_and_export(student: Path, corpus: Path, tmp_path: Path) -> None:
    sentences = (corpus / "test.de").read_text("utf-8").splitlines()[:10]
    expected = [each.text for each in dragoman.load(student, engine="torch")(sentences)]
    for engine in ENGINES:
        assert [each.text for each in dragoman.load(student, engine=engine)(sentences)] == expected, engine
    for name in ("ctranslate2", "onnx", "huggingface"):
        assert export(Bundle.load(student), name, tmp_path / name).same_text == 1.0, name


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["diversification.weight=1"], "distillation.teachers excludes"),
        (["distillation.teachers=[]", "distillation.mono=['mono.de']"], "distillation.mono needs"),
    ],
)
def test_contradictory_sections_are_refused(make_student: MakeStudent, overrides: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_student(*overrides)


def test_impossible_weights_of_the_original_pairs_are_refused(make_student: MakeStudent) -> None:
    with pytest.raises(UserError, match=r"distillation\.original_weight times"):
        check_stage_corpora(make_student(original_weight=0.0005))


def test_a_teacher_of_other_languages_is_refused_and_leaves_no_directory(
    make_student: MakeStudent, corpus: Path, tmp_path: Path
) -> None:
    reverse = [f"{corpus}/train.{{lang}}"], [f"{corpus}/validation.{{lang}}"]
    languages = ["data.source_language=en", "data.target_language=de", "data.test=[]"]
    recipe = make_student(*languages, f"data.train={reverse[0]}", f"data.validation={reverse[1]}")
    with pytest.raises(UserError, match="translates from de to en, not from en to de"):
        train(recipe, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_start_with_other_sizes_is_refused_before_anything_is_translated(
    make_student: MakeStudent, finished_run: Path, tmp_path: Path
) -> None:
    recipe = make_student(f"training.start_from={finished_run}")
    with pytest.raises(UserError, match=r"model\.d_model: 16 in the recipe, 32 in the bundle"):
        train(recipe, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("no_card")
@pytest.mark.parametrize("changed", ["teacher", "mono"])
def test_a_teacher_or_a_text_that_was_changed_is_refused(
    changed: str,
    make_student: MakeStudent,
    finished_run: Path,
    mono: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    teacher, run = shutil.copytree(finished_run, tmp_path / "teacher"), tmp_path / "run"
    recipe = make_student("training.steps=2", "training.validations=1", teachers=[str(teacher)], mono=[str(mono)])
    assert train(recipe, run)
    shutil.rmtree(run / "bundle")  # so that the run is not finished
    assert train(recipe, run, resume=True)
    shutil.rmtree(run / "bundle")
    if changed == "mono":
        mono.write_text("Ein anderer Satz.\n", "utf-8")
    else:
        replace_weights(teacher)
        assert train(recipe, run, resume=True), "only the comparison needs it"
        assert "teacher: missing or changed; to compare the student with it" in capsys.readouterr().err
        shutil.rmtree(run / "bundle")
    shutil.rmtree(run / "synthetic")  # so that it is needed again
    with pytest.raises(UserError, match=f"{changed}.*: changed since the run was started"):
        train(recipe, run, resume=True)


@pytest.mark.usefixtures("no_card")
@pytest.mark.parametrize("changed", ["teacher", "mono"])
def test_a_teacher_or_a_text_that_changes_while_text_is_translated_is_refused(
    changed: str,
    make_student: MakeStudent,
    finished_run: Path,
    mono: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both are changed before the monolingual text is translated, and restored before the run is resumed."""
    teacher, expected, run = (
        shutil.copytree(finished_run, tmp_path / "teacher"),
        tmp_path / "expected",
        tmp_path / "run",
    )
    recipe = make_student("training.steps=2", "training.validations=1", teachers=[str(teacher)], mono=[str(mono)])
    assert train(recipe, expected)
    content, original = mono.read_text("utf-8"), Bundle.load(teacher)
    _ = original.model  # read now, before it is replaced

    def change(corpus: SyntheticCorpus, *arguments: Any) -> Any:
        if corpus.name == "monolingual text":
            if changed == "mono":
                mono.write_text(content.partition("\n")[0] + "\n", "utf-8")
            else:
                replace_weights(teacher)
        return make(corpus, *arguments)

    make = SyntheticCorpus.make
    with monkeypatch.context() as patches:
        patches.setattr(SyntheticCorpus, "make", change)
        with pytest.raises(UserError, match=f"{changed}.*: changed since the run was started"):
            train(recipe, run)
    assert texts(run, "synthetic/distillation-0") == texts(expected, "synthetic/distillation-0")
    assert not (run / "synthetic/distillation-mono.json").exists()
    mono.write_text(content, "utf-8")
    original.save(teacher / "bundle")
    assert train(recipe, run, resume=True)
    assert texts(run, "synthetic/distillation-mono") == texts(expected, "synthetic/distillation-mono")


@pytest.mark.usefixtures("no_card")
def test_a_teacher_that_is_gone_must_be_put_back_to_translate_and_is_reported_afterwards(
    make_student: MakeStudent,
    finished_run: Path,
    mono: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    teacher, run = shutil.copytree(finished_run, tmp_path / "teacher"), tmp_path / "run"
    recipe = make_student("training.steps=2", "training.validations=1", teachers=[str(teacher)], mono=[str(mono)])
    with monkeypatch.context() as patches:
        kill_at(patches, 2)
        with pytest.raises(Killed):
            train(recipe, run)
    moved = teacher.rename(tmp_path / "moved")
    with pytest.raises(UserError, match="teacher: missing, but this run still needs it"):
        train(recipe, run, resume=True)
    moved.rename(teacher)
    assert train(recipe, run, resume=True)
    assert "missing" not in capsys.readouterr().err
    for damage in (lambda: (teacher / "bundle" / "bundle.json").write_text("{"), lambda: shutil.rmtree(teacher)):
        shutil.rmtree(run / "bundle")  # so that the run is not finished
        damage()
        assert train(recipe, run, resume=True)
        assert "teacher: missing or changed; to compare the student with it, restore it" in capsys.readouterr().err
    shutil.rmtree(run / "bundle")
    shutil.rmtree(run / "checkpoints")  # as before the last stage
    (run / "source.tokenizer.json").unlink()
    with pytest.raises(UserError, match="teacher: missing or changed, but this run still needs it"):
        train(recipe, run, resume=True)


@pytest.mark.usefixtures("no_card")
def test_a_run_that_is_killed_while_it_reads_its_sources_can_be_resumed(
    make_student: MakeStudent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = make_student("training.steps=2", "training.validations=1")
    with monkeypatch.context() as patches:
        patches.setattr("dragoman.training.stages.stages.check_sources", lambda *arguments: os._exit(1))
        process = get_context("fork").Process(target=train, args=(recipe, tmp_path / "run"))
        process.start()
        process.join()
    assert train(recipe, tmp_path / "run", resume=True)


@pytest.mark.usefixtures("no_card")
def test_repeated_monolingual_text_is_no_problem(
    make_student: MakeStudent,
    mono: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("dragoman.doctor.training_checks.MAX_PAIRS", 1000)  # so that the text is checked
    mono.write_text(3 * mono.read_text("utf-8"), "utf-8")
    assert train(make_student("training.steps=2", "training.validations=1", mono=[str(mono)]), tmp_path / "run")
    assert "duplicates:" not in capsys.readouterr().err


def test_translations_are_stored_under_the_teacher_that_made_them(finished_run: Path, tmp_path: Path) -> None:
    teacher = shutil.copytree(finished_run, tmp_path / "teacher")
    read = Bundle.load(teacher)
    identity = identify_bundle(read)
    replace_weights(teacher)
    assert identify_bundle(read) == identity == identify_bundle(Bundle.load(finished_run))
    assert identify_bundle(Bundle.load(teacher)) != identity
