"""One or two damaged files of a run cost nothing else: what remains usable is used, and kept.

`make crash-test` damages five hundred runs. In each, one or two files are removed, truncated, or changed by a byte.
"""

from __future__ import annotations

import json
import random
import shutil
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.settings import Recipe
from dragoman.system.files import sha256
from dragoman.training.loop.trainer import Trainer
from dragoman.training.run.checkpoint import checkpoint_path, checkpoint_steps
from dragoman.training.run.run import train

if TYPE_CHECKING:
    from conftest import RecipeMaker

SETTINGS = (
    *("training.steps=12", "training.validations=4", "training.validation_sentences=1", "training.log_every=1"),
    *(
        "text.byte_fallback=false",
        "text.vocabulary_size=120",
        "model.d_model=8",
        "model.d_ff=8",
        "training.batch_tokens=128",
    ),
    *("decoding.max_length=4", "decoding.beam_size=1", "data.test=[]"),
)
VARIANTS = {
    "best": ("training.average=1", "training.checkpoint_minutes=1e-9"),
    "average": ("training.average=2", "training.checkpoint_minutes=1e-9"),
    "moving average": ("training.average=1", "training.ema_decay=0.5"),
}
MOMENTS = (1, 4, 7, 12)
"""The steps at which copies of a run are made; another copy is that of the finished run."""

pytestmark = pytest.mark.usefixtures("bare_runs")


@pytest.fixture(scope="module")
def moments(make_recipe: RecipeMaker, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Recipe, Path]]:
    """Runs of each variant that were stopped at several moments, and finished ones."""
    copies, save = list[tuple[Recipe, Path]](), Trainer.save
    for name, settings in VARIANTS.items():
        recipe, run = make_recipe(*SETTINGS, *settings), tmp_path_factory.mktemp(name.replace(" ", "-")) / "run"

        def save_and_copy(trainer: Trainer, recipe: Recipe = recipe, run: Path = run) -> None:
            save(trainer)
            step, validated = trainer.state.progress.step, bool(trainer.state.progress.validated[-1:])
            if step in MOMENTS:
                copy = run.with_name(f"at-{step}-{validated}")
                if not copy.exists():
                    shutil.copytree(run, copy)
                    copies.append((recipe, copy))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Trainer, "save", save_and_copy)
            assert train(recipe, run)
        copies.append((recipe, run))
    return copies


def files_of(run: Path) -> list[Path]:
    return sorted(path for path in run.rglob("*") if path.is_file() and path.name != ".lock")


def damage(path: Path, generator: random.Random) -> str:
    """Remove a file, truncate it, or change one byte; returns which."""
    content = bytearray(path.read_bytes())
    kind = generator.choice(["removed", "truncated", "changed"]) if content else "removed"
    place = generator.randrange(len(content)) if content else 0
    if kind == "removed":
        path.unlink()
    elif kind == "truncated":
        path.write_bytes(content[:place])
    else:
        content[place] ^= 1 << generator.randrange(8)
        path.write_bytes(content)
    return kind


class StoppedError(Exception):
    """Training was resumed, and stopped before its first step."""


def lines_of(content: bytes) -> list[dict[str, Any]]:
    """The points of the curves in a metrics.jsonl, without damaged lines."""
    lines = []
    for text in content.splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and line.get("kind") in ("train", "validation") and "step" in line:
            lines.append(line)
    return lines


