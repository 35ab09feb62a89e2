"""The share of sentences with a similar one."""

from __future__ import annotations

from dragoman.planning.near_duplicates import NearDuplicates


def share_of(*texts: str) -> float:
    counted = NearDuplicates()
    counted.add(texts)
    return counted.share


def test_equal_sentences_do_not_count() -> None:
    assert share_of() == 0
    assert share_of("Open the file now", "open the file now", "Save it") == 0
    assert share_of("Open the file now", "Open the document now", "Nothing else is similar") == 2 / 3


def test_sentences_may_be_added_in_parts() -> None:
    counted = NearDuplicates()
    for text in ("Open the file now", "Open the document now", "Nothing else is similar"):
        counted.add([text])
    assert counted.share == 2 / 3


def test_of_many_sentences_some_are_counted() -> None:
    similar = [f"Open the file number {number}" for number in range(1000)]
    different = [" ".join(f"w{number}-{place}" for place in range(5)) for number in range(1000)]
    assert 0.45 < share_of(*similar, *different) < 0.55
