"""`dragoman synthesize` with a bundle: pairs from text in one language, in one go, in parts, or after a kill."""

from __future__ import annotations

import gzip
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.corpus.corpus import read_corpus
from dragoman.synthesis import bundle_teacher

if TYPE_CHECKING:
    from conftest import Command

LINES = 60
RUNNER = """
import sys
from dragoman.cli import main
from dragoman.synthesis import bundle_teacher, pair_checks, synthesis
bundle_teacher.BUNDLE_SENTENCES = 5
pair_checks.PairFilter._problems = lambda *arguments: iter(())
synthesis.explain_language = lambda *arguments: None
sys.argv[0] = "dragoman"
main()
"""


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small groups, and no filter, because the tiny translator is too bad to pass it."""
    monkeypatch.setattr(bundle_teacher, "BUNDLE_SENTENCES", 5)
    monkeypatch.setattr("dragoman.synthesis.pair_checks.PairFilter._problems", lambda *arguments: iter(()))
    monkeypatch.setattr("dragoman.synthesis.synthesis.explain_language", lambda *arguments: None)


@pytest.fixture(scope="module")
def mono(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mono") / "mono.de"
    lines = (corpus / "train.de").read_text("utf-8").splitlines()[:LINES]
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


@pytest.fixture
def uninterrupted(finished_run: Path, command: Command, mono: Path, tmp_path: Path) -> Path:
    """The pairs of an uninterrupted command."""
    path = tmp_path / "whole.tsv"
    assert command("synthesize", "--teacher", finished_run, "--mono", mono, "--output", path).code == 0
    return path


def test_the_output_has_each_line_and_its_translation(
    finished_run: Path, command: Command, mono: Path, tmp_path: Path
) -> None:
    outcome = command("synthesize", "--teacher", finished_run, "--mono", mono, "--output", tmp_path / "synthetic.tsv")
    assert (outcome.code, outcome.out) == (0, "")
    pairs = list(read_corpus(str(tmp_path / "synthetic.tsv"), source_language="en", target_language="de"))
    assert [pair.target for pair in pairs] == mono.read_text("utf-8").splitlines()
    translated = command("translate", finished_run, "--input", mono).out.splitlines()
    assert [pair.source for pair in pairs] == translated
    assert f"{LINES} pairs from {LINES} sentences" in outcome.error
    assert f"to train on it: dragoman train FILES {tmp_path}/synthetic.tsv" in outcome.error
    assert (tmp_path / "synthetic.tsv").read_text("utf-8").splitlines()[0] == "de\ten-t-de-t0-und"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["synthetic.tsv"]


@pytest.mark.parametrize(("text", "message"), [("\n\v\n", "contains no text"), ("Ein Hund.\n", "no pair is left")])
def test_output_without_pairs_is_not_written(
    text: str, message: str, finished_run: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.synthesis.pair_checks.PairFilter._problems", lambda *arguments: iter(["loop"]))
    (tmp_path / "mono.de").write_text(text, "utf-8")  # a control character is read as a space
    outcome = command(
        "synthesize", "--teacher", finished_run, "--mono", tmp_path / "mono.de", "--output", tmp_path / "synthetic.tsv"
    )
    assert (outcome.code, message in outcome.error) == (2, True), outcome.error
    assert not (tmp_path / "synthetic.tsv").exists()


def test_text_in_another_language_is_refused(
    finished_run: Path, command: Command, corpus: Path, mono: Path, tmp_path: Path
) -> None:
    german, english = mono.read_text("utf-8"), (corpus / "train.en").read_text("utf-8")[: 50 * LINES]
    (tmp_path / "mono.txt").write_text(english + german, "utf-8")
    outcome = command(
        "synthesize", "--teacher", finished_run, "--mono", tmp_path / "mono.txt", "--output", tmp_path / "out.tsv"
    )
    assert (outcome.code, (tmp_path / "out.tsv").exists()) == (2, False)
    assert " lines do not look like de" in outcome.error
    (tmp_path / "mono.txt").write_text(german + english[: len(english) // 10], "utf-8")
    again = command(
        "synthesize", "--teacher", finished_run, "--mono", tmp_path / "mono.txt", "--output", tmp_path / "out.tsv"
    )
    assert again.code == 0, again.error


def test_pipes_and_compressed_files(
    finished_run: Path, command: Command, mono: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    packed = tmp_path / "packed.tsv.gz"
    outcome = command(
        "synthesize", "--teacher", finished_run, "--mono", "-", "--output", packed, stdin=mono.read_bytes()
    )
    assert outcome.code == 0, outcome.error
    assert gzip.decompress(packed.read_bytes()) == uninterrupted.read_bytes()


def test_methods_differ_and_seeds_matter(finished_run: Path, command: Command, mono: Path, tmp_path: Path) -> None:
    more = (["beam"], ["greedy"], ["sampling"], ["noised-beam"], ["sampling", "--set", "decoding.seed=2"], ["beam"])
    outputs = []
    for number, options in enumerate(more):
        output = tmp_path / f"{number}.tsv"
        common = ("synthesize", "--teacher", finished_run, "--mono", mono, "--output", output, "--max-rejected", "1")
        assert command(*common, "--method", *options).code == 0
        outputs.append(output.read_bytes())
    assert len(set(outputs)) == 5
    assert outputs[-1] == outputs[0]


def test_an_estimate_translates_a_sample(finished_run: Path, command: Command, mono: Path, tmp_path: Path) -> None:
    outcome = command("synthesize", "--teacher", finished_run, "--mono", mono, "--estimate")
    assert (outcome.code, outcome.out.count("  → ")) == (0, 20), outcome.error
    assert f"{LINES} sentences of the whole text" in outcome.out
    assert not list(tmp_path.iterdir())


def count_answers(partial: Path) -> int:
    """The answers on the disk, of which the last one may be incomplete."""
    answers = partial / "answers.jsonl"
    return answers.read_bytes().count(b"\n") if answers.exists() else 0


def start(finished_run: Path, mono: Path, output: Path, *options: str) -> subprocess.Popen[str]:
    arguments = ["synthesize", "--teacher", str(finished_run), "--mono", str(mono), "--output", str(output), *options]
    return subprocess.Popen([sys.executable, "-c", RUNNER, *arguments], stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill", "Ctrl-C"])
def test_a_killed_command_is_continued_with_the_same_lines(
    number: signal.Signals, finished_run: Path, mono: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    output, partial = tmp_path / "killed.tsv", tmp_path / "killed.tsv.partial"
    process, groups, deadline = start(finished_run, mono, output), random.randrange(1, 9), time.monotonic() + 300
    while count_answers(partial) < groups:
        assert process.poll() is None, "it ended before it was killed"
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(number)
    _, printed = process.communicate(timeout=300)
    assert process.returncode in (-signal.SIGKILL, -signal.SIGINT, 130), printed
    assert not output.exists()
    assert number == signal.SIGKILL or "add --resume to the same command" in printed
    refused = start(finished_run, mono, output)
    assert "add --resume to use them" in refused.communicate(timeout=300)[1]
    process = start(finished_run, mono, output, "--resume")
    _, printed = process.communicate(timeout=300)
    assert process.returncode == 0
    assert re.search(r"[1-9]\d* stored answers? of \d+", printed)
    assert output.read_bytes() == uninterrupted.read_bytes()
    assert not partial.exists()


def test_two_processes_do_not_write_the_same_output(
    finished_run: Path, command: Command, mono: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    output, partial = tmp_path / "shared.tsv", tmp_path / "shared.tsv.partial"
    process, deadline = start(finished_run, mono, output), time.monotonic() + 300
    while not count_answers(partial):
        assert process.poll() is None, "it ended before the other one started"
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(signal.SIGSTOP)
    other = command("synthesize", "--teacher", finished_run, "--mono", mono, "--output", output, "--resume")
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=300)
    assert (other.code, "another process is writing it" in other.error) == (2, True), other.error
    assert process.returncode == 0
    assert output.read_bytes() == uninterrupted.read_bytes()
    assert not partial.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mono", "{mono}x"], "no such file"),
        (["--mono", "{mono}", "--output", "{tmp}/out.txt"], "expected a name that ends in .tsv"),
        (["--mono", "{mono}"], "--output: name a file"),
        (["--mono", "{mono}", "--output", "{mono}.tsv"], "already exists"),
        (["--mono", "{mono}", "--output", "{tmp}/no/out.tsv"], "there is no directory {tmp}/no"),
        (["--mono", "{mono}.tsv"], "expected a text file with one sentence per line"),
        (["--mono", "{mono}", "--minimum-chrf", "20"], "--round-trip translates back; give both"),
        (["--mono", "{mono}", "--round-trip", "{run}"], "--round-trip: tiny: the source language is de, not en"),
        (["--mono", "{mono}", "--set", "training.steps=3"], "only decoding.* can be changed"),
        (["--mono", "{mono}", "--set", "decoding.sampling=true"], "--method beam chooses this setting"),
    ],
)
def test_impossible_requests_get_a_message(
    arguments: list[str], message: str, finished_run: Path, command: Command, mono: Path, tmp_path: Path
) -> None:
    Path(f"{mono}.tsv").write_text("mine")
    values = {"mono": mono, "folder": mono.parent, "tmp": tmp_path, "run": finished_run}
    outcome = command("synthesize", "--teacher", finished_run, *(each.format(**values) for each in arguments))
    assert (outcome.code, outcome.out) == (2, "")
    assert message.format(**values) in outcome.error
    assert list(tmp_path.iterdir()) == []
