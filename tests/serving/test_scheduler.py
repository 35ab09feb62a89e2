"""The queue: batches, shares of clients, equal sentences, clients that leave, and failures."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Coroutine
from typing import Any

import pytest
from running_server import FakeTranslator

from dragoman.documents.segment import Segment
from dragoman.documents.sentences import CountTokens
from dragoman.serving.errors import RequestError
from dragoman.serving.fair_queue import _USUAL_TOKENS, FairQueue, Job, Priority
from dragoman.serving.scheduler import Scheduler
from dragoman.settings.serving import Serving
from dragoman.text.translation import Translation


def segments(*texts: str) -> list[Segment]:
    return [Segment(text) for text in texts]


def texts_of(translated: list[Translation]) -> list[str]:
    return [each.text for each in translated]


class Queue:
    """A scheduler with one worker, which is stopped until `open`."""

    def __init__(self, fake: FakeTranslator, workers: int = 1, **settings: Any) -> None:
        self.fake, self.scheduler = fake, Scheduler(Serving(**settings), workers)
        self.scheduler.start()
        fake.gate.clear()

    def ask(
        self, *texts: str, client: str = "a", priority: Priority = Priority.INTERACTIVE
    ) -> asyncio.Task[list[Translation]]:
        work = self.scheduler.translate(self.fake.translate, len, segments(*texts), client, priority)
        return asyncio.create_task(work)

    async def occupy_workers(self) -> None:
        """Give every worker a sentence, so that others wait."""
        for number in range(self.scheduler.workers):
            self.ask(f"f{number}", client="first")
            while len(self.fake.batches) <= number:
                await asyncio.sleep(0.001)

    def open(self) -> None:
        self.fake.gate.set()


def run(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        await asyncio.wait_for(work, 20)

    asyncio.run(limited())


@pytest.fixture
def fake() -> FakeTranslator:
    return FakeTranslator("en")


def test_results_are_in_order_and_batches_are_shared_by_requests(fake: FakeTranslator) -> None:
    async def check() -> None:
        queue = Queue(fake)
        await queue.occupy_workers()
        tasks = [queue.ask(f"text {number}", f"other {number}", client=f"c{number}") for number in range(8)]
        await asyncio.sleep(0)
        queue.open()
        for number, task in enumerate(tasks):
            assert texts_of(await task) == [f"en[text {number}]", f"en[other {number}]"]
        assert len(fake.batches) == 2, "the second batch contains all that waited"

    run(check())


def test_clients_take_turns(fake: FakeTranslator) -> None:
    async def check() -> None:
        queue = Queue(fake, batch_tokens=4)
        await queue.occupy_workers()
        long = queue.ask(*(f"a{number:03}" for number in range(50)), client="a")
        short = queue.ask("b000", client="b")
        await asyncio.sleep(0)
        queue.open()
        await asyncio.gather(long, short)
        assert fake.batches[1:4] == [["a000"], ["b000"], ["a001"]]

    run(check())


def test_interactive_requests_are_served_before_documents(fake: FakeTranslator) -> None:
    async def check() -> None:
        queue = Queue(fake, batch_tokens=4)
        await queue.occupy_workers()
        document = queue.ask("d000", "d001", priority=Priority.DOCUMENT)
        interactive = queue.ask("i000", "d001")
        await asyncio.sleep(0)
        queue.open()
        await asyncio.gather(document, interactive)
        assert fake.batches[1:] == [["i000"], ["d001"], ["d000"]], "what both need is translated early"

    run(check())


def test_equal_sentences_are_translated_once(fake: FakeTranslator) -> None:
    async def check() -> None:
        queue = Queue(fake)
        await queue.occupy_workers()
        tasks = [queue.ask("same", "same", f"other {number}") for number in range(5)]
        running = queue.ask("first 0")
        await asyncio.sleep(0)
        queue.open()
        for number, task in enumerate(tasks):
            assert texts_of(await task) == ["en[same]", "en[same]", f"en[other {number}]"]
        assert texts_of(await running) == ["en[first 0]"]
        translated = [text for batch in fake.batches for text in batch]
        assert len(translated) == len(set(translated))

    run(check())


def test_sentences_of_clients_that_leave_are_not_translated(fake: FakeTranslator) -> None:
    async def check() -> None:
        queue = Queue(fake)
        await queue.occupy_workers()
        leaving, staying = queue.ask("mine", "ours"), queue.ask("ours")
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        assert queue.scheduler.waiting[Priority.INTERACTIVE] == len("ours")
        queue.open()
        assert texts_of(await staying) == ["en[ours]"]
        assert fake.batches[1:] == [["ours"]]
        assert queue.scheduler.waiting == dict.fromkeys(Priority, 0)

    run(check())


def test_a_full_queue_refuses_requests_with_a_time_to_wait(fake: FakeTranslator) -> None:
    async def check() -> None:
        queue = Queue(fake, queue_tokens=10)
        await queue.occupy_workers()
        waiting = queue.ask("123456")
        await asyncio.sleep(0)
        with pytest.raises(RequestError) as error:
            await queue.ask("12345")
        assert error.value.status == 503
        assert int(error.value.headers["Retry-After"]) >= 1
        equal = queue.ask("123456")
        queue.open()
        assert texts_of(await waiting) == texts_of(await equal)
        assert texts_of(await queue.ask("12345" * 3)) == ["en[" + "12345" * 3 + "]"], "an empty queue takes any request"

    run(check())


def test_requests_that_would_wait_too_long_are_refused(fake: FakeTranslator) -> None:
    """The speed of the last batches shows how long. Others need not wait for all texts of a client."""

    async def work() -> None:
        queue = Queue(fake, batch_tokens=100, queue_seconds=2.0)
        fake.seconds = 0.01
        queue.open()
        await queue.ask("a" * 100)
        assert 0 < queue.scheduler._speed <= 100 / fake.seconds
        queue.scheduler._speed = 1000.0
        fake.gate.clear()
        await queue.occupy_workers()
        waiting = [queue.ask(f"{number:0100}") for number in range(20)]
        more = [queue.ask(f"{number:0100}") for number in range(20, 30)]
        other = queue.ask("b" * 100, client="b")
        await asyncio.sleep(0)
        queue.open()
        assert len(await asyncio.gather(*waiting)) == 20
        refused = [one for one in await asyncio.gather(*more, return_exceptions=True) if isinstance(one, RequestError)]
        assert len(refused) == 10, "they would wait for the batch in progress and for more than 2,000 tokens"
        assert all(each.status == 503 and int(each.headers["Retry-After"]) >= 1 for each in refused)
        assert texts_of(await other) == [f"en[{'b' * 100}]"]
        assert texts_of(await queue.ask("c")) == ["en[c]"]

    run(work())


def test_batches_in_progress_delay_others_by_the_rest_of_their_time() -> None:
    scheduler = Scheduler(Serving(), workers=2)
    scheduler._speed = 1000.0
    for elapsed, rest in ((0.0, 0.8), (0.6, 0.2), (5.0, 0.0)):
        scheduler._in_progress = dict.fromkeys((1, 2), (time.perf_counter() - elapsed, 800))
        assert scheduler._seconds_in_progress() == pytest.approx(rest, abs=0.1)


def test_clients_are_estimated_to_wait_for_their_share() -> None:
    queue = FairQueue()
    for client, lengths in {"a": (60, 40), "b": (10,), "c": ()}.items():
        for number, length in enumerate(lengths):
            translate = FakeTranslator(client).translate
            job = Job(translate, Segment(f"{number:0{length}}"), length, Priority.INTERACTIVE, {object(): [0]})
            queue.add(client, job)
    assert queue.tokens_before("a", 5) == 100 + 10, "its own texts, and those of others"
    assert queue.tokens_before("b", 65) == 75 + 10, "the share of the other that is not larger"
    assert queue.tokens_before("c", 5) == 60 + 10, "a turn is at least one job"
    assert queue.tokens_before("c", 1000) == 110
    queue.add("d", waiting_job(200))
    assert queue.tokens_before("c", 5) == 60 + 10, "longer texts do not delay others"


def test_the_estimated_wait_is_that_of_the_order_of_translation() -> None:
    queue = FairQueue()
    translate = FakeTranslator("en").translate
    for number in range(100):
        queue.add(f"c{number}", Job(translate, Segment(f"{number:0600}"), 600, Priority.INTERACTIVE, {"anyone": [0]}))
    estimate = queue.tokens_before("new", 50)
    job = Job(translate, Segment("x" * 50), 50, Priority.INTERACTIVE, {"anyone": [0]})
    queue.add("new", job)
    before = 0
    while job not in (batch := queue.take(1200)):
        before += sum(each.tokens for each in batch)
    assert before <= estimate <= 60_000


def waiting_job(tokens: int) -> Job:
    return Job(_TRANSLATE, Segment("x" * tokens), tokens, Priority.INTERACTIVE, {"anyone": [0]})


_TRANSLATE = FakeTranslator("en").translate


def test_clients_get_equal_shares_whatever_the_lengths_of_their_texts() -> None:
    queue, served = FairQueue(), Counter[str]()
    for client, length in {"long": 400, "middle": 90, "short": 7}.items():
        for _ in range(20_000 // length):
            queue.add(client, waiting_job(length))
    while set(queue._waiting) == {"long", "middle", "short"}:
        served.update({job.client: job.tokens for job in queue.take(1)})
        assert max(served.values()) - min(served.values()) <= 2 * 400
    assert min(served.values()) >= 20_000 - 2 * 400


def test_one_short_text_after_another_gets_no_more_than_its_share() -> None:
    queue, served = FairQueue(), Counter[str]()
    for _ in range(100):
        queue.add("long", waiting_job(400))
    queue.add("short", waiting_job(10))
    for _ in range(1000):
        (job,) = queue.take(1)
        served[job.client] += job.tokens
        if job.client == "short":
            queue.add("short", waiting_job(10))
    assert served["long"] / 2 <= served["short"] <= served["long"] + 400


def test_sentences_of_usual_length_are_translated_in_the_order_in_which_they_came() -> None:
    queue, came = FairQueue(), []
    for number in range(200):
        job = waiting_job(1 + number * 37 % 120)
        queue.add(f"client {number}", job)
        came.append(job)
        if number % 2:
            assert queue.take(1) == [came.pop(0)]


def test_many_clients_do_not_delay_a_long_text_for_ever() -> None:
    queue, long = FairQueue(), waiting_job(500)
    queue.add("long", long)
    for number in range(20):
        queue.add(f"client {number}", waiting_job(10))
    batches = 0
    while (job := queue.take(1)[0]) is not long:
        queue.add(job.client, waiting_job(10))
        batches += 1
    assert 20 < batches <= 20 * (500 - _USUAL_TOKENS + 10) / 10, "until each was served as much as this one is too long"
    while queue.take(100):
        pass
    assert (queue._begins, queue._clients, queue.tokens) == ({}, {}, 0), "nothing is kept of clients that left"


def test_a_sentence_is_translated_in_the_share_in_which_it_is_earliest(fake: FakeTranslator) -> None:
    async def check() -> None:
        queue = Queue(fake, batch_tokens=10)
        await queue.occupy_workers()
        text = [f"long {number:05}" for number in range(50)]
        requests = [queue.ask(*text, "good day..", client="much")]
        for client, sentence in (("again", "good day.."), ("other", "good bye.."), ("much", "good day..")):
            await asyncio.sleep(0)
            requests.append(queue.ask(sentence, client=client))
        await asyncio.sleep(0)
        queue.open()
        await asyncio.gather(*requests)
        places = [fake.batches.index([sentence]) for sentence in ("good day..", "good bye..", text[-1])]
        assert max(places[:2]) < 5 < 50 < places[2]
        assert fake.batches.count(["good day.."]) == 1

    asyncio.run(check())


def test_nothing_is_kept_of_texts_that_were_withdrawn() -> None:
    queue, stays = FairQueue(), waiting_job(5)
    queue.add("first", stays)
    for number in range(100):
        job = waiting_job(5)
        queue.add(f"client {number}", job)
        queue.leave(job)
    assert list(queue._clients) == list(queue._begins) == ["first"]


def test_the_count_of_waiting_tokens_is_that_of_the_jobs(fake: FakeTranslator) -> None:
    """The check of a request looks at clients, not at all their jobs."""

    async def check() -> None:
        queue = Queue(fake, batch_tokens=20)
        await queue.occupy_workers()
        files = queue.ask("both", "d1", client="d", priority=Priority.DOCUMENT)
        leaving, staying = queue.ask("l1", "both", client="l"), queue.ask("both", "s1", client="s")
        await asyncio.sleep(0)
        interactive, document = queue.scheduler._queues.values()
        assert (interactive._waiting, document._waiting) == ({"l": 2, "s": 6}, {"d": 2})
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        assert (interactive._waiting, document._waiting) == ({"s": 6}, {"d": 2})
        assert interactive.tokens_before("new", 100) == 6
        queue.open()
        await asyncio.gather(files, staying)
        assert (interactive._waiting, document._waiting) == ({}, {})
        assert not queue.scheduler._in_progress

    run(check())


def test_a_text_that_fails_does_not_harm_others_in_its_batch(fake: FakeTranslator) -> None:
    async def check() -> None:
        queue = Queue(fake)
        await queue.occupy_workers()
        good, bad = queue.ask("good", "fine"), queue.ask("FAIL", client="b")
        await asyncio.sleep(0)
        queue.open()
        assert texts_of(await good) == ["en[good]", "en[fine]"]
        with pytest.raises(RequestError, match="could not be translated"):
            await bad
        assert texts_of(await queue.ask("good")) == ["en[good]"]

    run(check())


def test_a_worker_that_ends_is_replaced(fake: FakeTranslator) -> None:
    async def check() -> None:
        queue = Queue(fake)
        queue.open()
        with pytest.raises(RequestError) as error:
            await queue.ask("EXIT")
        assert error.value.status == 503
        assert texts_of(await queue.ask("good")) == ["en[good]"]

    run(check())


def test_idle_workers_share_a_long_list(fake: FakeTranslator) -> None:
    async def check() -> None:
        queue = Queue(fake, workers=2)
        while queue.scheduler._idle < 2:
            await asyncio.sleep(0.001)
        task = queue.ask(*(f"text {number:03}" for number in range(30)))
        while len(fake.batches) < 2:
            await asyncio.sleep(0.001)
        queue.open()
        assert texts_of(await task) == [f"en[text {number:03}]" for number in range(30)]
        assert sorted(map(len, fake.batches)) == [15, 15]

    run(check())


def test_a_worker_leaves_a_share_of_a_long_list_to_those_that_are_busy(fake: FakeTranslator) -> None:
    async def check() -> None:
        queue = Queue(fake, workers=2, batch_tokens=2000)
        await queue.occupy_workers()
        task = queue.ask(*(f"text {number:03}" for number in range(240)))
        await asyncio.sleep(0)
        queue.open()
        await task
        assert max(map(len, fake.batches)) == 120

    run(check())


def test_a_worker_takes_an_efficient_batch_of_what_waits_even_if_its_share_is_smaller(fake: FakeTranslator) -> None:
    async def check() -> None:
        queue = Queue(fake, workers=2, batch_tokens=2000)
        await queue.occupy_workers()
        task = queue.ask(*(f"text {number:03}" for number in range(40)))  # 320 tokens
        await asyncio.sleep(0)
        queue.open()
        await task
        assert max(map(len, fake.batches)) == 250 // 8

    run(check())


def test_a_free_worker_takes_a_share_of_what_several_clients_wait_for(fake: FakeTranslator) -> None:
    async def check() -> None:
        queue = Queue(fake, workers=2, batch_tokens=2000)
        await queue.occupy_workers()
        tasks = [queue.ask(f"{number:0200}", client=f"c{number}") for number in range(8)]
        await asyncio.sleep(0)
        queue.open()
        await asyncio.gather(*tasks)
        assert max(map(len, fake.batches)) == 4

    run(check())


def test_batches_have_one_translator_and_similar_lengths() -> None:
    one, other = FakeTranslator("en"), FakeTranslator("es")
    queue = FairQueue()
    for length in (10, 100, 11, 12, 90):
        queue.add("a", Job(one.translate, Segment("x" * length), length, Priority.INTERACTIVE, {"anyone": [0]}))
    queue.add("b", Job(other.translate, Segment("y" * 10), 10, Priority.INTERACTIVE, {"anyone": [0]}))
    batches = []
    while batch := queue.take(200):
        assert len({job.translate for job in batch}) == 1
        assert max(job.tokens for job in batch) * len(batch) <= 200
        batches.append(sorted(job.tokens for job in batch))
    assert batches == [[10, 11, 12], [10], [90, 100]]


def test_batches_are_limited_by_tokens(fake: FakeTranslator) -> None:
    """Characters that a model does not know are several tokens each."""

    async def translate(count_tokens: CountTokens) -> list[list[str]]:
        fake.batches.clear()
        scheduler = Scheduler(Serving(batch_tokens=100), 1)
        scheduler.start()
        texts = segments(*(f"{number:010}" for number in range(40)))
        found = await scheduler.translate(fake.translate, count_tokens, texts, "a", Priority.INTERACTIVE)
        assert texts_of(found) == [f"en[{each.text}]" for each in texts]
        return fake.batches

    fake.gate.set()
    assert max(map(len, asyncio.run(translate(len)))) == 10
    assert max(map(len, asyncio.run(translate(lambda text: 5 * len(text))))) == 2


def test_a_long_segment_is_divided_so_that_others_wait_for_a_part_only(fake: FakeTranslator) -> None:
    async def check() -> None:
        queue = Queue(fake, batch_tokens=20)
        await queue.occupy_workers()
        long = " ".join(f"w{number:02}" for number in range(100))
        first, second = queue.ask(long, "b1"), queue.ask("b2", client="b")
        await asyncio.sleep(0.1)
        fake.seconds = 0.02
        queue.open()
        await second
        assert not first.done()
        assert sum(map(len, fake.batches)) < 10
        joined, short = texts_of(await first)
        assert joined.replace("en[", "").replace("]", "") == long
        assert short == "en[b1]"
        assert max(len(text) for batch in fake.batches for text in batch) <= 20

    run(check())


@pytest.mark.parametrize("text", ["ä" * 5000, "e" + "\u0301" * 5000, "a@b." * 1000, "1" * 5000])
def test_any_segment_can_be_divided(fake: FakeTranslator, text: str) -> None:
    async def check() -> None:
        queue = Queue(fake, batch_tokens=200)
        queue.open()
        (joined,) = texts_of(await queue.ask(text))
        assert joined.replace("en[", "").replace("]", "") == text
        assert max(len(each) for batch in fake.batches for each in batch) <= 200

    run(check())


def test_a_long_text_is_refused_before_it_is_divided_and_a_text_that_is_next_is_accepted(fake: FakeTranslator) -> None:
    counted: list[str] = []

    def count_tokens(text: str) -> int:
        counted.append(text)
        return len(text)

    async def check() -> None:
        queue = Queue(fake, batch_tokens=500, queue_tokens=3000)
        await queue.occupy_workers()
        waiting = [queue.ask(f"{number}" * 500, client="x") for number in range(6)]
        await asyncio.sleep(0)
        long = segments("ab " * 800)
        with pytest.raises(RequestError):
            await queue.scheduler.translate(fake.translate, count_tokens, long, "y", Priority.INTERACTIVE)
        assert counted == [long[0].text]
        short = queue.ask("short", client="z")
        await asyncio.sleep(0)
        queue.open()
        assert texts_of(await short) == ["en[short]"]
        assert fake.batches.index(["short"]) <= 2
        await asyncio.gather(*waiting, return_exceptions=True)

    run(check())
