"""Teachers behind an address: what is sent, when again, and what is written."""

from __future__ import annotations

import html
import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from teacher_server import TeacherServer, caption_pairs, sentences_of, serve_teacher

from dragoman.cli.teachers import read_groups, synthesize_text
from dragoman.corpus.corpus import find_corpora, read_corpus
from dragoman.corpus.pair import Pair
from dragoman.errors import UserError
from dragoman.synthesis.answer_log import AnswerLog
from dragoman.synthesis.answers import Rejected
from dragoman.synthesis.collect import Collector, Parallelism, Speed, requests_of
from dragoman.synthesis.http_client import (
    BusyServerError,
    HiddenKey,
    HttpClient,
    check_address,
    is_on_this_machine,
    read_key,
)
from dragoman.synthesis.prompt import PROMPT, ExamplePairs, PromptWriter
from dragoman.synthesis.sentence_groups import group_sentences
from dragoman.synthesis.synthesis import SynthesisSettings, choose_candidate
from dragoman.synthesis.teachers import Answer, TeacherAddress, TeacherOptions, TokenUsage

if TYPE_CHECKING:
    from conftest import Command

LINES = 120


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return caption_pairs(LINES)


@pytest.fixture
def mono(pairs: list[Pair], tmp_path: Path) -> Path:
    path = tmp_path / "mono.de"
    path.write_text("".join(f"{pair.source}\n" for pair in pairs), "utf-8")
    return path


@pytest.fixture
def server(pairs: list[Pair]) -> Iterator[TeacherServer]:
    table = {pair.source: pair.target for pair in pairs}
    with serve_teacher(TeacherServer(table.__getitem__)) as running:
        yield running


@pytest.fixture
def synthesize(server: TeacherServer, mono: Path, command: Command, tmp_path: Path) -> Callable[..., Any]:
    def run(*options: Any, output: Path = tmp_path / "out.tsv") -> Any:
        arguments = ("--teacher", server.address, "--model", "m", "--languages", "de-en", "--mono", mono)
        return command("synthesize", *arguments, "--output", output, *options)

    return run


def read_output(path: Path) -> list[tuple[str, str]]:
    corpus = read_corpus(str(path), source_language="de", target_language="en")
    return [(pair.source, pair.target) for pair in corpus]


def test_the_output_has_each_line_in_order(synthesize: Any, pairs: list[Pair], tmp_path: Path) -> None:
    outcome = synthesize("--price", "1:2")
    assert outcome.code == 0, outcome.error
    assert (tmp_path / "out.tsv").read_text("utf-8").startswith("de\ten-t-de-t0-und\n")
    assert read_output(tmp_path / "out.tsv") == [(pair.source, pair.target) for pair in pairs]
    assert ", cost " in outcome.error
    assert not (tmp_path / "out.tsv.partial").exists()


def test_the_other_direction_reads_the_same_file(synthesize: Any, pairs: list[Pair], tmp_path: Path) -> None:
    synthesize()
    (corpus,) = find_corpora([str(tmp_path / "out.tsv")], source_language="en", target_language="de")
    assert corpus.machine_made
    assert next(corpus.read()) == Pair(pairs[0].target, pairs[0].source)


@pytest.mark.parametrize("fault", [429, 503, 500, "broken", "damaged"])
def test_what_fails_for_a_moment_is_sent_again(
    fault: int | str, synthesize: Any, server: TeacherServer, pairs: list[Pair], tmp_path: Path
) -> None:
    server.faults.extend([fault, fault])
    outcome = synthesize()
    assert outcome.code == 0, outcome.error
    assert len(read_output(tmp_path / "out.tsv")) == len(pairs)
    assert set(server.answered.values()) <= {0, 1}


