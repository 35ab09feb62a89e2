"""Noise for synthetic sources."""

from __future__ import annotations

from random import Random

import pytest

from dragoman.text.noise import DELETED, FILLER, MAX_SHIFT, REPLACED, add_noise

WORDS = [f"w{number}" for number in range(1000)]


def test_shares_and_distances() -> None:
    noised = add_noise(" ".join(WORDS), Random(1)).split()
    assert abs(len(noised) / len(WORDS) - (1 - DELETED)) < 0.03
    assert abs(noised.count(FILLER) / len(noised) - REPLACED) < 0.03
    kept = [WORDS.index(word) for word in noised if word != FILLER]
    assert len(set(kept)) == len(kept)
    assert kept != sorted(kept)
    overtaken = [sum(other > place for other in kept[:index]) for index, place in enumerate(kept)]
    assert 0 < max(overtaken) <= MAX_SHIFT


@pytest.mark.parametrize("text", ["Hund", "一", "", "Ein Hund läuft.", "狗在跑。它很快", "x " * 30])
def test_something_is_left_and_the_same_again(text: str) -> None:
    for seed in range(50):
        noised = add_noise(text, Random(seed))
        assert bool(noised.strip()) == bool(text.strip())
        assert noised == add_noise(text, Random(seed))
        assert "  " not in noised


def test_scripts_without_spaces_lose_characters() -> None:
    text = "狗在雪地里跑得很快,但是猫在家里睡觉"
    noised = add_noise(text, Random(3))
    assert set(noised) <= {*text, FILLER}
    assert 0 < len(noised) < len(text)
    assert " " not in noised


def test_placeholders_and_numbers_are_only_moved() -> None:
    for seed in range(100):
        words = add_noise("Klicken Sie auf %s in 5 Minuten", Random(seed)).split()
        assert {"%s", "5"} <= set(words)


def test_spans_in_scripts_without_spaces_are_only_moved() -> None:
    text = "我们在2024年10月去了北京看风景,请把 %s 文件发给bob@a.de"
    for seed in range(50):
        noised = add_noise(text, Random(seed))
        assert all(span in noised for span in ("2024", "10", "%s", "bob@a.de")), noised


def test_a_foreign_character_does_not_change_how_words_are_found() -> None:
    text = "I like 東京 very much today"
    for seed in range(20):
        assert set(add_noise(text, Random(seed)).split()) <= {*text.split(), FILLER}
