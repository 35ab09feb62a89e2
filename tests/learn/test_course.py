"""The course: chapters run, the solution passes, and each planted mistake fails with its cause."""

from __future__ import annotations

import errno
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from conftest import Command
from dragoman.errors import UserError
from dragoman.learn.chapters import Chapter, chapters, find_chapter, notebook, parts_of, run_chapter, run_with_file
from dragoman.learn.checks import CHECKS, check_module
from dragoman.learn.exercises import SOLUTION, load_solution, skeleton
from dragoman.learn.mistakes import MISTAKES, broken
from dragoman.learn.results import check_apart
from dragoman.system.user_code import module_from_text

TEXT = SOLUTION.read_text(encoding="utf-8")
FAST = {1, 2, 3, 4}
"""Chapters that train nothing."""


def test_the_solution_passes_every_check() -> None:
    assert {result.check: result.message for result in check_module(load_solution(SOLUTION)) if result.message} == {}


def test_the_solution_is_short() -> None:
    assert len(TEXT.splitlines()) <= 300


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_fails_its_exercise_with_the_right_cause(name: str) -> None:
    mistake = MISTAKES[name]
    (chapter,) = (check.chapter for check in CHECKS if check.name == mistake.check)
    messages = {result.check: result.message for result in check_module(broken(name), chapter) if result.message}
    assert mistake.check in messages
    assert mistake.cause in messages[mistake.check]


HINTS: dict[str, tuple[int, str, str]] = {
    "math.sqrt(q.shape[-1]) -> q.shape[-1]": (1, "attention is the paper's", "divided by d"),
    "masked_fill(~mask, -1e9) -> masked_fill(~mask, 0)": (1, "attention obeys the mask", "forbids have a weight"),
    "return weights @ v, weights -> return weights, weights @ v": (1, "weights are probabilities", "returned first"),
    "angles.sin(), angles.cos() -> angles.cos(), angles.sin()": (2, "positions are waves", "in this order"),
    "mixed.transpose(1, 2).flatten(2) -> mixed.reshape(x.shape)": (
        2,
        "attention does not depend on the order of the memory",
        "merging the heads",
    ),
    " * math.sqrt(embedding.embedding_dim) -> ": (3, "the model is the library's", "not multiplied by √d_model"),
    "self.table[: ids.shape[1]] -> self.table": (
        3,
        "the model is the library's",
        "RuntimeError in transformer.py, lines",
    ),
    "self.attention(y, y, mask))\n        return -> self.attention(y, x, mask))\n        return": (
        3,
        "the model is the library's",
        "queries, keys and values",
    ),
    "losses[real].sum() / real.sum() -> (losses * real).mean()": (
        4,
        "the doctor finds no errors in the loss",
        "loss-mean",
    ),
    "losses = -(1 - smoothing) * right - smoothing * uniform -> losses = -right": (
        4,
        "the loss is cross-entropy with label smoothing",
        "no effect",
    ),
    "        optimizer.zero_grad()\n -> ": (5, "each step has its gradient and its learning rate", "zero_grad"),
    'group["lr"] = learning_rate(step, peak, warmup) -> pass': (
        5,
        "each step has its gradient and its learning rate",
        "not used",
    ),
    "if ended.all() -> if ended.any()": (6, "the doctor finds no errors in greedy search", "search-batch"),
    "log_softmax(dim=-1) + torch -> softmax(dim=-1) + torch": (6, "scores are divided once", "add their logarithms"),
}
"""Other mistakes in the solution: right text -> wrong text: (chapter, check that fails, part of its message)."""


@pytest.mark.parametrize("change", HINTS)
def test_the_hint_fits_the_mistake(change: str) -> None:
    right, _, wrong = change.partition(" -> ")
    chapter, check, hint = HINTS[change]
    assert TEXT.count(right) == 1
    results = check_module(module_from_text(TEXT.replace(right, wrong), "transformer.py"), chapter)
    assert hint in next(result.message for result in results if result.check == check)


