"""References that are some lines away from their sources, because lines are missing or were added in one file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.errors import counted

MAX_SHIFT = 20  # lines
BLOCK = 100  # lines that are compared together
MIN_PAIRS = 15  # of a block
MIN_SIGNIFICANCE = 8.0
"""Standard errors by which the references some lines away must be more similar to the translations. With 100 lines
shifted, a model with a chrF of 18 reaches 7 to 14 and one of 27 reaches 10 to 20; right references reach at most 3."""
MIN_SIGNIFICANCE_OF_ALL = 6.0  # of all lines together, which are compared once
SHOWN_STRETCHES = 3


def check_shifted_references(
    references: Sequence[str], translations: Sequence[str], lines: Sequence[int]
) -> Iterator[Finding]:
    """Compare translations with the references up to `MAX_SHIFT` lines away.

    How similar a translation should be to its own reference depends on the model, so it is not compared with a
    threshold, but with how similar it is to the reference at each distance.

    Args:
        references: The reference of each source.
        translations: The translation of each source.
        lines: The line number of each in the file.
    """
    places = {line: index for index, line in enumerate(lines)}
    gains = {
        shift: _gains(references, translations, [places.get(line + shift) for line in lines])
        for shift in range(-MAX_SHIFT, MAX_SHIFT + 1)
        if shift
    }
    blocks = np.array_split(np.arange(len(lines)), max(1, len(lines) // BLOCK))
    shifts = [_shift_of(block, gains, MIN_SIGNIFICANCE) for block in blocks]
    if not any(shifts):  # those of a weak model, or of few lines, may be visible in the whole file only
        shifts = [_shift_of(np.arange(len(lines)), gains, MIN_SIGNIFICANCE_OF_ALL)] * len(blocks)
    found = [
        (shift, [blocks[index] for index, _ in group])
        for shift, group in groupby(enumerate(shifts), key=lambda each: each[1])
    ]
    stretches = [
        {"shift": shift, "first": lines[same[0][0]], "last": lines[same[-1][-1]]} for shift, same in found if shift
    ]
    if not stretches:
        return
    everywhere = len(found) == 1
    shown = "; ".join(_describe(each, everywhere) for each in stretches[:SHOWN_STRETCHES])
    yield make_finding(
        "shifted-references",
        f"{shown}{'; …' if len(stretches) > SHOWN_STRETCHES else ''}",
        {"stretches": stretches, "everywhere": everywhere},
    )


def _describe(stretch: dict[str, int], everywhere: bool) -> str:
    shift = stretch["shift"]
    where = "" if everywhere else f"in about lines {stretch['first']:,} to {stretch['last']:,}, "
    direction = "below" if shift > 0 else "above"
    return f"{where}the reference of each source is {counted(abs(shift), 'line')} {direction} it"


def _gains(references: Sequence[str], translations: Sequence[str], others: Sequence[int | None]) -> NDArray[np.float64]:
    """How much more similar each translation is to another reference than to its own; NaN where there is no other."""
    gains = np.full(len(references), np.nan)
    pairs = [
        (index, other)
        for index, other in enumerate(others)
        if other is not None and translations[index].strip() and references[index].strip() and references[other].strip()
    ]
    texts = [translations[index].lower() for index, _ in pairs]
    own, far = (
        process.cpdist(texts, [references[each].lower() for each in chosen], scorer=fuzz.ratio)
        for chosen in ([index for index, _ in pairs], [other for _, other in pairs])
    )
    gains[[index for index, _ in pairs]] = far - own
    return gains


def _shift_of(block: NDArray[np.int64], gains: dict[int, NDArray[np.float64]], least: float) -> int:
    """The distance of the references that fit the translations of a block significantly better; 0 if none does."""
    significances = {shift: _significance(values[block]) for shift, values in gains.items()}
    best = max(significances, key=lambda shift: significances[shift])
    return best if significances[best] >= least else 0


def _significance(values: NDArray[np.float64]) -> float:
    """The mean in standard errors."""
    known = values[~np.isnan(values)]
    if len(known) < MIN_PAIRS or not (deviation := float(known.std(ddof=1))):
        return 0.0
    return float(known.mean()) / (deviation / math.sqrt(len(known)))
