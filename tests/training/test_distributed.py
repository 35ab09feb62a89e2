"""Several processes train as one does."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sharded_state
import torch
from forked_ranks import ForkedRanks, train_in_forks
from safetensors.torch import load_file
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel

from dragoman.recipe import save_recipe
from dragoman.system.cpu import usable_cores
from dragoman.training.loop.distributed import SINGLE_PROCESS, Ranks, wrap_distributed
from dragoman.training.run.checkpoint import checkpoint_steps
from dragoman.training.run.log import read_metrics
from dragoman.training.run.run import train

if TYPE_CHECKING:
    from conftest import RecipeMaker

pytestmark = [
    pytest.mark.skipif(not dist.is_available() or not dist.is_gloo_available(), reason="torch has no gloo"),
    pytest.mark.usefixtures("bare_runs"),
]

SETTINGS = (
    "training.steps=30",
    "training.validations=6",
    "training.length_groups=4",
    "model.dropout=0",
    "model.qkv_bias=false",
    "model.activation=gelu",
    "training.epsilon=1e-6",
    "data.test=[]",
    "decoding.max_length=10",
)
"""Without the biases of keys, whose gradient is nothing but rounding errors, which Adam would blow up, and without a
kink in the activation, at which they would decide about a gradient."""


def test_tables_of_positions_are_not_exchanged(tmp_path: Path) -> None:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    module = wrap_distributed(torch.nn.BatchNorm1d(2), [], torch.device("cpu"), Ranks(0, 2), shard=False)
    assert isinstance(module, DistributedDataParallel)
    assert not module.will_sync_module_buffers()  # type: ignore[no-untyped-call]
    del module  # before the process group, see `join_ranks`
    dist.destroy_process_group()


def torchrun(ranks: int, recipe: Path, output: Path, *more: str, restarts: int = 0) -> subprocess.Popen[str]:
    options = ["--standalone", f"--nproc-per-node={ranks}", f"--max-restarts={restarts}"]
    launcher = ["torch.distributed.run", *options, "-m", "dragoman"]
    arguments = [sys.executable, "-m", *launcher, "train", str(recipe), "--output", str(output), *more]
    return subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)


def run_torchrun(ranks: int, recipe: Path, output: Path, *more: str) -> str:
    process = torchrun(ranks, recipe, output, *more)
    _, printed = process.communicate(timeout=300)
    assert process.returncode == 0, printed
    return printed


def run_forks(ranks: int, recipe: Path, output: Path, *more: str) -> str:
    """Train, and once more after a crash in native code.

    Once, in continuous integration, torch 2.13 found a damaged heap while it waited for gloo to gather sharded weights
    ("malloc(): unaligned tcache chunk detected"), and in none of 40 later trainings, some with checks of the heap.
    """
    processes = train_in_forks(ranks, recipe, output, *more)
    if processes.crashed():
        if "--resume" not in more:
            shutil.rmtree(output, ignore_errors=True)
        processes = train_in_forks(ranks, recipe, output, *more)
    return processes.run_to_the_end()


def logged(run: Path) -> list[float]:
    """Loss and norm of the gradient (which Adam would hide a wrong scale of) of every step and validation."""
    lines = [line for line in read_metrics(run / "metrics.jsonl") if line["kind"] in ("train", "validation")]
    return [number for line in lines for number in (line["loss"], line.get("gradient_norm", 0.0))]


def assert_near(run: Path, other: Path) -> None:
    """The same training, but for the order in which gradients were added."""
    assert logged(run) == pytest.approx(logged(other), rel=1e-3)
    ours, theirs = (load_file(path / "bundle" / "model.safetensors") for path in (run, other))
    for name, weight in ours.items():
        torch.testing.assert_close(weight, theirs[name], rtol=1e-3, atol=1e-4)


@pytest.fixture(scope="module")
def alone(make_recipe: RecipeMaker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of one process."""
    run = tmp_path_factory.mktemp("runs") / "alone"
    assert train(make_recipe(*SETTINGS), run)
    return run


def stop_at_a_checkpoint(recipe: Path, run: Path) -> None:
    """Train in two processes, and stop them after the first checkpoint."""
    processes = train_in_forks(2, recipe, run)
    while not checkpoint_steps(run):
        assert processes.running(), processes.log.read_text()
        time.sleep(0.01)
    processes.stop()