def test_there_are_fifteen_mistakes() -> None:
    assert len(MISTAKES) == 15
    with pytest.raises(UserError, match="no such mistake"):
        broken("none")


def test_the_learners_file_lacks_every_exercise_and_nothing_else() -> None:
    text = skeleton(TEXT)
    results = list(check_module(module_from_text(text, "transformer.py")))
    assert [result.check for result in results if result.written] == []
    assert {int(number) for number in re.findall(r"NotImplementedError\(\"chapter (\d):", text)} == set(range(1, 7))
    assert "class Vocabulary" in text
    assert len(results) == len(CHECKS)


def test_a_function_that_is_written_is_checked() -> None:
    body = TEXT.partition("    scores = q @ k")[2].partition("\n\n\n")[0]
    text = skeleton(TEXT).replace(
        '    raise NotImplementedError("chapter 1: write attention")', f"    scores = q @ k{body}"
    )
    results = list(check_module(module_from_text(text, "transformer.py"), 1))
    assert [result.message for result in results] == ["", "", ""]


@pytest.mark.parametrize("text", ["def broken(:", "import nothing_of_that_name"])
def test_a_file_that_cannot_be_imported_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "transformer.py"
    path.write_text(f"\n{text}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"transformer\.py: cannot be imported: .* in transformer\.py, line 2: "):
        load_solution(path)


@pytest.mark.parametrize(
    "chapter",
    [pytest.param(each, marks=[] if each.number in FAST else [pytest.mark.slow]) for each in chapters()],
    ids=lambda each: each.path.stem,
)
def test_chapters_run(chapter: Chapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(SOLUTION.parent))
    monkeypatch.delitem(sys.modules, "transformer", raising=False)
    torch.manual_seed(1)
    run_chapter(chapter, show=False)


@pytest.mark.parametrize("chapter", chapters(), ids=lambda each: each.path.stem)
def test_chapters_ask_before_they_show_and_end_with_exercises(chapter: Chapter) -> None:
    assert "**Predict first" in chapter.text
    assert "## Exercise" in chapter.text
    assert chapter.minutes >= 10


def test_a_notebook_has_the_text_and_the_code_of_its_chapter() -> None:
    for chapter in chapters():
        written = json.loads(notebook(chapter))["cells"]
        kinds = ["code", *("code" if part.is_code else "markdown" for part in parts_of(chapter))]
        assert [entry["cell_type"] for entry in written] == kinds
        assert "".join("".join(entry["source"]) for entry in written if entry["cell_type"] == "code")


def test_the_chapters_are_numbered() -> None:
    assert [chapter.number for chapter in chapters()] == list(range(1, 9))
    with pytest.raises(UserError, match="no chapter 9"):
        find_chapter(9)


ODD = {
    "attention = 5": "attention (line 20) is 5, not a function; dragoman learn check 1",
    "def attention(q, k, v, mask=None):\n    return attention(q, k, v)": "RecursionError in transformer.py, line 21",
    "def attention(q, k, v, mask=None):\n    exit()": "SystemExit in transformer.py, line 21: the code",
    "def attention(q, k, v, mask=None):\n    raise BaseException('so')": "BaseException in transformer.py, line 21: so",
    "def attention(q, k, v, mask=None):\n    pass": "chapter 1 cannot go on in its line 128: TypeError: cannot unpack",
    "": "cannot import name 'attention'",
}
"""What may stand in the place of `attention`, and what the learner sees."""


def course_with(attention: str, directory: Path) -> Path:
    """A learner's file in which this stands in the place of attention."""
    before, _, rest = TEXT.partition("def attention")
    path = directory / "transformer.py"
    path.write_text(f"{before}{attention}\n\n\ndef padding_mask{rest.partition('def padding_mask')[2]}", "utf-8")
    return path


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a separate process: no other file of a learner is loaded."""
    monkeypatch.syspath_prepend("")  # restored afterwards
    monkeypatch.setitem(sys.modules, "transformer", sys)
    monkeypatch.delitem(sys.modules, "transformer")
    monkeypatch.setattr(sys, "stdin", io.StringIO())  # exit() closes it


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("attention", ODD)
def test_a_chapter_shows_learners_their_mistake(attention: str, tmp_path: Path) -> None:
    path = course_with(attention, tmp_path)
    with pytest.raises(UserError) as raised:
        list(run_with_file(1, str(path)))
    assert ODD[attention] in str(raised.value)
    assert str(raised.value).startswith(f"{path}: ")
    results = list(check_module(load_solution(path), 1))
    assert all(result.message and result.written for result in results)


@pytest.mark.usefixtures("alone")
def test_a_chapter_shows_what_is_no_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = "def attention(q, k, v, mask=None):\n    return q * float('nan'), q @ k.transpose(-2, -1) * float('nan')"
    list(run_with_file(1, str(course_with(body, tmp_path))))
    assert " dog   ?  ?  ?  ?\n" in capsys.readouterr().out
    messages = [result.message for result in check_module(load_solution(tmp_path / "transformer.py"), 1)]
    assert messages == ["the result contains NaN, which is not a number"] * 3


def test_each_check_is_made_if_one_ends_the_process(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    body = (
        "def attention(q, k, v, mask=None):\n    print('[]')\n    if mask is None:\n        import signal\n"
        "        signal.raise_signal(9)\n    return v"
    )
    results = list(check_apart(course_with(body, tmp_path), 1))
    assert ["SIGKILL" in result.message for result in results] == [True] * 3
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "[]" in printed.err


def test_there_is_no_chapter_0(command: Command) -> None:
    for name in ("run", "open", "check"):
        outcome = command("learn", name, "0")
        assert (outcome.code, "there is no chapter 0" in outcome.error) == (2, True)


def test_a_course_that_cannot_be_written_is_named_and_not_kept(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        outcome = command("learn", "start", "--directory", tmp_path / "my course")
    assert outcome.code == 2
    assert "my course/transformer.py: could not be saved: No space left" in outcome.error
    assert list((tmp_path / "my course").iterdir()) == []
    outcome = command("learn", "start", "--directory", tmp_path / "my course")
    assert outcome.out.count(f"--directory '{tmp_path}/my course'") == 3


def learn(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dragoman", "learn", *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


def test_the_command_starts_and_grades_the_course(tmp_path: Path) -> None:
    started = learn(tmp_path, "start")
    assert started.returncode == 0, started.stderr
    assert "8  Real text" in started.stdout
    unwritten = learn(tmp_path, "check", "1")
    assert unwritten.returncode == 1
    assert "to do  chapter 1: weights are probabilities" in unwritten.stdout
    (tmp_path / "course" / "transformer.py").write_text(TEXT, encoding="utf-8")
    assert learn(tmp_path, "start").returncode == 0
    checked = learn(tmp_path, "check", "1", "--json")
    assert checked.returncode == 0
    assert all(result["passed"] for result in json.loads(checked.stdout))
    shown = learn(tmp_path, "run", "1")
    assert shown.returncode == 0, shown.stderr
    assert "largest weight" in shown.stdout


def test_a_chapter_that_needs_an_unwritten_function_says_so(tmp_path: Path) -> None:
    learn(tmp_path, "start")
    shown = learn(tmp_path, "run", "1")
    assert shown.returncode == 2
    assert "not written yet: chapter 1: write attention" in shown.stderr
    second = learn(tmp_path, "run", "2").stdout
    assert "(needs chapter 2: write positions)" in second
    assert "head 0 of word 1, right" in second, "code that needs no exercise runs"


def test_a_question_is_asked_before_its_answer_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(SOLUTION.parent))
    shown: list[str] = []
    run_chapter(find_chapter(1), pause=lambda: shown.append(capsys.readouterr().out))
    assert len(shown) == find_chapter(1).text.count("**Predict first") + find_chapter(1).text.count("**Before you")
    assert "Why?" in shown[-1]
    assert "thrown away" not in "".join(shown)
    assert "thrown away" in capsys.readouterr().out
