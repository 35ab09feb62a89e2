"""References that are some lines away from their sources."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from dragoman.corpus.synthetic.captions import captions
from dragoman.doctor.output.reference_shifts import BLOCK, check_shifted_references

SIZE = 6 * BLOCK


@pytest.fixture(scope="module")
def references() -> list[str]:
    return [target for _, target in islice(captions("train"), SIZE)]


def translations(references: list[str], kept: float) -> list[str]:
    """Translations by a model that gets so many of the words right, and guesses the others."""
    random_numbers = random.Random(1)
    words = [word for text in references for word in text.split()]

    def translate(text: str) -> str:
        return " ".join(
            word if random_numbers.random() < kept else random_numbers.choice(words) for word in text.split()
        )

    return list(map(translate, references))


def find(references: list[str], output: list[str]) -> list[dict[str, int]]:
    findings = list(check_shifted_references(references, output, range(1, len(references) + 1)))
    return findings[0].measured["stretches"] if findings else []


@pytest.mark.parametrize("kept", [0.3, 0.6, 1.0])
@pytest.mark.parametrize("shift", [1, 2, 5, -1, -3])
def test_a_file_that_is_shifted(shift: int, kept: float, references: list[str]) -> None:
    shifted = references[-shift:] + references[:-shift]  # that of line 1 is now in line 1 + shift
    assert find(shifted, translations(references, kept)) == [{"shift": shift, "first": 1, "last": SIZE}]


@pytest.mark.parametrize("kept", [0.3, 1.0])
def test_a_line_that_is_missing_in_the_middle(kept: float, references: list[str]) -> None:
    half = SIZE // 2
    (stretch,) = find([*references[:half], *references[half + 1 :], references[0]], translations(references, kept))
    assert stretch == {"shift": -1, "first": half + 1, "last": SIZE}


@pytest.mark.parametrize("kept", [0.0, 0.15, 0.3, 1.0])
def test_right_references_are_not_reported(kept: float, references: list[str]) -> None:
    assert find(references, translations(references, kept)) == []


def test_shuffled_references_are_not_shifted(references: list[str]) -> None:
    shuffled = random.Random(2).sample(references, SIZE)
    assert find(shuffled, translations(references, 1.0)) == []


def test_sources_that_are_left_out_do_not_change_the_distance(references: list[str]) -> None:
    shifted, output = references[-2:] + references[:-2], translations(references, 0.6)
    kept = [index for index in range(SIZE) if index % 10]
    findings = check_shifted_references(
        [shifted[index] for index in kept], [output[index] for index in kept], [index + 1 for index in kept]
    )
    (finding,) = findings
    assert {each["shift"] for each in finding.measured["stretches"]} == {2}
    assert "2 lines below" in finding.message