@pytest.mark.parametrize(
    ("shard", "accumulation", "run_processes"),
    [pytest.param("false", 1, run_torchrun, marks=pytest.mark.slow), ("true", 2, run_forks)],
)
def test_two_processes_train_as_one(
    shard: str, accumulation: int, run_processes: Callable[..., str], make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    options = (f"training.accumulation={accumulation}", "training.clip_norm=0.5", f"training.shard={shard}")
    recipe = make_recipe(*SETTINGS, *options)
    save_recipe(recipe, tmp_path / "recipe.toml")
    assert train(recipe, tmp_path / "alone")
    printed = run_processes(2, tmp_path / "recipe.toml", tmp_path / "both")
    assert "2 processes" in printed
    assert printed.count("400 training pairs") == 1, "only the first process logs"
    assert_near(tmp_path / "both", tmp_path / "alone")


def test_another_number_of_processes_continues_at_the_same_position(
    alone: Path, make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    save_recipe(make_recipe(*SETTINGS), tmp_path / "recipe.toml")
    run = tmp_path / "run"
    stop_at_a_checkpoint(tmp_path / "recipe.toml", run)
    (stopped,) = checkpoint_steps(run)[-1:]
    assert stopped < 30
    run_forks(4, tmp_path / "recipe.toml", run, "--resume")
    assert_near(run, alone)


@pytest.mark.parametrize("shard", [pytest.param("false", marks=pytest.mark.slow), "true"])
def test_processes_stopped_and_resumed_end_with_the_same_bits(
    shard: str, make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    recipe = make_recipe(*SETTINGS, "model.dropout=0.3", f"training.shard={shard}")
    save_recipe(recipe, tmp_path / "recipe.toml")
    run_forks(2, tmp_path / "recipe.toml", tmp_path / "whole")
    run = tmp_path / "stopped"
    stop_at_a_checkpoint(tmp_path / "recipe.toml", run)
    assert not (run / "bundle").exists()
    run_forks(2, tmp_path / "recipe.toml", run, "--resume")
    for name, weight in load_file(run / "bundle" / "model.safetensors").items():
        assert torch.equal(weight, load_file(tmp_path / "whole" / "bundle" / "model.safetensors")[name])


@pytest.mark.slow
def test_a_process_that_dies_ends_the_job(make_recipe: RecipeMaker, tmp_path: Path) -> None:
    save_recipe(make_recipe(*SETTINGS, "training.steps=100000"), tmp_path / "recipe.toml")
    process = torchrun(2, tmp_path / "recipe.toml", tmp_path / "run")
    while not (tmp_path / "run" / "metrics.jsonl").exists():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        pytest.skip("this system does not tell a process' children")
    os.kill(int(children.read_text().split()[-1]), signal.SIGKILL)
    _, printed = process.communicate(timeout=300)
    assert process.returncode != 0
    assert "SIGKILL" in printed


UNEVEN = [
    ("training.length_groups=3", "training.shard=true", "model.embedding_init=cooccurrence"),
    ("training.length_groups=1", "text.bpe_dropout=0.2", "training.accumulation=2"),
]
MORE_UNEVEN = [
    ("training.length_groups=1",),
    ("training.length_groups=1", "training.batch_sentences=3", "training.r_drop=1"),
    ("training.length_groups=1", "training.augmentation.upper_case=0.3", "training.augmentation.single_words=0.3"),
    ("training.length_groups=1", "training.augmentation.fuzzy_matches=0.8"),
]


@pytest.mark.parametrize(
    "options", [*UNEVEN, *(pytest.param(each, marks=pytest.mark.slow) for each in MORE_UNEVEN)], ids=" ".join
)
def test_processes_that_share_the_sentences_of_each_group_train_as_one(
    options: tuple[str, ...], make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    recipe = make_recipe(*SETTINGS, "training.steps=8", "training.validations=1", *options)
    save_recipe(recipe, tmp_path / "recipe.toml")
    assert train(recipe, tmp_path / "alone")
    run_forks(2, tmp_path / "recipe.toml", tmp_path / "both")
    assert_near(tmp_path / "both", tmp_path / "alone")


@pytest.mark.parametrize("shard", [pytest.param("false", marks=pytest.mark.slow), "true"])
def test_processes_start_from_the_same_bundle(
    shard: str, finished_run: Path, make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    start = (f"training.start_from={finished_run}", "training.log_every=1", "model.dropout=0")
    recipe = make_recipe("training.steps=2", "training.validations=1", *start, f"training.shard={shard}")
    save_recipe(recipe, tmp_path / "recipe.toml")
    assert train(recipe, tmp_path / "alone")
    run_forks(2, tmp_path / "recipe.toml", tmp_path / "both")
    first_step = slice(2)  # loss and norm of the gradient
    assert logged(tmp_path / "both")[first_step] == pytest.approx(logged(tmp_path / "alone")[first_step], rel=1e-3)


def test_sharded_torch_implementation_trains_as_one_process(make_recipe: RecipeMaker, tmp_path: Path) -> None:
    options = ("training.steps=10", "training.validations=2", "training.shard=true", "model.implementation=torch")
    recipe = make_recipe(*SETTINGS, *options, "model.qkv_bias=true")
    save_recipe(recipe, tmp_path / "recipe.toml")
    assert train(recipe, tmp_path / "alone")
    run_forks(2, tmp_path / "recipe.toml", tmp_path / "both")
    assert logged(tmp_path / "both") == pytest.approx(logged(tmp_path / "alone"), rel=1e-3)


def test_processes_agree_on_the_batches_that_are_teacher_forced(make_recipe: RecipeMaker, tmp_path: Path) -> None:
    """Otherwise sharded processes would wait for each other forever."""
    sampling = ("training.scheduled_sampling=two_pass", "training.teacher_forcing_decay=0.5", "training.shard=true")
    recipe = make_recipe(*SETTINGS, "training.steps=60", "training.validations=3", "training.r_drop=1", *sampling)
    save_recipe(recipe, tmp_path / "recipe.toml")
    assert train(recipe, tmp_path / "alone")
    run_forks(2, tmp_path / "recipe.toml", tmp_path / "both")
    forced = [
        [line["teacher_forced"] for line in read_metrics(run / "metrics.jsonl") if line["kind"] == "validation"]
        for run in (tmp_path / "alone", tmp_path / "both")
    ]
    assert forced[0] == forced[1]
    assert 0 < forced[0][-1] < 1


@pytest.mark.slow
def test_processes_stop_between_the_parts_of_a_step(make_recipe: RecipeMaker, tmp_path: Path) -> None:
    recipe = make_recipe(*SETTINGS, "training.steps=3", "training.validations=1", "training.accumulation=50")
    save_recipe(recipe, tmp_path / "recipe.toml")
    run_forks(2, tmp_path / "recipe.toml", tmp_path / "whole")
    run = tmp_path / "stopped"
    process = torchrun(2, tmp_path / "recipe.toml", run)
    while not (run / "metrics.jsonl").exists() or not logged(run):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, printed = process.communicate(timeout=300)
    assert "stopped after step 1" in printed
    assert checkpoint_steps(run) == [1]
    run_forks(2, tmp_path / "recipe.toml", run, "--resume")
    for name, weight in load_file(run / "bundle" / "model.safetensors").items():
        assert torch.equal(weight, load_file(tmp_path / "whole" / "bundle" / "model.safetensors")[name])


@pytest.mark.slow
def test_a_restarted_job_continues(make_recipe: RecipeMaker, tmp_path: Path) -> None:
    """torchrun starts all processes again with the same command when one is killed."""
    save_recipe(make_recipe(*SETTINGS, "training.checkpoint_minutes=0.0001"), tmp_path / "recipe.toml")
    run = tmp_path / "run"
    process = torchrun(2, tmp_path / "recipe.toml", run, "--resume=auto", restarts=1)
    while not checkpoint_steps(run):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        process.kill()
        pytest.skip("this system does not list the children of a process")
    os.kill(int(children.read_text().split()[-1]), signal.SIGKILL)
    _, printed = process.communicate(timeout=300)
    assert process.returncode == 0, printed
    assert "continuing from step" in printed
    assert (run / "bundle" / "bundle.json").exists()


def test_whole_weights_are_in_the_first_process_only(make_recipe: RecipeMaker, tmp_path: Path) -> None:
    save_recipe(make_recipe(*SETTINGS, "training.shard=true"), tmp_path / "recipe.toml")
    ForkedRanks(2, tmp_path / "log", sharded_state.main, tmp_path / "recipe.toml", tmp_path).run_to_the_end()
    first, second = (json.loads((tmp_path / f"rank-{rank}.json").read_text()) for rank in range(2))
    assert first["stored"] + second["stored"] == first["parameters"] == second["parameters"]
    assert max(first["stored"], second["stored"]) < 0.7 * first["parameters"]
    assert first["saved"] == first["parameters"]
    assert first["moments"] == 2 * first["parameters"]
    assert first["deployed"] == first["parameters"]
    assert second["saved"] == second["moments"] == second["deployed"] == 0


def test_number_of_threads_can_be_limited_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    try:
        for variable, setting, expected in (("1", None, 1), ("1", 2, 2), ("", None, usable_cores())):
            monkeypatch.setenv("OMP_NUM_THREADS", variable)
            SINGLE_PROCESS.use_threads(setting)
            assert torch.get_num_threads() == expected
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        Ranks(0, 2, 0, 2).use_threads(None)
        assert torch.get_num_threads() == max(1, usable_cores() // 2), "torchrun sets the variable itself"
    finally:
        torch.set_num_threads(before)
