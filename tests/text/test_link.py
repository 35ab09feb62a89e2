"""Links of a translation of a translation."""

from __future__ import annotations

from dragoman.text.link import Link, chain_links


def test_links_lead_to_the_first_text() -> None:
    first = [Link(0, 3, 4, 8), Link(4, 9, 0, 3)]  # both words change places
    second = [Link(0, 3, 0, 5), Link(4, 8, 6, 9), Link(9, 12, 10, 13)]
    assert chain_links(first, second) == (Link(4, 9, 0, 5), Link(0, 3, 6, 9))
    same = [Link(0, 3, 0, 3), Link(4, 8, 4, 8)]
    assert chain_links(same, second[:2]) == tuple(second[:2])
    assert chain_links(first, [Link(2, 8, 0, 6)]) == (Link(0, 3, 0, 6),), "that with most characters in common"
    assert chain_links([], second) == chain_links(first, []) == ()