class Damaged:
    """A copy of a run of which one or two files are damaged, and what should be left of it.

    Attributes:
        run: The copy.
        whole: The undamaged run.
        intact: The paths of the undamaged files, relative to the run.
        newest: The newest step with undamaged state and tensors, or 0.
        best: The highest score of the validations up to this step whose weights are undamaged.
        points: The points of the curves up to this step that are left in undamaged files, or undamaged lines.
    """

    def __init__(self, whole: Path, run: Path, generator: random.Random) -> None:
        self.run, self.whole = Path(shutil.copytree(whole, run)), whole
        self.damage = {}
        for path in generator.sample(files_of(run), generator.choice([1, 2])):
            self.damage[str(path.relative_to(run))] = damage(path, generator)
        self.intact = {str(path.relative_to(run)) for path in files_of(run)} - self.damage.keys()
        names = {step: self._tensors(step) for step in checkpoint_steps(whole)}
        state = {step for step in names if f"{self._directory(step)}/state.json" in self.intact}
        self.newest = max((step for step in state if names[step] <= self.intact), default=0)
        about = self._about(self.newest) if self.newest else {"scores": []}
        usable = [
            score for step, score, _ in about["scores"] if step in state and self._deployed(int(step)) in self.intact
        ]
        self.best = max(usable, default=None)
        original = lines_of((whole / "metrics.jsonl").read_bytes())
        metrics = [run / "metrics.jsonl"]
        copies = [f"{self._directory(step)}/metrics.jsonl" for step in state if step <= self.newest]
        metrics += [run / name for name in copies if name in self.intact]  # a copy without its checksum proves nothing
        left = [lines_of(path.read_bytes()) for path in metrics if path.is_file()]
        self.points = [
            line for line in original if line["step"] <= self.newest and any(line in lines for lines in left)
        ]

    def _directory(self, step: int) -> str:
        return str(checkpoint_path(Path(), step))

    def _about(self, step: int) -> Any:
        return json.loads((self.whole / self._directory(step) / "state.json").read_text())

    def _tensors(self, step: int) -> set[str]:
        names = self._about(step)["files"]
        return {f"{self._directory(step)}/{name}" for name in names if name.endswith(".safetensors")}

    def _deployed(self, step: int) -> str:
        if step not in checkpoint_steps(self.whole):
            return "pruned"
        files = [f"{self._directory(step)}/{name}.safetensors" for name in ("average", "moving-average", "model")]
        return next(file for file in files if file in self._tensors(step))

    def has_copy(self, name: str) -> bool:
        """Whether a checkpoint has an undamaged copy of a file."""
        directories = map(self._directory, checkpoint_steps(self.whole))
        return any({f"{each}/{name}", f"{each}/state.json"} <= self.intact for each in directories)

    def lost_files(self) -> list[str]:
        """The damaged files of the run that nothing is left of."""
        return [name for name in self.damage if "/" not in name and not self.has_copy(name)]

    def unchanged(self) -> bool:
        """Whether all undamaged files are as they were, apart from those that grow or are written at each start."""
        written = {"metrics.jsonl", "recipe.toml", "left-out.tsv", "report.html"}
        return all(sha256(self.run / name) == sha256(self.whole / name) for name in self.intact - written)


def check(case: Damaged, recipe: Recipe, counts: Counter[str], *, to_the_end: bool) -> None:
    """Resume a damaged run, and compare what it uses and keeps with what was left.

    Args:
        case: The run.
        recipe: Its recipe.
        counts: What has happened so far.
        to_the_end: Whether to train until the run is finished afterwards.
    """
    started: list[Trainer] = []
    refused = None

    def start(trainer: Trainer) -> bool:
        started.append(trainer)
        if trainer.budget.is_finished(trainer.state.progress):
            return True
        raise StoppedError

    bundle = [name for name in case.damage if name.startswith("bundle/") and not name.endswith("README.md")]
    finished = (case.whole / "bundle").is_dir()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(Trainer, "train", start)
        try:
            assert train(recipe, case.run, resume="auto")
            counts["finished"] += 1
        except StoppedError:
            counts["continued"] += 1
        except UserError as error:
            refused = str(error)
    if refused:
        counts["refused"] += 1
        assert case.lost_files() or not case.newest, refused
        assert not finished or bundle, refused
        assert case.unchanged(), refused
        return
    if finished and not started:
        assert set(bundle) <= {"bundle/bundle.json"}, "of which not every byte is checked"
        assert case.unchanged()
    if finished and (not started or started[0].budget.is_finished(started[0].state.progress)):
        assert Bundle.load(case.run)
        assert case.best is None or sha256(case.run / WEIGHTS) == sha256(case.whole / WEIGHTS) or bundle
        return
    (trainer,) = started
    progress = trainer.state.progress
    assert progress.step >= case.newest
    assert case.best is None or (progress.best is not None and progress.best >= case.best)
    points = lines_of((case.run / "metrics.jsonl").read_bytes())
    assert [line for line in case.points if line not in points] == []
    if case.newest:
        assert {name: sha256(case.run / name) for name in CONSTANT} == {
            name: sha256(case.whole / name) for name in CONSTANT
        }
    if not trainer.budget.is_finished(progress):
        assert case.unchanged()
    if to_the_end:
        assert train(recipe, case.run, resume="auto")
        assert Bundle.load(case.run)
        assert lines_of((case.run / "metrics.jsonl").read_bytes())[-1]["step"] == recipe.training.steps
        counts["trained to the end"] += 1


ENDED = 4
"""One of so many runs is trained to its end."""
WEIGHTS = "bundle/model.safetensors"
CONSTANT = ("recipe.toml", "source.tokenizer.json", "target.tokenizer.json", "pairs.json")


def test_what_remains_usable_of_a_damaged_run_is_used(
    moments: list[tuple[Recipe, Path]], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    count, seed = request.config.getoption("--damages"), request.config.getoption("--kill-seed")
    generator, counts = random.Random(seed), Counter[str]()
    for number in range(count):
        recipe, whole = moments[number % len(moments)]
        case = Damaged(whole, tmp_path / str(number), generator)
        try:
            check(case, recipe, counts, to_the_end=number % ENDED == 0)
        except BaseException as error:
            error.add_note(f"case {number} of --kill-seed={seed}: {whole.name}, {case.damage}")
            raise
        counts["two files"] += len(case.damage) == 2
        shutil.rmtree(case.run)
    print("\n" + ", ".join(f"{name}: {number}" for name, number in counts.items()) + f" (--kill-seed={seed})")
