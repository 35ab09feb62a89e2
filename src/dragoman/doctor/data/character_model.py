"""How usual the letter sequences of a text are in the texts of a corpus."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

HELD_OUT = 4  # every fourth text shows how much the probabilities of texts vary
UNSEEN = 0.2  # added to the count of every trigram
POSSIBLE_LETTERS = 40  # that may follow two letters
FOREIGN_DIFFERENCE = -1.7  # nats per letter by which the letters of another language are less usual than the mean
FOREIGN_SPREAD, OWN_SPREAD = 0.6, 0.2  # standard deviations of this difference in long texts
_NO_LETTERS = re.compile(r"[\W\d_]+")


class CharacterModel:
    """Probabilities of letters given the two letters before."""

    def __init__(self, texts: Sequence[str]) -> None:
        prepared = [_letters(text) for text in texts]
        joined = "".join(text for index, text in enumerate(prepared) if index % HELD_OUT)
        self._trigrams = Counter(zip(joined, joined[1:], joined[2:], strict=False))
        self._bigrams = Counter(pairwise(joined))
        self._mean, self._deviation = 0.0, 1.0
        scores = [self._score(text) for text in prepared[::HELD_OUT] if len(text) > 2]
        if scores:
            means, lengths = np.array(scores).T
            self._mean = float(np.average(means, weights=lengths))
            self._deviation = max(1e-3, float(np.std((means - self._mean) * np.sqrt(lengths))))

    def compare(self, text: str) -> tuple[float, float]:
        """How much more or, if negative, less usual than the mean the letters of a text are.

        Returns:
            The difference in nats per letter, and in standard deviations of texts of this length.
        """
        mean, length = self._score(_letters(text))
        difference = mean - self._mean
        return difference, difference * length**0.5 / self._deviation

    def foreign_evidence(self, text: str) -> float:
        """Evidence of the letters that a text is in another language, in nats."""
        difference, deviation = self.compare(text)
        if difference >= 0:
            return -float("inf")
        noise = difference / deviation  # the standard deviation that is due to the length of the text
        own, foreign = (math.hypot(spread, noise) for spread in (OWN_SPREAD, FOREIGN_SPREAD))
        distances = difference / own, max(0.0, difference - FOREIGN_DIFFERENCE) / foreign
        return 0.5 * (distances[0] ** 2 - distances[1] ** 2) + math.log(own / foreign)

    def _score(self, text: str) -> tuple[float, int]:
        """Mean log-probability of a letter, and the number of letters."""
        counts = [
            (self._trigrams[trigram], self._bigrams[trigram[:2]])
            for trigram in zip(text, text[1:], text[2:], strict=False)
        ]
        trigrams, bigrams = np.array(counts or [(0, 0)], float).T
        logarithms = np.log((trigrams + UNSEEN) / (bigrams + UNSEEN * POSSIBLE_LETTERS))
        return float(logarithms.mean()), len(logarithms)


def _letters(text: str) -> str:
    return " " + _NO_LETTERS.sub(" ", text.casefold()).strip() + " "
