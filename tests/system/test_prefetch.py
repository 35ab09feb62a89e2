"""Results made in advance: in order, few at a time, with their exceptions, and without a thread that stays."""

from __future__ import annotations

import threading
from itertools import count

import pytest

from dragoman.system.prefetch import Prefetcher


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("prefetch")]


def test_results_come_in_order_and_few_are_made_in_advance() -> None:
    made: list[int] = []
    numbers, ready = count(), threading.Semaphore(0)

    def produce() -> int:
        made.append(next(numbers))
        ready.release()
        return made[-1]

    prefetcher = Prefetcher(produce, ahead=2)
    for number in range(5):
        assert prefetcher.next() == number
    for _ in range(7):
        assert ready.acquire(timeout=10), "two more are made while the fifth is used"
    prefetcher.close()
    assert made == list(range(7))


def test_results_are_made_in_another_thread() -> None:
    prefetcher = Prefetcher(threading.get_ident, ahead=1)
    assert prefetcher.next() != threading.get_ident()
    prefetcher.close()


def test_exceptions_are_raised_where_the_result_is_used() -> None:
    numbers = iter([1, 2])

    def produce() -> int:
        try:
            return next(numbers)
        except StopIteration:
            raise ValueError("no more numbers") from None

    prefetcher = Prefetcher(produce, ahead=5)
    assert [prefetcher.next(), prefetcher.next()] == [1, 2]
    with pytest.raises(ValueError, match="no more numbers"):
        prefetcher.next()
    prefetcher.close()


def test_closing_ends_the_thread_even_if_results_are_left() -> None:
    assert not threads()
    prefetcher = Prefetcher(count().__next__, ahead=3)
    prefetcher.next()
    assert threads()
    prefetcher.close()
    assert not threads()


def test_a_prefetcher_that_is_deleted_leaves_no_thread() -> None:
    prefetcher = Prefetcher(count().__next__, ahead=3)
    prefetcher.next()
    (thread,) = threads()
    del prefetcher
    thread.join(timeout=10)
    assert not thread.is_alive()