@pytest.mark.parametrize(("fault", "requests"), [(400, 6), (413, 1), (500, 5), ("no completion", 5), ("damaged", 5)])
def test_one_bad_request_is_rejected_after_the_others(
    fault: int | str,
    requests: int,
    synthesize: Any,
    server: TeacherServer,
    pairs: list[Pair],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is asked a few times, and neither ends the run, nor shows the key."""
    monkeypatch.setattr("dragoman.synthesis.collect._FIRST_WAIT", 0.01)
    monkeypatch.setenv("TEACHER_KEY", "secret-key-123")
    server.bad[pairs[30].source] = fault
    outcome = synthesize("--key-variable", "TEACHER_KEY", "--price", "1:1", "--max-cost", "1")
    assert outcome.code == 0, outcome.error
    assert "10  refused by the server" in outcome.error
    assert "secret" not in outcome.error
    assert read_output(tmp_path / "out.tsv") == [(pair.source, pair.target) for pair in pairs[:30] + pairs[40:]]
    bad = [index for index, body in enumerate(server.bodies) if pairs[30].source in sentences_of(prompt_of(body))]
    assert len(bad) == requests
    first_again = len(server.bodies) - requests + 1 - 3  # those that are sent at once arrive in any order
    assert requests == 1 or fault == 400 or bad[1] >= first_again, "behind the others"
    kinds = {"response_format" in body for body in server.bodies[bad[-1] + 1 :]}
    assert kinds <= {True}, "the schema is still sent to the others"


def prompt_of(body: dict[str, Any]) -> str:
    text: str = body["messages"][0]["content"]
    return text


@pytest.mark.parametrize("status", [400, 500, 404])
def test_a_server_that_answers_nothing_is_left(
    status: int, synthesize: Any, server: TeacherServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.synthesis.collect._FIRST_WAIT", 0.01)
    server.faults.extend([status] * 100)
    outcome = synthesize()
    assert (outcome.code, f"answers {status}" in outcome.error) == (2, True), outcome.error
    assert len(server.bodies) <= 6


def test_the_last_request_may_be_the_bad_one(
    synthesize: Any, server: TeacherServer, pairs: list[Pair], tmp_path: Path
) -> None:
    """One sentence that was answered before shows that the server works."""
    server.bad[pairs[-1].source] = 413
    outcome = synthesize("--parallel", "1")
    assert (outcome.code, "10  refused by the server" in outcome.error) == (0, True), outcome.error
    assert len(read_output(tmp_path / "out.tsv")) == len(pairs) - 10
    assert sum(len(sentences_of(prompt)) for prompt in server.prompts) == len(pairs) - 10 + 1


@pytest.mark.parametrize("fault", [500, 400, "no completion", "damaged"])
@pytest.mark.parametrize("answered", [0, 1, 11])
def test_failures_of_a_broken_server_are_no_answers(
    fault: int | str,
    answered: int,
    synthesize: Any,
    server: TeacherServer,
    pairs: list[Pair],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether it breaks at once or near the end, the command ends with an error, and --resume asks for the rest."""
    monkeypatch.setattr("dragoman.synthesis.collect._FIRST_WAIT", 0.001)
    monkeypatch.setattr("dragoman.synthesis.collect._LONGEST_WAIT", 0.01)
    server.faults.extend([*[""] * answered, *[fault] * 1000])
    for _ in range(2):
        outcome = synthesize("--resume")
        assert (outcome.code, "in a row have failed" in outcome.error or fault == 400) == (2, True), outcome.error
        assert (tmp_path / "out.tsv.partial").exists() is (answered > 0)
    server.faults.clear()
    before = len(server.bodies)
    assert synthesize("--resume").code == 0
    assert read_output(tmp_path / "out.tsv") == [(pair.source, pair.target) for pair in pairs]
    assert len(server.bodies) - before == LINES // 10 - answered


@pytest.mark.parametrize("asked", ["0", "-5", "0.001", "Mon, 01 Jan 2001 00:00:00 GMT"])
def test_a_server_that_asks_for_no_wait_is_not_flooded(
    asked: str, synthesize: Any, server: TeacherServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.synthesis.collect._BETWEEN_MESSAGES", 0.0)
    monkeypatch.setattr("dragoman.synthesis.collect._FIRST_WAIT", 0.01)
    server.retry_after = asked
    server.faults.extend([429] * 5)
    outcome = synthesize("--parallel", "1")
    assert outcome.code == 0, outcome.error
    waits = [float(line.split()[-2]) for line in outcome.error.splitlines() if line.endswith(" s")]
    assert waits == [0.01, 0.02, 0.04, 0.08, 0.16]


def test_a_server_that_cannot_be_reached_is_left(
    synthesize: Any, server: TeacherServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.synthesis.collect.FIRST_PATIENCE", 0.0)
    nothing = synthesize("--teacher", "http://127.0.0.1:9/v1")
    assert (nothing.code, "start the server, or correct its address" in nothing.error) == (2, True), nothing.error
    wrong = synthesize("--teacher", server.address.replace("http:", "https:"))
    assert (wrong.code, "name it with http://" in wrong.error) == (2, True), wrong.error
    assert not list(tmp_path.glob("out.tsv*")), "there is no answer to keep"


@pytest.mark.parametrize("faults", [["lost"], [503, "lost", "lost"]], ids=str)
def test_a_slow_server_that_loses_its_first_connection_is_asked_again(
    faults: list[int | str], synthesize: Any, server: TeacherServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has been reached, but has not answered yet, for example because it loads a model."""
    monkeypatch.setattr("dragoman.synthesis.collect.FIRST_PATIENCE", 0.1)
    server.seconds = 0.2
    server.faults.extend(faults)
    outcome = synthesize("--parallel", "1")
    assert outcome.code == 0, outcome.error


def test_replies_have_a_maximum_size_and_time(server: TeacherServer, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"messages": [{"content": "x"}]}
    with pytest.raises(BusyServerError, match="not complete after 0 seconds"):
        HttpClient(server.address, reply_seconds=0.0).post("/chat/completions", body)
    monkeypatch.setattr("dragoman.synthesis.http_client.MOST_BYTES", 10)
    with pytest.raises(BusyServerError, match="more than 10 bytes"):
        HttpClient(server.address).post("/chat/completions", body)


def test_the_server_says_how_long_to_wait(synthesize: Any, server: TeacherServer) -> None:
    server.faults.append(429)
    server.retry_after = "0.5"
    started = time.monotonic()
    outcome = synthesize()
    assert "waiting 0.5 s" in outcome.error
    assert time.monotonic() - started > 0.5


def test_a_schema_is_only_sent_to_servers_that_accept_it(synthesize: Any, server: TeacherServer) -> None:
    server.refused = ["response_format", "max_tokens"]
    assert synthesize("--parallel", "1").code == 0
    names = ("response_format", "max_tokens", "max_completion_tokens")
    kinds = [tuple(name in body for name in names) for body in server.bodies]
    assert kinds[0] == (True, True, False)
    assert kinds[-1] == (False, False, True)
    assert kinds.count(kinds[0]) == 1, "what was refused once is not sent again"


def test_a_key_is_sent_and_never_shown(
    synthesize: Any, server: TeacherServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.key = "secret-key-123"
    monkeypatch.setenv("TEACHER_KEY", "wrong-key-456")
    wrong = synthesize("--key-variable", "TEACHER_KEY")
    assert (wrong.code, "401" in wrong.error, "wrong-key-456" in wrong.error) == (2, True, False)
    stored = [path for path in tmp_path.rglob("*") if path.is_file() and b"key-456" in path.read_bytes()]
    assert not stored
    (tmp_path / "key").write_text("secret-key-123\n")
    assert "--key-file" in wrong.error, "the remedy"
    assert not (tmp_path / "out.tsv.partial").exists(), "there is no answer to keep"
    right = synthesize("--key-file", tmp_path / "key")
    assert (right.code, "secret" in right.error + right.out) == (0, False)


KEY = 'sk-a"b\\c/d+<e&f>%41-SECRET'
SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "JSON": json.dumps,
    "JSON twice": lambda key: json.dumps(json.dumps({"error": key})),
    "JSON with numbers": lambda key: "".join(f"\\u{ord(each):04X}" for each in key),
    "Python": lambda key: repr({"error": [key]}),
    "slashes": lambda key: json.dumps(key).replace("/", "\\/"),
    "URL": urllib.parse.quote,
    "form": urllib.parse.quote_plus,
    "HTML": html.escape,
    "HTML with numbers": lambda key: "".join(f"&#{ord(each)};" for each in key),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_key_is_hidden_in_all_spellings(name: str) -> None:
    hidden = HiddenKey(KEY).hide(f"Wrong key {SPELLINGS[name](KEY)}, sorry")
    assert (hidden.startswith("Wrong key "), hidden.endswith(", sorry"), "…" in hidden) == (True, True, True)
    assert len(hidden) < 50


def test_a_key_in_replies_is_neither_stored_nor_shown(
    synthesize: Any, server: TeacherServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEACHER_KEY", KEY)
    translate = server.translate
    server.translate = lambda text: f"{translate(text)[:-1]} {KEY}."
    server.faults.extend([*[""] * 6, *[500] * 30])
    monkeypatch.setattr("dragoman.synthesis.collect._LONGEST_WAIT", 0.01)
    server.reason = f"No: {KEY}"
    outcome = synthesize("--key-variable", "TEACHER_KEY", "--parallel", "1")
    assert (outcome.code, "answers 500 No: …" in outcome.error) == (2, True), outcome.error
    answers = (tmp_path / "out.tsv.partial" / "answers.jsonl").read_text("utf-8")
    assert len(answers.splitlines()) == 6
    assert "SECRET" not in outcome.error + outcome.out + answers


@pytest.mark.parametrize("date", ["Mon, 01 Jan 2001 00:00:00 +9999999", "nan", "inf", "1e400", "9" * 5000])
def test_odd_times_to_wait_are_understood(date: str, server: TeacherServer) -> None:
    server.retry_after = date
    server.faults.append(429)
    with pytest.raises(BusyServerError) as error:
        HttpClient(server.address).post("/chat/completions", {"messages": [{"content": "x"}]})
    assert error.value.seconds is None or 0 <= error.value.seconds <= 300


@pytest.mark.parametrize("tokens", [10**400, 10**30, -1, "5", None, 1.5, True])
def test_odd_counts_of_tokens_do_not_end_the_command(tokens: Any, synthesize: Any, server: TeacherServer) -> None:
    complete = server.complete
    server.complete = lambda body: complete(body) | {"usage": {"prompt_tokens": tokens, "completion_tokens": 1}}  # type: ignore[method-assign]
    outcome = synthesize("--price", "1:1", "--max-cost", "1")
    assert outcome.code == 0, outcome.error


@pytest.mark.parametrize(
    "damaged",
    [
        "[]",
        "1",
        "{}",
        '{"request": [], "answer": {"content": "", "usage": {}}}',
        '{"request": "NAME", "answer": {"content": "", "usage": []}}',
        '{"request": "NAME", "answer": {"usage": {}}}',
        '{"request": "NAME", "answer": {"content": 1, "usage": {}}}',
        '{"request": "NAME", "answer": {"content": [1], "usage": {}}}',
        '{"request": "NAME", "answer": {"content": "", "usage": {"input_tokens": "9"}}}',
        '{"request": "NAME", "answer": {"content": "", "usage": {"input_tokens": 1e999}}}',
        '{"request": "NAME", "answer": {"content": "", "other": 1, "usage": {}}}',
        "[" * 100_000,
    ],
)
def test_damaged_lines_of_answers_are_left_out(damaged: str, tmp_path: Path) -> None:
    with closing(AnswerLog(tmp_path / "answers")) as answers:
        for name in ("first", "second"):
            answers.append(name, Answer(name, usage=TokenUsage(1, 2, 3, 4)))
    lines = (tmp_path / "answers").read_text("utf-8").splitlines(True)
    (tmp_path / "answers").write_text(f"{lines[0]}{damaged.replace('NAME', 'other')}\n{lines[1]}", "utf-8")
    with closing(AnswerLog(tmp_path / "answers")) as answers:
        assert (len(answers), answers.usage) == (2, TokenUsage(2, 4, 6, 8))
        assert answers.get("second") == Answer("second", usage=TokenUsage(1, 2, 3, 4))


def test_candidates(synthesize: Any, server: TeacherServer, pairs: list[Pair], tmp_path: Path) -> None:
    numbers: list[int] = []

    def answer(sources: Any, targets: Any) -> tuple[str, bool]:
        numbers.append(len(numbers))
        texts = [f"Not this at all, {numbers[-1]}." if numbers[-1] % 4 == 0 else text for text in targets]
        return json.dumps([{"number": n, "translation": text} for n, text in enumerate(texts, start=1)]), False

    server.answer = answer
    assert synthesize("--candidates", "4", "--parallel", "1").code == 0
    assert {body["temperature"] > 0 for body in server.bodies} == {True}
    assert read_output(tmp_path / "out.tsv") == [(pair.source, pair.target) for pair in pairs]
    assert choose_candidate([Rejected("empty"), "a dog runs", "a dog is running", "a cat"]) != "a cat"
    assert choose_candidate([Rejected("empty"), Rejected("loop")]) == Rejected("empty")


def test_a_bad_teacher_is_stopped_early(synthesize: Any, server: TeacherServer, mono: Path, tmp_path: Path) -> None:
    mono.write_text(mono.read_text("utf-8") * 5, "utf-8")
    server.answer = lambda sources, targets: ("I'm sorry, but I can't assist with that.", False)
    outcome = synthesize()
    assert outcome.code == 2
    assert "are rejected, more than 30%" in outcome.error
    assert "refusal (the model refuses to translate)" in outcome.error
    assert len(server.prompts) < 20, "it does not ask for the rest"
    assert not (tmp_path / "out.tsv").exists()


def test_one_answer_for_all_sentences_is_not_kept(synthesize: Any, server: TeacherServer, tmp_path: Path) -> None:
    server.translate = lambda source: "You have exceeded your quota. Please upgrade your plan."
    outcome = synthesize()
    assert (outcome.code, "same for many sentences" in outcome.error) == (2, True), outcome.error
    assert not (tmp_path / "out.tsv").exists()


def test_a_message_about_a_limit_is_not_the_last_answer(
    synthesize: Any, server: TeacherServer, pairs: list[Pair], tmp_path: Path
) -> None:
    """It comes as an answer, like a translation, and is no longer true when the command is repeated."""
    translate, places = server.translate, {pair.source: number for number, pair in enumerate(pairs)}
    server.translate = lambda source: translate(source) if places[source] < 60 else "Free limit reached, come later."
    stopped = synthesize("--parallel", "1")
    assert (stopped.code, "one answer for many sentences will be sent again" in stopped.error) == (2, True)
    server.translate = translate
    asked = len(server.bodies)
    assert synthesize("--resume").code == 0
    assert read_output(tmp_path / "out.tsv") == [(pair.source, pair.target) for pair in pairs]
    assert len(server.bodies) - asked == 6, "translated sentences are not sent again"


def test_many_bad_requests_do_not_take_long(
    synthesize: Any, server: TeacherServer, pairs: list[Pair], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a sentence that the server has answered before, requests that fail again are to blame."""
    monkeypatch.setattr("dragoman.synthesis.collect._FIRST_WAIT", 0.001)
    monkeypatch.setattr("dragoman.synthesis.collect._LONGEST_WAIT", 0.01)
    server.bad = {pairs[number].source: 500 for number in range(40, LINES, 10)}
    outcome = synthesize("--max-rejected", "0.9")
    assert outcome.code == 0, outcome.error
    assert read_output(tmp_path / "out.tsv") == [(pair.source, pair.target) for pair in pairs[:40]]
    assert len(server.bodies) < 4 + 3 * 8 + 2


@pytest.mark.parametrize("side", ["source", "target"])
def test_the_output_has_no_line_that_cannot_be_read(
    side: str, synthesize: Any, server: TeacherServer, pairs: list[Pair], mono: Path, tmp_path: Path
) -> None:
    if side == "source":
        mono.write_text(f"{(pairs[0].source * 2000)[:99_000]}\n{mono.read_text('utf-8')}", "utf-8")
    else:
        translate = server.translate
        server.translate = lambda text: translate(text) * (2000 if text == pairs[0].source else 1)
    outcome = synthesize()
    assert outcome.code == 0, outcome.error
    assert "1 line of more than 49,998 characters left out" in outcome.error or "too long" in outcome.error
    assert len(read_output(tmp_path / "out.tsv")) == len(pairs) - (side == "target")
    assert max(map(len, server.prompts)) < 50_000


def test_a_limit_of_cost(synthesize: Any, server: TeacherServer, tmp_path: Path) -> None:
    assert synthesize("--max-cost", "1").code == 2
    whole = synthesize("--price", "1000:1000", output=tmp_path / "whole.tsv")
    total = float(whole.error.split(", cost ")[-1].split()[0].replace(",", ""))
    close = synthesize("--price", "1000:1000", "--max-cost", str(1.1 * total), output=tmp_path / "close.tsv")
    assert "--max-cost" not in close.error, "nothing remains"
    outcome = synthesize("--price", "1000:1000", "--max-cost", str(total / 2))
    assert outcome.code == 0, outcome.error
    spent = float(outcome.error.split(", cost ")[-1].split()[0].replace(",", ""))
    assert 0.3 * total < spent <= total / 2
    assert "a higher --max-cost" in outcome.error
    asked = len(server.prompts)
    (tmp_path / "out.tsv").unlink()
    assert synthesize("--resume").code == 0
    assert (tmp_path / "out.tsv").read_bytes() == (tmp_path / "whole.tsv").read_bytes()
    assert max(server.answered.values()) == 3, "once for each output"
    assert len(server.prompts) > asked


@pytest.mark.parametrize("limit", ["0", "0.000001"])
def test_a_limit_of_cost_concerns_the_first_request(limit: str, synthesize: Any, server: TeacherServer) -> None:
    outcome = synthesize("--price", "1:1", "--max-cost", limit)
    assert (outcome.code, "more than --max-cost" in outcome.error) == (2, True), outcome.error
    assert not server.bodies


@pytest.mark.parametrize(("most", "code"), [("0.09", 2), ("0.11", 0)])
def test_few_sentences_have_a_limit_of_rejected_ones(
    most: str, code: int, synthesize: Any, server: TeacherServer, pairs: list[Pair], mono: Path, tmp_path: Path
) -> None:
    mono.write_text("".join(f"{pair.source}\n" for pair in pairs[:20]), "utf-8")
    translate = server.translate
    server.translate = lambda text: "" if text in (pairs[0].source, pairs[1].source) else translate(text)
    outcome = synthesize("--max-rejected", most)
    assert (outcome.code, "2 of 20 translations are rejected" in outcome.error) == (code, code == 2), outcome.error
    assert (tmp_path / "out.tsv").exists() is (code == 0)
    if code:
        asked = len(server.bodies)
        assert synthesize("--max-rejected", "0.5", "--resume").code == 0
        assert len(server.bodies) == asked, "the answers are kept"


def test_only_answers_that_fit_are_called_stored(
    synthesize: Any, server: TeacherServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.synthesis.collect._LONGEST_WAIT", 0.01)
    server.faults.extend([*[""] * 3, *[500] * 100])
    assert synthesize("--parallel", "1").code == 2
    again = synthesize("--parallel", "1", "--resume")
    assert "answers.jsonl: 3 stored answers of 12\n" in again.error
    other = synthesize("--parallel", "1", "--resume", "--model", "another")
    assert "0 stored answers of 12; 3 others are of another teacher, text or prompt" in other.error


def test_a_finished_output_is_recognized_if_its_answers_remain(
    synthesize: Any, server: TeacherServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a kill between writing it and deleting them."""
    with monkeypatch.context() as patch:
        patch.setattr("dragoman.cli.teachers.delete_unfinished", lambda output: None)
        assert synthesize().code == 0
    content, asked = (tmp_path / "out.tsv").read_bytes(), len(server.bodies)
    assert (tmp_path / "out.tsv.partial").exists()
    outcome = synthesize("--resume")
    assert (outcome.code, "out.tsv: complete" in outcome.error) == (0, True), outcome.error
    assert ((tmp_path / "out.tsv").read_bytes(), len(server.bodies)) == (content, asked)
    assert not (tmp_path / "out.tsv.partial").exists()


def test_an_output_that_another_command_has_just_written_is_not_asked_for(
    synthesize: Any, server: TeacherServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert synthesize().code == 0
    asked = len(server.bodies)
    module = import_module("dragoman.cli.synthesize")
    monkeypatch.setattr(module, "check_output", lambda *arguments: None)  # the other one had not ended then
    outcome = synthesize()
    assert (outcome.code, "already exists" in outcome.error) == (2, True), outcome.error
    assert len(server.bodies) == asked
    assert not (tmp_path / "out.tsv.partial").exists()


def test_an_estimate_writes_nothing(synthesize: Any, server: TeacherServer, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    outcome = synthesize("--estimate", "--price", "1:2")
    assert outcome.code == 0, outcome.error
    assert outcome.out.count("  → ") == 20
    estimated = outcome.out.splitlines()[-1]
    assert sorted(tmp_path.iterdir()) == before
    whole = synthesize("--price", "1:2").error.rpartition(" tokens sent")[0]
    sent = [int(text.split()[-1].replace(",", "")) for text in (estimated.partition(" tokens sent")[0], whole)]
    assert abs(sent[0] / sent[1] - 1) < 0.15


def test_the_prompt_can_be_shown_and_replaced(synthesize: Any, server: TeacherServer, tmp_path: Path) -> None:
    shown = synthesize("--show-prompt").out
    assert sentences_of(shown)[:1]
    assert not server.prompts
    (tmp_path / "prompt").write_text("Please!\n" + PROMPT, "utf-8")
    assert synthesize("--prompt", tmp_path / "prompt", "--show-prompt").out == f"Please!\n{shown}"
    (tmp_path / "prompt").write_text("{{sentence}}", "utf-8")
    assert "did you mean 'sentences'?" in synthesize("--prompt", tmp_path / "prompt").error


def test_prompts_have_neighbors_examples_and_terms(pairs: list[Pair]) -> None:
    from dragoman.text.glossary import Glossary

    lines = [*(pair.source for pair in pairs[:6]), "", *(pair.source for pair in pairs[6:9])]
    groups = list(group_sentences(lines, 4))
    assert [len(group.sentences) for group in groups] == [4, 2, 3]
    assert (groups[0].before, groups[1].after) == ((), ())
    assert groups[1].before == groups[0].sentences[-2:]
    assert groups[0].after == groups[1].sentences
    similar = Pair(pairs[0].source.replace("Ein", "Mein"), "similar")
    word = pairs[0].source.split()[-1].rstrip(".")
    glossary = Glossary.parse([f"{word}\tterm", "Zwieback\trusk"])
    writer = PromptWriter(("de", "hsb"), examples=ExamplePairs([*pairs[20:], similar]), glossary=glossary)
    prompt = writer.write(groups[0])
    assert "Upper Sorbian (hsb)" in prompt
    assert "similar" in prompt
    assert (f"- {word} = term" in prompt, "rusk" in prompt) == (True, False)
    assert sentences_of(prompt) == list(groups[0].sentences)
    assert all(line in prompt for line in groups[0].after)
    plural = PromptWriter(("de", "hsb"), glossary=Glossary.parse(["Hund\tpos"]))
    assert "- Hund = pos" in plural.write(next(iter(group_sentences(["Drei Hunde laufen."], 1))))


def test_paragraphs_stay_together() -> None:
    texts = [[f"Satz {p} {n} ist da." for n in range(3)] for p in "abcde"]
    lines = [line for paragraph in texts for line in [*paragraph, ""]]
    groups = list(group_sentences(lines, 7))
    assert [group.sentences for group in groups] == [
        (*texts[0], *texts[1]),
        (*texts[2], *texts[3]),
        tuple(texts[4]),
    ]
    assert groups[0].paragraphs == (3,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--languages", "xx"], "expected two language codes"),
        (["--key-file", "{tmp}/none"], "No such file"),
        (["--key-variable", "sk-my-key"], "not the key itself"),
        (["--key-variable", "hf_secret123"], "--key-variable: there is no environment variable with this name"),
        (["--teacher", "localhost:11434/v1"], "such as http://localhost:11434/v1"),
        (["--price", "cheap"], "expected the price"),
        (["--teacher", "http://192.0.2.1:1/v1"], "add --remote"),
        (["--teacher", "http://user:secret@localhost/v1"], "must not contain a user, a password"),
        (["--teacher", "http://user:p/secret@localhost:99999999"], "must not contain a user, a password"),
        (["--teacher", "libretranslate:user:secret@localhost"], "must not contain a user, a password"),
        (["--teacher", "deepl:localhost?key=secret"], "must not contain a user, a password"),
        (["--teacher", "user:secret@localhost"], "must not contain a user, a password"),
        (["--key-file", "/tmp"], "Is a directory"),
        (["--teacher", "libretranslate:localhost:5000"], "expected an address such as"),
    ],
)
def test_impossible_requests_get_a_message(options: list[str], message: str, synthesize: Any, tmp_path: Path) -> None:
    outcome = synthesize(*(each.format(tmp=tmp_path) for each in options))
    assert (outcome.code, message in outcome.error) == (2, True), outcome.error
    assert "secret" not in outcome.error


def test_a_text_in_another_language_is_not_measured(command: Command, server: TeacherServer, mono: Path) -> None:
    teacher = ("--teacher", server.address, "--model", "m", "--languages", "en-de")
    outcome = command("evaluate", *teacher, "--source", mono, "--reference", mono)
    assert (outcome.code, "looks like de, not en" in outcome.error) == (2, True), outcome.error
    assert not server.bodies


def test_a_random_sample_is_translated_if_there_is_too_little_time(
    server: TeacherServer, mono: Path, pairs: list[Pair], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of all files, not the first lines; the log counts the others."""
    half = LINES // 2
    files = [tmp_path / "first.de", tmp_path / "second.de"]
    for file, part in zip(files, (pairs[:half], pairs[half:]), strict=True):
        file.write_text("".join(f"{pair.source}\n" for pair in part), "utf-8")
    address = TeacherAddress.parse(server.address)
    assert address
    opened = TeacherOptions(address, ("de", "en"), model="m", size=5).open()
    server.seconds, output = 0.2, tmp_path / "out.tsv"
    groups = read_groups(files, ("de", "en"), opened)
    skipped = synthesize_text(opened, ("de", "en"), groups, SynthesisSettings(parallel=1, seconds=1.0), output)
    translated = [source for source, _ in read_output(output)]
    assert 0 < len(translated) < LINES
    for part in (pairs[:half], pairs[half:]):
        assert {pair.source for pair in part} & set(translated)
    expected = f"{LINES - len(translated)} of {LINES} sentences"
    assert skipped.endswith(expected)
    assert f"no time for {expected}; the others are a random sample" in capsys.readouterr().err


def test_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(map(is_on_this_machine, ["http://localhost:1/v1", "http://127.0.0.9", "http://[::1]:5000"]))
    assert not any(map(is_on_this_machine, ["http://example.org", "http://a.localhost", "http://10.0.0.1"]))
    assert check_address("HTTP://Example.org/V1/") == "http://Example.org/V1"
    assert TeacherAddress.parse("runs/de-en") is None
    assert TeacherAddress.parse("deepl:https://api.example.org/") == TeacherAddress("deepl", "https://api.example.org")
    with pytest.raises(UserError, match="not a valid address"):
        check_address("http://localhost:99999999")
    monkeypatch.setenv("SOME_KEY", "two words")
    with pytest.raises(UserError, match="one word") as error:
        read_key(None, "SOME_KEY")
    assert "two words" not in str(error.value)


def test_parallel_requests_follow_the_speed_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("dragoman.synthesis.collect.time.monotonic", lambda: clock[0])
    reached = {}
    for name, most_useful in (("constant", 100), ("two", 2), ("one", 1)):
        parallelism = Parallelism(most=8)
        for _ in range(400):
            clock[0] += 1 / min(parallelism.now, most_useful)
            parallelism.answered(100)
        reached[name] = parallelism.now
    assert reached["constant"] == 8
    assert reached["two"] <= 3
    assert reached["one"] <= 2
    parallelism = Parallelism(most=8, now=8)
    parallelism.refused()
    assert parallelism.now == 4


@pytest.mark.parametrize("one_at_a_time", [False, True])
def test_an_estimate_knows_the_speed_of_the_server(
    one_at_a_time: bool, server: TeacherServer, pairs: list[Pair], tmp_path: Path
) -> None:
    """More requests at once help one kind of server, and not the other."""
    server.seconds, server.one_at_a_time = 0.2, one_at_a_time
    teacher = TeacherOptions(TeacherAddress("chat", server.address), ("de", "en"), "m", size=2).open()
    groups = list(group_sentences([pair.source for pair in pairs], teacher.size))
    with closing(AnswerLog(tmp_path / "answers")) as answers:
        speed = Collector(teacher, answers, print).measure(list(requests_of("", groups[:17], 1)))
    assert len(answers) == 17
    assert (speed.seconds > 0.8 * speed.alone) is one_at_a_time


@pytest.mark.parametrize(("seconds", "first"), [(0.25, [1.0, 0.5, 1 / 3]), (1.0, [1.0, 1.0, 1.0])])
def test_the_time_of_a_text_includes_the_slower_beginning(seconds: float, first: list[float]) -> None:
    speed = Speed(seconds, alone=1.0, most=4)
    assert speed.seconds_for(3) == 3 * first[0]
    assert speed.seconds_for(100) == pytest.approx(4 * first[0] + 4 * first[1] + 6 * first[2] + 86 * seconds)


RUNNER = "import sys; from dragoman.cli import main; sys.argv[0] = 'dragoman'; main()"


def start(server: TeacherServer, mono: Path, output: Path) -> subprocess.Popen[str]:
    arguments = ["synthesize", "--teacher", server.address, "--model", "m", "--languages", "de-en"]
    files = ["--mono", str(mono), "--output", str(output), "--resume"]
    return subprocess.Popen([sys.executable, "-c", RUNNER, *arguments, *files], stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_killed_commands_lose_nothing(server: TeacherServer, mono: Path, pairs: list[Pair], tmp_path: Path) -> None:
    """A killed command repeats only what was in flight; Ctrl-C waits for that."""
    output, generator, kills = tmp_path / "out.tsv", random.Random(os.getpid()), 0
    server.seconds = 0.1
    while not output.exists():
        process, before = start(server, mono, output), server.answered.total()
        target = before + generator.randrange(1, 6)
        while process.poll() is None and server.answered.total() < target:
            time.sleep(0.005)
        number = generator.choice([signal.SIGKILL, signal.SIGINT])
        if kills < 5 and process.poll() is None:
            process.send_signal(number)
            kills += number == signal.SIGKILL
        _, printed = process.communicate(timeout=600)
        assert process.returncode in (0, 130, -signal.SIGKILL), printed
    assert read_output(output) == [(pair.source, pair.target) for pair in pairs]
    assert sum(count - 1 for count in server.answered.values()) <= 4 * kills


def test_two_commands_do_not_write_one_output(
    server: TeacherServer, synthesize: Any, mono: Path, tmp_path: Path
) -> None:
    server.seconds = 0.3
    outcomes: list[Any] = []
    process = start(server, mono, tmp_path / "out.tsv")
    while not server.answered:
        assert process.poll() is None
        time.sleep(0.01)
    outcomes.append(synthesize("--resume"))
    server.seconds = 0.0
    process.communicate(timeout=600)
    assert (outcomes[0].code, "another process is writing it" in outcomes[0].error) == (2, True)
    assert process.returncode == 0
