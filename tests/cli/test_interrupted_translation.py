"""An interrupted `dragoman translate --input --output` loses little: the same command continues it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.cli.translate import GROUP, OutputLine, ProblemCounts, _finished_lines
from dragoman.errors import UserError

if TYPE_CHECKING:
    from conftest import Command


FAST = ("--set", "decoding.beam_size=1", "--set", "decoding.max_length=20")


@pytest.fixture(scope="module")
def source(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text that takes many groups; its lines differ, and one of them is certainly a problem."""
    lines = (corpus / "test.de").read_text("utf-8").splitlines()
    path = tmp_path_factory.mktemp("long") / "in.de"
    text = "".join(f"{line} {number}\n" for number in range(60) for line in lines)
    path.write_text(f"{text}Собака играет в парке.\n", "utf-8")
    return path


def interrupt(arguments: list[str], directory: Path, number: signal.Signals) -> tuple[int, str]:
    """Stop `dragoman translate` once it has finished some lines; returns its exit code and its messages."""
    command = [sys.executable, "-m", "dragoman", "translate", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300
    while len(list(directory.glob("*.partial/*.json"))) < 2:
        assert process.poll() is None, "it ended before it was interrupted"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(number)
    _, error = process.communicate(timeout=300)
    return process.returncode, error


def test_messages_that_nobody_reads_do_not_end_it(finished_run: Path, tmp_path: Path) -> None:
    text, output = tmp_path / "in", tmp_path / "out"
    text.write_text("Ein Hund.\n", "utf-8")
    reader, writer = os.pipe()
    os.close(reader)
    files = ["--input", str(text), "--output", str(output)]
    command = [sys.executable, "-m", "dragoman", "translate", str(finished_run), *FAST, *files, "--verbose"]
    ended = subprocess.run(command, stderr=writer)
    os.close(writer)
    assert ended.returncode == 0
    assert output.read_text("utf-8").count("\n") == 1


@pytest.mark.parametrize(
    ("number", "suffix"),
    [
        (signal.SIGINT, ""),
        pytest.param(signal.SIGTERM, ".gz", marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, "", marks=pytest.mark.slow),
    ],
)
def test_the_same_command_continues(
    number: signal.Signals, suffix: str, finished_run: Path, command: Command, source: Path, tmp_path: Path
) -> None:
    output, whole = tmp_path / f"out{suffix}", tmp_path / "whole" / f"out{suffix}"
    whole.parent.mkdir()
    arguments = [str(finished_run), *FAST, "--input", str(source), "--output", str(output)]
    code, error = interrupt(arguments, tmp_path, number)
    assert code == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[number]
    assert not output.exists()
    lines = GROUP * len(list(tmp_path.glob("*.partial/*.json")))
    assert lines >= 2 * GROUP
    if number != signal.SIGKILL:
        assert error.startswith(f"dragoman: {output}.partial contains ")
        assert "; to continue, run the same command" in error
    outcome = command("translate", *arguments)
    assert outcome.code == 0
    continues = f"dragoman: continues after {lines:,} lines in {output}.partial\n"
    uninterrupted = command("translate", *arguments[:-1], whole)
    assert "warning" in uninterrupted.error, "there are problems to count"
    assert outcome.error == continues + uninterrupted.error
    assert output.read_bytes() == whole.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {output.name, "whole"}


@pytest.mark.slow
def test_damaged_lines_are_translated_again(finished_run: Path, command: Command, source: Path, tmp_path: Path) -> None:
    output, whole = tmp_path / "out", tmp_path / "whole"
    arguments = [str(finished_run), *FAST, "--input", str(source), "--output", str(output)]
    interrupt(arguments, tmp_path, signal.SIGKILL)
    cut, other = sorted(tmp_path.glob("*.partial/*.json"))[:2]
    cut.write_bytes(cut.read_bytes()[:-9])
    other.write_text('{"lines": [{"unknown": 1}]}')
    assert command("translate", *arguments).code == 0
    assert command("translate", *arguments[:-1], whole).code == 0
    assert output.read_bytes() == whole.read_bytes()


@pytest.mark.slow
def test_lines_of_another_text_or_other_settings_are_not_used(
    finished_run: Path, command: Command, source: Path, tmp_path: Path
) -> None:
    changed = tmp_path / "in.de"
    changed.write_bytes(source.read_bytes())
    arguments = [str(finished_run), *FAST, "--input", str(changed), "--output", str(tmp_path / "out"), "--json"]
    interrupt(arguments, tmp_path, signal.SIGKILL)
    short = "Ein Hund läuft.\n"
    changed.write_text(short, "utf-8")
    outcome = command("translate", *arguments)
    assert outcome.code == 0
    assert "continues" not in outcome.error
    assert (tmp_path / "out").read_text("utf-8").count("\n") == 1
    changed.write_bytes(source.read_bytes())
    interrupt(arguments, tmp_path, signal.SIGKILL)
    kept = list(tmp_path.glob("*.partial/*.json"))
    few = tmp_path / "few"
    few.write_text("A\n", "utf-8")
    outcome = command("translate", *arguments[:-1], "--prefixes", few)
    assert outcome.code == 2
    assert all(map(Path.is_file, kept)), "an error does not delete what other settings have finished"
    outcome = command("translate", *arguments[:-1], "--set", "decoding.max_length=10")
    assert outcome.code == 0
    assert "continues" not in outcome.error
    assert not (tmp_path / "out").read_text("utf-8").startswith("{")


def test_an_input_that_changes_while_it_is_translated_is_refused(
    finished_run: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = tmp_path / "in.de", tmp_path / "out.en"
    source.write_text("Ein Hund läuft.\nEin Kind spielt.\n", "utf-8")

    def change(*arguments: object) -> None:
        source.write_text("Eine Frau liest.\nEin Hund läuft.\nEin Kind spielt.\n", "utf-8")

    with monkeypatch.context() as patch:
        patch.setattr(ProblemCounts, "add", change)
        outcome = command("translate", finished_run, *FAST, "--input", source, "--output", output)
    assert (outcome.code, "in.de: changed while it was translated" in outcome.error) == (2, True)
    assert {path.name for path in tmp_path.iterdir()} == {source.name}
    assert command("translate", finished_run, *FAST, "--input", source, "--output", output).code == 0
    assert output.read_text("utf-8").count("\n") == 3


def test_two_processes_do_not_write_the_same_output(
    finished_run: Path, command: Command, source: Path, tmp_path: Path
) -> None:
    arguments = [str(finished_run), "--input", str(source), "--output", str(tmp_path / "out")]
    process = subprocess.Popen([sys.executable, "-m", "dragoman", "translate", *arguments])
    while not any(tmp_path.glob("*.partial/*.json")):
        assert process.poll() is None
        time.sleep(0.005)
    outcome = command("translate", *arguments)
    assert outcome.code == 2
    assert "another process is writing it" in outcome.error
    process.kill()
    process.wait(30)


def test_finished_lines_stay_until_the_output_has_its_name(
    finished_run: Path, command: Command, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def fail(path: Path, target: Path) -> Path:
        if path.parent == tmp_path:  # the converted bundle is in another one
            raise OSError("killed")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail)
    line = (corpus / "test.de").read_text("utf-8").partition("\n")[0]
    (tmp_path / "in.de").write_text(f"{line}\n" * (GROUP + 1), "utf-8")
    outcome = command("translate", finished_run, "--input", tmp_path / "in.de", "--output", tmp_path / "out.en")
    assert (outcome.code, "could not be saved: " in outcome.error) == (2, True)
    assert not (tmp_path / "out.en").exists()
    assert list(tmp_path.glob("*.partial/*.json")), outcome.error


def test_an_output_that_cannot_be_written_says_how_to_continue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def write() -> None:
        with _finished_lines(tmp_path / "out", []) as finished:
            path = finished.store.path(0, ["Zeile", "Zeile"])
            finished.store.save(path, [OutputLine("line", ["missing: 1"], truncated=True)] * 2)
            assert finished.store.find(path) == [OutputLine("line", ["missing: 1"], truncated=True)] * 2
            raise UserError("could not be saved") from OSError("disk full")

    with pytest.raises(UserError, match="could not be saved"):
        write()
    assert "contains 2 translated lines; to continue, run the same command" in capsys.readouterr().err
    assert list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize(("error", "is_told"), [(KeyboardInterrupt(), True), (OSError("disk full"), False)])
def test_an_early_interruption_is_reported_and_leaves_nothing(
    error: BaseException, is_told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(type(error)), _finished_lines(tmp_path / "out", []):
        raise error
    assert (f"interrupted before {GROUP} lines were translated" in capsys.readouterr().err) == is_told
    assert not list(tmp_path.glob("*.partial"))
