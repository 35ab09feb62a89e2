"""What is kept of each pair of a corpus while it is read: lengths, digests and marks, a few dozen bytes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.chunked_reader import Reader
from dragoman.doctor.data.scripts import count_letters

Marks = NDArray[np.bool_]
Digests = NDArray[np.int64]

MOST_CHARACTERS, MOST_WORDS = 2000, 250  # of a line that may still be one sentence
COPIED_WORDS = 3  # a copy of fewer may be a name
TELLING = 8  # letters that tell a script
COUNTED, COUNTED_WHOLE = 200, 24_000  # lines of each chunk whose words are counted, and first lines that all are

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# What may be damaged: a replacement character, or the first byte of a UTF-8 sequence and the next one, read as
# Windows-1252 or Latin-1.
_SUSPICIOUS = re.compile("\ufffd|[Â-ô][\x80-¿€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]")


@dataclass(frozen=True)
class Survey:
    """A corpus, pair by pair: every array has one value a pair, `marks` one array a code."""

    source_lengths: NDArray[np.uint32]
    target_lengths: NDArray[np.uint32]
    source_digests: Digests
    target_digests: Digests
    source_scripts: NDArray[np.uint8]
    target_scripts: NDArray[np.uint8]
    marks: dict[str, Marks]
    source_words: Counter[str]
    target_words: Counter[str]

    def __len__(self) -> int:
        return len(self.source_lengths)

    @property
    def pair_digests(self) -> Digests:
        """One digest for both sides."""
        mixed: Digests = self.source_digests * np.int64(0x9E3779B97F4A7C1) + self.target_digests
        return mixed


@dataclass(frozen=True)
class _Side:
    """One side of a chunk, a value a line."""

    lengths: NDArray[np.uint32]
    digests: Digests
    scripts: NDArray[np.uint8]
    blank: Marks
    control: Marks
    damaged: Marks
    long: Marks
    telling: Marks  # enough words to say that a copy is one


def take(reader: Reader) -> Survey:
    """Read a corpus once."""
    sources: list[_Side] = []
    targets: list[_Side] = []
    broken: list[Marks] = []
    words: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    for chunk in reader.chunks():
        sources.append(_look(chunk.sources, words[0], whole=chunk.first <= COUNTED_WHOLE))
        targets.append(_look(chunk.targets, words[1], whole=chunk.first <= COUNTED_WHOLE))
        broken.append(np.isin(np.arange(len(chunk.sources)), list(chunk.broken)))
    source, target, invalid = _join(sources), _join(targets), np.concatenate([np.zeros(0, np.bool_), *broken])
    marks = {
        "empty-side": source.blank | target.blank,
        "invalid-utf8": invalid,
        "encoding-damage": (source.damaged | target.damaged) & ~invalid,
        "control-characters": source.control | target.control,
        "over-long": source.long | target.long,
        "copied-source": (source.digests == target.digests) & source.telling,
    }
    return Survey(
        source.lengths, target.lengths, source.digests, target.digests, source.scripts, target.scripts, marks, *words
    )


def _look(texts: Sequence[str], counter: Counter[str], whole: bool) -> _Side:
    keys = [" ".join(text.lower().split()) for text in texts]
    counter.update(word for key in (keys if whole else keys[:COUNTED]) for word in key.split())
    letters = count_letters(texts)[:, 1:]  # (texts, scripts)
    most, total = letters.max(axis=1), letters.sum(axis=1)
    lengths = np.fromiter(map(len, texts), np.uint32, len(texts))
    words = np.fromiter((key.count(" ") + 1 for key in keys), np.uint32, len(texts))
    return _Side(
        lengths=lengths,
        digests=np.fromiter(map(hash, keys), np.int64, len(texts)),
        scripts=np.where((total >= TELLING) & (10 * most > 9 * total), letters.argmax(axis=1) + 1, 0).astype(np.uint8),
        blank=np.fromiter((not key for key in keys), np.bool_, len(texts)),
        control=_matching(texts, _CONTROL, lambda text: True),
        damaged=_matching(texts, _SUSPICIOUS, is_damaged),
        long=(lengths > MOST_CHARACTERS) | (words > MOST_WORDS),
        telling=(words >= COPIED_WORDS) & (total >= TELLING),
    )


def _matching(texts: Sequence[str], pattern: re.Pattern[str], confirm: Callable[[str], bool]) -> Marks:
    """Which texts hold the pattern and are confirmed; quick where hardly any does."""
    marks = np.zeros(len(texts), np.bool_)
    if pattern.search("\n".join(texts)):
        marks[:] = [bool(pattern.search(text)) and confirm(text) for text in texts]
    return marks


def is_damaged(text: str) -> bool:
    """Whether text was decoded with the wrong encoding, or with what could not be decoded replaced."""
    import ftfy

    return "\ufffd" in text or ftfy.fix_encoding(text) != text


def _join(sides: Sequence[_Side]) -> _Side:
    empty = _look([], Counter(), whole=False)
    columns = (np.concatenate([getattr(side, one.name) for side in (empty, *sides)]) for one in fields(_Side))
    return _Side(*columns)
