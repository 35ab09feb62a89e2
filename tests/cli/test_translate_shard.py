"""`dragoman translate --shard`: parts of a file that are translated separately."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.cli.shard import Shard
from dragoman.errors import UserError

if TYPE_CHECKING:
    from conftest import Command


@pytest.fixture(scope="module")
def source(corpus: Path) -> Path:
    return corpus / "test.de"


@pytest.mark.parametrize("options", [[], ["--json"], ["--glossary", "{terms}"]], ids=["text", "json", "glossary"])
def test_joined_parts_are_the_whole_translation(
    options: list[str], finished_run: Path, command: Command, source: Path, tmp_path: Path
) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("Koch\tchef\n", "utf-8")
    filled = [option.format(terms=terms) for option in options]
    common: list[str | Path] = ["translate", finished_run, "--input", source, *filled]
    whole = command(*common).out
    outputs = []
    for number in range(1, 5):
        outcome = command(*common, "--output", tmp_path / "out.txt", "--shard", f"{number}/4")
        assert (outcome.code, outcome.out) == (0, "")
        outputs.append((tmp_path / f"out.{number:05}-of-00004.txt").read_text("utf-8"))
    assert sorted(tmp_path.glob("out.*")) == [tmp_path / f"out.{number:05}-of-00004.txt" for number in range(1, 5)]
    if "--json" in options:  # batches differ, and so does rounding
        assert [text(line) for line in "".join(outputs).splitlines()] == [text(line) for line in whole.splitlines()]
    else:
        assert "".join(outputs) == whole
    assert ("chef" in whole) == ("--glossary" in options)


def text(line: str) -> str:
    return str(json.loads(line)["text"])


@pytest.mark.parametrize("lines", [0, 1, 7, 8, 9, 30])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_parts_contain_each_line_once(lines: int, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"in{suffix}"
    content = "\r\n".join(f"Zeile {number}" for number in range(1, lines + 1)).encode()  # the last line has no end
    path.write_bytes(gzip.compress(content) if suffix else content)
    parts = [list(Shard(number, 8).read(path)) for number in range(1, 9)]
    assert list(chain(*parts)) == [(number, f"Zeile {number}") for number in range(1, lines + 1)]
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize(
    ("output", "part"),
    [
        ("out.txt", "out.00003-of-00010.txt"),
        ("out", "out.00003-of-00010"),
        ("corpus.de-en.txt.gz", "corpus.de-en.00003-of-00010.txt.gz"),
        (".gz", ".gz.00003-of-00010"),
    ],
)
def test_names_of_parts(output: str, part: str) -> None:
    assert Shard.parse("3/10").name_part(Path("a") / output) == Path("a") / part


def test_names_are_in_the_order_of_the_parts() -> None:
    names = [Shard.parse(f"{number}/99999").name_part(Path("out")).name for number in (1, 9, 10, 9_999, 10_000, 99_999)]
    assert sorted(names) == names
    with pytest.raises(UserError, match="at most 99999"):
        Shard.parse("1/100000")


def test_a_part_that_is_newer_than_the_input_is_not_translated_again(
    finished_run: Path, command: Command, source: Path, tmp_path: Path
) -> None:
    part = tmp_path / "out.00001-of-00002"
    part.write_text("done before")
    outcome = command("translate", finished_run, "--input", source, "--output", tmp_path / "out", "--shard", "1/2")
    assert outcome.code == 0
    assert outcome.error == f"dragoman: {part}: newer than the input, so it is not translated again\n"
    assert part.read_text() == "done before"
    os.utime(part, (0, 0))
    command("translate", finished_run, "--input", source, "--output", tmp_path / "out", "--shard", "1/2")
    assert part.read_text() != "done before", "the input has changed"


def test_a_killed_process_leaves_no_part(finished_run: Path, source: Path, tmp_path: Path) -> None:
    long = tmp_path / "in"
    long.write_text(source.read_text("utf-8") * 300, "utf-8")
    options = ("--input", str(long), "--output", str(tmp_path / "out"), "--shard", "1/2")
    process = subprocess.Popen([sys.executable, "-m", "dragoman", "translate", str(finished_run), *options])
    deadline = time.monotonic() + 60
    while not any(path.name.startswith(".out.") and path.stat().st_size for path in tmp_path.iterdir()):
        assert process.poll() is None, "it ended before it was killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait(30) == -signal.SIGKILL
    assert not (tmp_path / "out.00001-of-00002").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shard", "1/2", "Hund"], "--shard cannot be combined with texts"),
        (["--shard", "1/2", "--document", "{source}", "--output", "{tmp}/a.de"], "--document"),
        (["--shard", "1/2", "--input", "{source}", "--output", "{tmp}/a", "--format", "html"], "--format html"),
        (["--shard", "1/2", "--input", "{source}", "--output", "{tmp}/a", "--prefixes", "{source}"], "--prefixes"),
        (["--shard", "1/2", "--input", "{source}"], "the parts with --output"),
        (["--shard", "1/2", "--input", "{source}", "--output", "-"], "the parts with --output"),
        (["--shard", "1/2", "--output", "{tmp}/a"], "name the file with --input"),
        (["--shard", "1/2", "--input", "-", "--output", "{tmp}/a"], "name the file with --input"),
        (["--shard", "1/2", "--input", "/dev/stdin", "--output", "{tmp}/a"], "is not a regular file"),
        (["--shard", "1/2", "--input", "{source}x", "--output", "{tmp}/a"], "no such file"),
        (["--shard", "1/2", "--input", "{source}", "--output", "{tmp}"], "is a directory; name a file in it"),
        *((["--shard", shard], "expected NUMBER/COUNT") for shard in ("0/2", "3/2", "1", "a/b", "1/0", "-1/2", "")),
    ],
)
def test_impossible_requests_get_a_message(
    arguments: list[str], message: str, finished_run: Path, command: Command, source: Path, tmp_path: Path
) -> None:
    outcome = command("translate", finished_run, *(each.format(source=source, tmp=tmp_path) for each in arguments))
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.error
    assert list(tmp_path.iterdir()) == []
