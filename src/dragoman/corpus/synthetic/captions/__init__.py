"""The built-in corpus: German-English captions that a grammar writes, with German agreement throughout.

The grammar is rendered one way only (the German present is the English progressive, `ein` is `a`), so each
German sentence has one translation and so has each English one. Some combinations of words (an adjective with a
noun, a subject with a verb, a verb with an object or a place) are left out of the training split; every
sentence of the validation and test splits has at least one of them.
"""

from __future__ import annotations

import zlib
from collections import Counter
from functools import cache

from dragoman.corpus.synthetic.captions.writer import Writer
from dragoman.errors import UserError, nearest

_SIZES = {"train": 24_000, "validation": 500, "test": 1_000}
_HELD_OUT_IN = 16  # one combination in so many is held out
_OFTEN = 20  # occurrences of a word in training
_SEED = 1


def captions(split: str) -> list[tuple[str, str]]:
    """Pairs (German, English) of the split train, validation or test, the same on every machine."""
    if split not in _SIZES:
        raise UserError(f"captions has no split {split!r}, only {', '.join(_SIZES)}{nearest(split, _SIZES)}")
    return list(_splits()[split])


@cache
def _splits() -> dict[str, list[tuple[str, str]]]:
    writer = Writer(_SEED)
    train: list[tuple[str, str]] = []
    held_out: list[tuple[str, str]] = []
    english_of: dict[str, str] = {}
    german_of: dict[str, str] = {}
    while len(train) < _SIZES["train"]:
        german, english = writer.sentence()
        known = german in english_of
        assert english_of.setdefault(german, english) == english, f"two translations: {german}"
        assert german_of.setdefault(english, german) == german, f"two translations: {english}"
        if not known:
            (held_out if any(map(_is_held_out, writer.combinations)) else train).append((german, english))
    train = train[: _SIZES["train"]]
    familiar = _familiar_only(held_out, train)
    validation_end = _SIZES["validation"] + _SIZES["test"]
    assert len(familiar) >= validation_end, "the grammar writes enough sentences of held-out combinations"
    return {
        "train": train,
        "validation": familiar[_SIZES["test"] : validation_end],
        "test": familiar[: _SIZES["test"]],
    }


def _familiar_only(pairs: list[tuple[str, str]], train: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs whose every word occurs often in training: only the combinations are to be new."""
    counts = Counter(word for pair in train for word in _words(pair))
    return [pair for pair in pairs if all(counts[word] >= _OFTEN for word in _words(pair))]


def _words(pair: tuple[str, str]) -> list[tuple[int, str]]:
    return [(language, word.strip(",.")) for language, text in enumerate(pair) for word in text.split()]


@cache
def _is_held_out(combination: tuple[str, str]) -> bool:
    return zlib.crc32(" ".join(combination).encode()) % _HELD_OUT_IN == 0
