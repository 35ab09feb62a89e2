"""Whole runs: the same twice, the same after any interruption, nothing half done."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
import torch
from safetensors.torch import load_file

from dragoman.bundle import Bundle
from dragoman.dataset.pairs import read_pairs
from dragoman.dataset.prepare import Dataset, prepare
from dragoman.dataset.token_store import PairStore
from dragoman.errors import UserError
from dragoman.evaluation.evaluate import evaluate
from dragoman.model.transformer import Transformer
from dragoman.recipe import save_recipe
from dragoman.system.files import sha256
from dragoman.text.id_store import IdStore
from dragoman.text.registry import save_tokenizers
from dragoman.training.loop.stop import StopRequested
from dragoman.training.loop.trainer import GradientComputer, Validator
from dragoman.training.report.charts import draw_charts
from dragoman.training.run.checkpoint import checkpoint_path, checkpoint_steps
from dragoman.training.run.directory import _digest_of_text, check_directory, check_place, lock_directory
from dragoman.training.run.log import read_metrics
from dragoman.training.run.run import train
from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command, RecipeMaker, SmallDisk

LONG = (
    "training.steps=60",
    "training.validations=6",
    "training.average=5",
    "model.dropout=0.2",
    "training.length_groups=3",
    "training.scheduled_sampling=stepwise",
    "decoding.max_length=10",
)
"""Long enough to be interrupted, also among the checkpoints to be averaged."""

pytestmark = pytest.mark.usefixtures("bare_runs")


def weights(run: Path) -> str:
    return sha256(run / "bundle" / "model.safetensors")


def lines_of(run: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in read_metrics(run / "metrics.jsonl") if line.get("kind") == kind]


def train_lines(run: Path) -> list[dict[str, Any]]:
    return lines_of(run, "train")


def start(recipe: Path, output: Path, *more: str) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-m", "dragoman", "train", str(recipe), "--output", str(output), *more]
    return subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert process.poll() is None, "ended before it could be interrupted"
        assert time.monotonic() < deadline, "nothing happens"
        time.sleep(0.005)


def is_past(run: Path, step: int) -> bool:
    """Whether the run has a checkpoint, and logged this step."""
    path = run / "metrics.jsonl"
    return path.exists() and f'"step": {step},' in path.read_text() and bool(checkpoint_steps(run))


@pytest.fixture(scope="module")
def long_recipe(make_recipe: RecipeMaker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recipe") / "long.toml"
    save_recipe(make_recipe(*LONG), path)
    return path


@pytest.fixture(scope="module")
def uninterrupted(make_recipe: RecipeMaker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "uninterrupted"
    assert train(make_recipe(*LONG), run)
    return run


def assert_same_run(run: Path, other: Path) -> None:
    """The runs are identical: weights, optimizer state, random numbers, losses of all steps."""
    assert weights(run) == weights(other)
    steps = checkpoint_steps(run)
    assert steps[-1] == checkpoint_steps(other)[-1]
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert sha256(checkpoint_path(run, steps[-1]) / name) == sha256(checkpoint_path(other, steps[-1]) / name)
    for key in ("step", "loss", "learning_rate", "gradient_norm"):
        assert [line[key] for line in train_lines(run)] == [line[key] for line in train_lines(other)]


@pytest.mark.slow
def test_same_seed_gives_same_weights_in_another_process(
    finished_run: Path, make_recipe: RecipeMaker, process: Command, tmp_path: Path
) -> None:
    save_recipe(make_recipe(), tmp_path / "tiny.toml")
    assert process("train", tmp_path / "tiny.toml", "--output", tmp_path / "run").code == 0
    assert_same_run(tmp_path / "run", finished_run)


@pytest.mark.slow
def test_same_seed_gives_same_weights_in_bfloat16(make_recipe: RecipeMaker, process: Command, tmp_path: Path) -> None:
    short = ("training.steps=6", "training.validations=2", "data.test=[]")
    recipe = make_recipe(*short, "training.precision=bfloat16", "model.dropout=0.3")
    save_recipe(recipe, tmp_path / "tiny.toml")
    assert train(recipe, tmp_path / "here")
    assert process("train", tmp_path / "tiny.toml", "--output", tmp_path / "there").code == 0
    assert_same_run(tmp_path / "here", tmp_path / "there")


def test_other_seed_or_precision_gives_other_weights(make_recipe: RecipeMaker, tmp_path: Path) -> None:
    short = ("training.steps=2", "training.validations=1")
    for name, change in (("a", "training.seed=1"), ("b", "training.seed=2"), ("c", "training.precision=bfloat16")):
        assert train(make_recipe(*short, change), tmp_path / name)
    assert len({weights(tmp_path / name) for name in "abc"}) == 3


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL]
)  # SIGTERM is treated as SIGINT
def test_stopped_and_resumed_run_is_as_if_never_stopped(
    number: signal.Signals, long_recipe: Path, uninterrupted: Path, make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    process = start(long_recipe, run)
    wait_for(lambda: is_past(run, 34), process)
    process.send_signal(number)
    _, printed = process.communicate(timeout=300)

    assert not (run / "bundle").exists()
    assert 0 < checkpoint_steps(run)[-1] < 60
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 130
        assert "Traceback" not in printed
        assert f"stopped after step {checkpoint_steps(run)[-1]}" in printed
        assert "Validations" in (run / "report.html").read_text()
    assert train(make_recipe(*LONG), run, resume=True)
    assert_same_run(run, uninterrupted)
    assert [line["step"] for line in train_lines(run)] == list(range(1, 61))


@pytest.mark.slow
def test_second_interrupt_stops_at_once_and_loses_nothing_saved(
    make_recipe: RecipeMaker, digests: Callable[[Path], dict[str, str]], tmp_path: Path
) -> None:
    large = ("training.batch_tokens=6000", "model.d_ff=8192")  # a step that cannot be stopped between its parts
    slow = make_recipe("training.steps=2", "training.validations=2", *large)
    save_recipe(slow, tmp_path / "slow.toml")
    run = tmp_path / "run"
    process = start(tmp_path / "slow.toml", run)
    wait_for(lambda: bool(checkpoint_steps(run)), process)
    process.send_signal(signal.SIGINT)
    assert process.stderr
    while "press Ctrl-C again to stop immediately" not in process.stderr.readline():
        assert process.poll() is None
    saved = digests(run / "checkpoints")
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "stopped after step" not in printed
    assert "Traceback" not in printed
    weights = {name: digest for name, digest in saved.items() if name.endswith(".safetensors")}
    assert weights.items() <= digests(run / "checkpoints").items()
    assert train(slow, run, resume=True)


def test_validation_is_interrupted_and_repeated(
    uninterrupted: Path, make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate_all, validations = Validator.evaluate, []

    def interrupted(validator: Validator, model: Transformer) -> Any:
        result = evaluate_all(validator, model)
        validations.append(result)
        if len(validations) == 3:
            torch.rand(3)  # as if it had used the random generator
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        return result

    monkeypatch.setattr(Validator, "evaluate", interrupted)
    run = tmp_path / "run"
    assert not train(make_recipe(*LONG), run)
    stopped = checkpoint_steps(run)[-1]
    assert [line["step"] for line in lines_of(run, "validation")] == [10, 20]
    assert stopped == 30
    assert train(make_recipe(*LONG), run, resume=True)
    assert_same_run(run, uninterrupted)
    assert [line["step"] for line in lines_of(run, "validation")] == list(range(10, 61, 10))


@pytest.mark.slow
@pytest.mark.parametrize("part", ["evaluate", "choose_rows"])
def test_the_end_is_interrupted_and_repeated(
    part: str, finished_run: Path, make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)

    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(f"dragoman.training.run.finish.{part}", interrupted)
        assert not train(make_recipe(), run)
    assert not (run / "bundle").exists()
    assert train(make_recipe(), run, resume=True)
    assert_same_run(run, finished_run)
    assert len(lines_of(run, "test")) == 1


def test_a_run_directory_deleted_at_the_end_is_not_created_again(
    make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    monkeypatch.setattr("dragoman.training.run.finish.calibrate", lambda *_: shutil.rmtree(run))
    with pytest.raises(UserError, match="run: the run directory was deleted"):
        train(make_recipe("training.steps=5"), run)
    assert not run.exists()


def test_training_works_in_another_thread(finished_run: Path, make_recipe: RecipeMaker, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(train, make_recipe(), tmp_path / "run").result()
    assert_same_run(tmp_path / "run", finished_run)


@pytest.mark.slow
def test_resume_auto_starts_continues_and_leaves_a_finished_run(
    uninterrupted: Path, long_recipe: Path, process: Command, tmp_path: Path, digests: Callable[[Path], dict[str, str]]
) -> None:
    run = tmp_path / "run"
    first = start(long_recipe, run, "--resume=auto")
    wait_for(lambda: is_past(run, 30), first)
    first.kill()
    first.communicate()
    resume = ("train", long_recipe, "--output", run, "--resume=auto")
    outcome = process(*resume)
    assert outcome.code == 0
    assert "continuing from step" in outcome.error
    assert_same_run(run, uninterrupted)
    before = digests(run)
    assert process(*resume).code == 0
    assert digests(run) == before


@pytest.mark.slow
def test_full_disk_stops_a_run_that_goes_on_when_there_is_space(
    long_recipe: Path, uninterrupted: Path, make_recipe: RecipeMaker, process: Command, small_disk: SmallDisk
) -> None:
    small_disk.resize(1200)
    run = small_disk.path / "run"
    outcome = process("train", long_recipe, "--output", run)
    assert outcome.code == 2
    assert "step-" in outcome.error
    assert "No space left on device" in outcome.error
    assert "Traceback" not in outcome.error
    assert checkpoint_steps(run)
    assert not list((run / "checkpoints").glob(".*"))
    small_disk.resize(16_000)
    assert train(make_recipe(*LONG), run, resume=True)
    assert_same_run(run, uninterrupted)


@pytest.mark.parametrize("name", ["source.tokenizer.json", "target.tokenizer.json"])
def test_a_deleted_tokenizer_is_restored(
    name: str, finished_run: Path, make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    shutil.rmtree(run / "bundle")
    tokenizer = (run / name).read_bytes()
    (run / name).unlink()
    assert train(make_recipe(), run, resume=True)
    assert (run / name).read_bytes() == tokenizer
    assert_same_run(run, finished_run)


@pytest.mark.parametrize("size", [400, 300])
def test_tokenizers_of_another_run_are_replaced_by_those_of_the_checkpoints(
    size: int, finished_run: Path, make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    shutil.rmtree(run / "bundle")
    recipe = make_recipe("data.train=['captions:train']", f"text.vocabulary_size={size}")
    other = prepare(recipe, None, None, print)
    save_tokenizers(run, other.source, other.target)
    assert train(make_recipe(), run, resume=True)
    assert_same_run(run, finished_run)


def test_a_run_killed_before_its_report_is_finished_with_a_report(
    finished_run: Path, make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    (run / "report.html").unlink()
    assert train(make_recipe(), run, resume=True)
    assert (run / "report.html").exists()
    assert_same_run(run, finished_run)


def test_a_bundle_is_not_trained_again_for_its_report(
    finished_run: Path,
    make_recipe: RecipeMaker,
    tmp_path: Path,
    digests: Callable[[Path], dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dragoman.training.report.report.draw_charts", draw_charts)  # as in the first report
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    (run / "report.html").unlink()
    (checkpoint_path(run, checkpoint_steps(run)[-1]) / "state.json").write_text("{}")
    before = digests(run)
    assert train(make_recipe(), run, resume=True)
    assert digests(run) == before


@pytest.mark.parametrize("names", [("model.safetensors",), ("bundle.json", "model.safetensors")])
def test_a_damaged_bundle_is_made_again(
    names: tuple[str, ...], finished_run: Path, make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    for name in names:
        (run / "bundle" / name).write_bytes(b"")
    assert train(make_recipe(), run, resume=True)
    assert_same_run(run, finished_run)


def test_a_damaged_bundle_without_checkpoints_is_reported(
    finished_run: Path, make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    (run / "bundle" / "model.safetensors").unlink()
    shutil.rmtree(run / "checkpoints")
    with pytest.raises(
        UserError,
        match=r"incomplete; no checkpoint is intact, .*; start again in another --output",
    ):
        train(make_recipe(), run, resume=True)


def test_checkpoints_of_another_version_are_not_overwritten(
    finished_run: Path, make_recipe: RecipeMaker, tmp_path: Path, digests: Callable[[Path], dict[str, str]]
) -> None:
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    shutil.rmtree(run / "bundle")
    path = checkpoint_path(run, checkpoint_steps(run)[-1]) / "state.json"
    about = json.loads(path.read_text()) | {"version": 2}
    del about["sha256"]
    checksum = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(about | {"sha256": checksum}))
    before = digests(run)
    with pytest.raises(UserError, match=r"state\.json: .* another version of dragoman \(format 2\)"):
        train(make_recipe(), run, resume=True)
    assert digests(run) == before


def test_a_run_stopped_in_its_first_step_continues_with_its_checkpoint(
    make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = make_recipe("training.accumulation=2", "training.steps=2", "training.validations=1")

    def stop(computer: GradientComputer) -> None:
        raise StopRequested

    with monkeypatch.context() as patch:
        patch.setattr(GradientComputer, "_check_stop", stop)
        assert not train(recipe, tmp_path / "run")
    assert train(recipe, tmp_path / "run", resume=True)
    printed = capsys.readouterr().err
    assert "continuing from step 0" in printed
    assert "no intact checkpoint" not in printed


def test_a_signal_after_the_last_result_is_too_late(
    finished_run: Path, make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = Path(shutil.copytree(finished_run, tmp_path / "run")) / "report.html"
    content = report.read_bytes()

    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    def finish_and_interrupt(*arguments: Any) -> None:
        report.write_bytes(content)
        raise KeyboardInterrupt

    monkeypatch.setattr("dragoman.training.run.run._Run.train", interrupt)
    for _ in range(2):  # this call finishes nothing; first, the run has all results, and then not
        with pytest.raises(KeyboardInterrupt):
            train(make_recipe(), tmp_path / "run", resume=True)
        report.unlink(missing_ok=True)
    monkeypatch.setattr("dragoman.training.run.run._Run.train", finish_and_interrupt)
    assert train(make_recipe(), tmp_path / "run", resume=True)


def test_an_error_is_reported_even_if_the_directory_cannot_be_removed(
    make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(directory: Path) -> None:
        raise OSError("not empty")

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(UserError, match="multi40k"):
        train(make_recipe("data.train=['multi40k:train']"), tmp_path / "run")


def test_odd_metrics_do_not_prevent_resuming(finished_run: Path, make_recipe: RecipeMaker, tmp_path: Path) -> None:
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    shutil.rmtree(run / "bundle")
    odd = [{}, {"kind": "train", "step": "x"}, {"kind": "validation", "step": 1}, {"kind": 3}, {"kind": "test"}]
    with (run / "metrics.jsonl").open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in odd)
    assert train(make_recipe(), run, resume=True)
    assert "Validations" in (run / "report.html").read_text()


def test_a_bundle_that_was_being_replaced_is_restored(
    finished_run: Path, make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    (run / "bundle").rename(run / ".bundle.old-999999999")
    assert train(make_recipe(), run, resume=True)
    assert weights(run) == weights(finished_run)


def test_weight_decay_with_adam_is_announced_as_l2_regularization(
    make_recipe: RecipeMaker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for optimizer in ("adam", "adamw"):
        short = ("training.steps=1", "training.validations=1", "training.weight_decay=0.1")
        assert train(make_recipe(*short, f"training.optimizer={optimizer}"), tmp_path / optimizer)
        assert ("L2 regularization" in capsys.readouterr().err) == (optimizer == "adam")


def test_r_drop_without_dropout_is_announced_as_useless(
    make_recipe: RecipeMaker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for dropout in (0.0, 0.1):
        short = ("training.steps=1", "training.validations=1", "training.r_drop=1", f"model.dropout={dropout}")
        assert train(make_recipe(*short), tmp_path / str(dropout))
        assert ("no effect without dropout" in capsys.readouterr().err) == (dropout == 0)


def test_finished_run_is_left_alone_when_resumed(
    finished_run: Path,
    make_recipe: RecipeMaker,
    digests: Callable[[Path], dict[str, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = digests(finished_run)
    assert train(make_recipe(), finished_run, resume=True)
    assert "this run is finished" in capsys.readouterr().err
    assert digests(finished_run) == before


def test_harmless_settings_may_change_on_resuming(uninterrupted: Path, make_recipe: RecipeMaker) -> None:
    assert train(make_recipe(*LONG, "decoding.beam_size=2", "training.log_every=7"), uninterrupted, resume=True)
    with pytest.raises(UserError, match=r"(?s)cannot change.*model\.dropout: 0\.2 -> 0\.1.*training\.seed: 1 -> 2"):
        train(make_recipe(*LONG, "model.dropout=0.1", "training.seed=2"), uninterrupted, resume=True)


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_broken_corpus_is_reported_before_files_are_written(
    split: str, corpus: Path, make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    for language in ("de", "en"):
        tmp_path.joinpath(f"x.{language}").write_bytes(b"one line\n" if language == "de" else b"two\nlines\n")
    run = tmp_path / "run"
    broken = f'data.{split}=["{tmp_path}/x.{{lang}}"]'
    with pytest.raises(UserError, match="different length"):
        train(make_recipe("training.steps=1", broken), run)
    assert not run.exists()
    run.mkdir()
    with pytest.raises(UserError, match="different length"):
        train(make_recipe("training.steps=1", broken), run)
    assert train(make_recipe("training.steps=1", "training.validations=1"), run)


def test_bundle_holds_the_average_that_the_best_validation_scored(finished_run: Path) -> None:
    validations = [line for line in read_metrics(finished_run / "metrics.jsonl") if line["kind"] == "validation"]
    best = [line["step"] for line in validations if line["best"]][-1]
    steps = [line["step"] for line in validations if line["step"] <= best][-2:]
    bundle = load_file(finished_run / "bundle" / "model.safetensors")
    scored = load_file(checkpoint_path(finished_run, best) / "average.safetensors")
    assert all(torch.equal(weight, scored[name]) for name, weight in bundle.items())
    if all(checkpoint_path(finished_run, step).exists() for step in steps):
        first, second = (load_file(checkpoint_path(finished_run, step) / "model.safetensors") for step in steps)
        for name, weight in bundle.items():
            torch.testing.assert_close(weight, (first[name] + second[name]) / 2)
        assert any(not torch.equal(weight, second[name]) for name, weight in bundle.items())


def test_bundle_holds_the_best_weights_without_averaging(make_recipe: RecipeMaker, tmp_path: Path) -> None:
    diverging = ("training.learning_rate=30.0", "training.warmup_steps=16", "training.schedule=constant")
    recipe = make_recipe(*diverging, "training.best_by=loss", "training.average=1", "training.steps=16")
    assert train(recipe, tmp_path / "run")
    validations = [line for line in read_metrics(tmp_path / "run" / "metrics.jsonl") if line["kind"] == "validation"]
    best = min(validations, key=lambda line: float(line["loss"]))["step"]
    assert best < 16, "the last would be the best without looking"
    bundle = load_file(tmp_path / "run" / "bundle" / "model.safetensors")
    for name, weight in load_file(checkpoint_path(tmp_path / "run", best) / "model.safetensors").items():
        assert torch.equal(weight, bundle[name])


def test_scores_of_the_bundle_are_those_of_its_translator(finished_run: Path) -> None:
    bundle = Bundle.load(finished_run)
    (name,) = bundle.recipe.data.test
    assert isinstance(name, str)
    pairs = read_pairs([name], bundle.recipe.data, None)
    report, translations = evaluate(
        Translator(bundle), [pair.source for pair in pairs], [pair.target for pair in pairs]
    )
    (line,) = [line for line in read_metrics(finished_run / "metrics.jsonl") if line["kind"] == "test"]
    assert bundle.scores == {name: report.to_dict()}
    assert {key: line[key] for key in report.to_dict()} == report.to_dict()
    assert [sample["translation"] for sample in line["samples"]] == translations[:10]
    assert f"{report.bleu:.1f}" in (finished_run / "report.html").read_text()


def test_a_directory_in_use_is_refused_before_the_text_is_read(tmp_path: Path, command: Command) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for language, text in (("de", "Ein Hund\nEine Katze\n"), ("en", "A dog\n")):
        (tmp_path / f"x.{language}").write_text(text)
    files = [str(tmp_path / f"x.{language}") for language in ("de", "en")]
    with lock_directory(run):
        refused = command("train", *files, "--output", run)
    assert (refused.code, "another process is training" in refused.error) == (2, True)
    (run / ".lock").touch()  # of a killed process
    assert "x.en" in command("train", *files, "--output", run).error


def test_a_run_in_progress_is_called_so(tmp_path: Path) -> None:
    """A second process that wants to start the same run does not suggest to resume it."""
    (tmp_path / "recipe.toml").touch()
    with lock_directory(tmp_path), pytest.raises(UserError, match="another process is training in this directory"):
        check_directory(tmp_path, resume=False)
    with pytest.raises(UserError, match="already contains a run"):
        check_directory(tmp_path, resume=False)


def test_directory_is_used_by_one_process_at_a_time(make_recipe: RecipeMaker, tmp_path: Path) -> None:
    save_recipe(make_recipe("training.steps=100000"), tmp_path / "long.toml")
    run = tmp_path / "run"
    first = start(tmp_path / "long.toml", run)
    wait_for(lambda: (run / "recipe.toml").exists(), first)
    with start(tmp_path / "long.toml", run, "--resume") as second:
        _, printed = second.communicate(timeout=300)
    assert second.returncode == 2
    assert "another process is training in this directory" in printed
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=300)
    assert first.returncode == 130


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_corpus_can_come_from_a_pipe(make_recipe: RecipeMaker, corpus: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pairs.tsv"
    os.mkfifo(pipe)
    sides = ((corpus / f"train.{language}").read_text("utf-8").splitlines() for language in ("de", "en"))
    text = "".join(f"{source}\t{target}\n" for source, target in zip(*sides, strict=True))
    threading.Thread(target=pipe.write_text, args=(text, "utf-8"), daemon=True).start()
    recipe = make_recipe("training.steps=2", "training.validations=1", f"data.train=[{str(pipe)!r}]")
    assert train(recipe, tmp_path / "run")


def test_a_run_made_before_teacher_forced_bleu_was_a_setting_can_be_resumed(
    make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    path = tmp_path / "recipe.toml"
    save_recipe(make_recipe(), path)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("teacher_forced_bleu")), "utf-8")
    assert path.read_text("utf-8").count("teacher_forced_bleu") == 0
    assert not check_place(make_recipe("training.teacher_forced_bleu=true"), tmp_path, resume=True)


@pytest.mark.parametrize("side", ["train.de", "train.en", "validation.en"])
def test_a_run_does_not_continue_with_another_text(
    side: str, make_recipe: RecipeMaker, corpus: Path, tmp_path: Path
) -> None:
    for split in ("train", "validation"):
        for language in ("de", "en"):
            shutil.copy(corpus / f"{split}.{language}", tmp_path)
    files = (f'data.{split}=["{tmp_path}/{split}.{{lang}}"]' for split in ("train", "validation"))
    recipe = make_recipe(*files, "training.steps=2", "training.average=1")
    run = tmp_path / "run"
    assert train(recipe, run)
    shutil.rmtree(run / "bundle")
    first, second, *others = (tmp_path / side).read_text("utf-8").splitlines(keepends=True)
    (tmp_path / side).write_text("".join([second, first, *others]), "utf-8")
    with pytest.raises(UserError, match="has changed since the run was started, though not the number of pairs"):
        train(recipe, run, resume=True)
    (tmp_path / side).write_text("".join([first, second, *others]), "utf-8")
    pairs = json.loads((run / "pairs.json").read_text())
    del pairs["sha256"]  # as older versions wrote it
    (run / "pairs.json").write_text(json.dumps(pairs))
    assert train(recipe, run, resume=True)


def test_the_digest_of_a_text_depends_on_its_lines() -> None:
    digests = set()
    for source, target in (([[1, 2], [3]], [[4]]), ([[1], [2, 3]], [[4]]), ([[1, 2], [3]], [[5]])):
        store = PairStore(IdStore.of(source), IdStore.of(target))
        digests.add(_digest_of_text(cast(Dataset, SimpleNamespace(train=store, validation=[]))))
    assert len(digests) == 3


def test_a_run_does_not_continue_with_another_number_of_pairs(
    make_recipe: RecipeMaker, corpus: Path, tmp_path: Path
) -> None:
    for language in ("de", "en"):
        (tmp_path / f"train.{language}").write_bytes((corpus / f"train.{language}").read_bytes())
    recipe = make_recipe(f'data.train=["{tmp_path}/train.{{lang}}"]', "training.steps=2", "training.average=1")
    run = tmp_path / "run"
    assert train(recipe, run)
    shutil.rmtree(run / "bundle")
    for language in ("de", "en"):
        lines = (tmp_path / f"train.{language}").read_text("utf-8").splitlines(keepends=True)
        (tmp_path / f"train.{language}").write_text("".join(lines[:-1]), "utf-8")
    with pytest.raises(UserError, match="changed since the run was started: 400 training pairs then, 399 now"):
        train(recipe, run, resume=True)
