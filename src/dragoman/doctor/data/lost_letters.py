r"""Letters that a wrong encoding replaced by question marks, wrote as escapes, or dropped.

Examples are M?dchen, M\u00e4dchen and Mdchen.

Question marks and escapes inside words show by themselves. Dropped letters show in the words of the corpus: a word that
is rare or has unlikely letters becomes a known or a likely word if letters outside of ASCII are put back. A line that
still has such letters lost none, so its words are real ones, like the French "kaki".
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import regex
from numpy.typing import NDArray

from dragoman.doctor.data.line_statistics import Flags
from dragoman.doctor.data.words import HASHES, Words, find_words
from dragoman.languages.sentence_marks import QUESTION_MARKS

_ESCAPE = re.compile(r"\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|(?:[%=][89A-Fa-f][\dA-Fa-f]){2,}")
_ADDRESS = re.compile(r"://|^www\.|@|[/=&<>]")  # in such words, escapes and question marks are usual
_INNER_MARK = regex.compile(r"\p{L}\?+\p{Ll}")
_FIRST_MARK = regex.compile(r"^\P{L}*\?+\p{Ll}")
_LAST_MARK = regex.compile(r"\p{L}\?$")
_MARKS = regex.compile(f"[{QUESTION_MARKS}]")
MIN_LOST_WORDS = 3  # words of question marks only
MIN_LOST_LETTERS = 3  # question marks of a text without letters

_WORD = re.compile(r"[^\W\d_]+")
_SPECIAL_LETTER = re.compile(r"(?![\x00-\x7f])[^\W\d_]")
MIN_WORDS = 20_000  # of a side; fewer do not show how its language is spelled
MIN_SPECIAL = 2e-3  # share of letters outside of ASCII; languages with fewer lose nothing that could be found
MIN_SPECIAL_LETTER = 1e-4  # share of a letter that may have been dropped
MAX_ASCII_LOSS = 0.5  # of the letters; scripts without ASCII letters lose whole words
UNLIKELY = -5.0  # nats of the least likely letter of words that may lack one
MAX_UNLIKELY_WORDS = 20_000
MIN_UNLIKELY_LETTERS = 4
MAX_UNUSUAL = 0.7  # nats of a letter by which a word is less likely than the average one
SPELLING_SAMPLE = 2_000  # words
MAX_DROPPED = 3  # letters that are put back into a word without a known form
SMOOTHING = 4.0  # weight of the shorter context of a letter
DAMAGED_SHARE = 0.05  # of the occurrences of a word that may have lost letters
MIN_WORD_EVIDENCE, MAX_WORD_EVIDENCE = 1.0, 12.0  # nats of a word
MAX_UNLIKELY_EVIDENCE = 6.0  # nats of a word that has only unlikely letters; loanwords and names have them, too
WHOLE_EVIDENCE = 3.0  # nats against a word for each line with letters outside of ASCII that contains it
USUAL_RELATED = 0.005  # share of the words that are also words without these letters; in French, it is 0.07
MAX_LINE_EVIDENCE = 3.0  # nats of a line that has no letter outside of ASCII, or has one
MIN_EVIDENCE = 8.0  # nats of a line that lost letters


@dataclass
class Spellings:
    """How often the texts of a side contain each word, in lower case.

    Attributes:
        counts: In all texts.
        whole: In the texts that have letters outside of ASCII.
    """

    counts: Counter[str] = field(default_factory=Counter)
    whole: Counter[str] = field(default_factory=Counter)

    @classmethod
    def count(cls, texts: Sequence[str]) -> Spellings:
        """Count the words of texts."""
        whole = [text for text in texts if not text.isascii() and _SPECIAL_LETTER.search(text)]
        return cls(_count(texts), _count(whole))

    def add(self, other: Spellings, most: int) -> None:
        """Add the words of other texts. Words that occurred once are forgotten if there are more than `most`."""
        for own, added in ((self.counts, other.counts), (self.whole, other.whole)):
            own.update(added)
            if len(own) > most:
                for word in [word for word, count in own.items() if count == 1]:
                    del own[word]


def _count(texts: Sequence[str]) -> Counter[str]:
    return Counter(_WORD.findall(" ".join(texts).lower()))


def flag_replaced_letters(sources: Sequence[str], targets: Sequence[str]) -> Flags:
    """Pairs with a side whose letters were replaced by question marks or escapes."""
    flags = np.zeros(len(sources), np.bool_)
    if not any(mark in text for side in (sources, targets) for mark in ("?", "\\", "%", "=") for text in side):
        return flags
    for index, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if "?" in source or "?" in target:
            flags[index] = _has_marks(source, target) or _has_marks(target, source)
        if not flags[index] and any(mark in text for text in (source, target) for mark in "\\%="):
            flags[index] = _escapes(source) != _escapes(target)  # a text about escapes has them on both sides
    return flags


def _escapes(text: str) -> Counter[str]:
    words = (word for word in text.split() if _ESCAPE.search(word) and not re.search("://|^www\\.", word))
    return Counter(escape for word in words for escape in _ESCAPE.findall(word))


def _has_marks(text: str, other: str) -> bool:
    """Whether question marks stand for letters. The fewer the translation has, the less it takes."""
    if "?" not in text:
        return False
    words = text.split()
    if sum(set(word.strip(".,!()\"'")) == {"?"} for word in words) >= MIN_LOST_WORDS:
        return True
    marked = [(word, after) for word, after in zip(words, [*words[1:], ""], strict=True) if "?" in word]
    marked = [(word, after) for word, after in marked if not _ADDRESS.search(word)]
    if any(_INNER_MARK.search(word) for word, _ in marked):
        return True
    if len(_MARKS.findall(text)) <= len(_MARKS.findall(other)):
        return False
    if not any(map(str.isalpha, text)):
        return text.count("?") >= MIN_LOST_LETTERS and any(map(str.isalpha, other))
    if any(_FIRST_MARK.search(word) or (set(word) == {"?"} and after[:1].islower()) for word, after in marked):
        return True
    # one may be a question in direct speech: "Really? he asked."
    return sum(bool(_LAST_MARK.search(word)) and after[:1].islower() for word, after in marked) > 1


class LostLetters:
    """Finds texts of one side of a corpus that lost all their letters outside of ASCII.

    Args:
        spellings: How often each word occurs on this side.
        others: The same of the other side. Names occur on both.
    """

    def __init__(self, spellings: Spellings, others: Spellings) -> None:
        counts = spellings.counts
        letters: Counter[str] = Counter()
        for word, count in counts.items():
            for letter in word:
                letters[letter] += count
        total = max(1, letters.total())
        special = {letter: count for letter, count in letters.items() if not letter.isascii()}
        self._special_share = sum(special.values()) / total
        self._evidence: dict[str, float] = {}
        self._hashes: NDArray[np.bool_] = np.zeros(HASHES, np.bool_)
        if sum(counts.values()) >= MIN_WORDS and MIN_SPECIAL <= self._special_share <= MAX_ASCII_LOSS:
            usual = [letter for letter, count in special.items() if count >= MIN_SPECIAL_LETTER * total]
            self._evidence = dict(_weigh_words(spellings, others.counts, usual))
            self._hashes[find_words(list(self._evidence)).hashes] = True

    def flag(self, texts: Sequence[str], words: Words) -> Flags:
        """The texts that lost letters, given their words."""
        flags = np.zeros(len(texts), np.bool_)
        if not self._evidence:
            return flags
        for index in np.unique(words.text_indices[self._hashes[words.hashes]]).tolist():
            found = _WORD.findall(texts[index].lower())
            total = sum(self._evidence.get(word, 0.0) for word in set(found))
            letters = sum(map(len, found))
            usual = -letters * math.log1p(-self._special_share)
            total += min(MAX_LINE_EVIDENCE, usual) if texts[index].isascii() else -MAX_LINE_EVIDENCE
            flags[index] = total >= MIN_EVIDENCE
        return flags


def _weigh_words(
    spellings: Spellings, others: Mapping[str, int], special: Sequence[str]
) -> Iterator[tuple[str, float]]:
    """The words that probably lost letters, with the evidence for that in nats."""
    counts, whole = spellings.counts, spellings.whole
    total = sum(counts.values())
    unknown = math.log(max(1, sum(count == 1 for count in counts.values())) / total)  # share of words that occur once
    complete: dict[str, int] = {}  # how often the words occur that a word without such letters may come from
    for word, count in counts.items():
        if not word.isascii() and len(rest := "".join(filter(str.isascii, word))) > 1:
            complete[rest] = max(complete.get(rest, 0), count)
    related = sum(word in whole for word in complete) / max(1, len(complete))
    doubt = max(0.0, math.log(max(related, USUAL_RELATED) / USUAL_RELATED))
    model = _Spelling([word for word, count in counts.items() if count > 1])
    unlikely = MAX_UNLIKELY_WORDS
    for word, count in counts.items():
        if not word.isascii() or len(word) < 2:
            continue
        own = model.score(word, int(count > 1))
        if known := complete.get(word):
            excess = count - 1 - DAMAGED_SHARE * known
            usual = math.log(excess / total) if excess > 0 else unknown + sum(own)
            if word in others:
                usual = max(usual, math.log(others[word] / max(1, sum(others.values()))))
            evidence = min(math.log(known / total) - usual, MAX_WORD_EVIDENCE) - doubt
        elif count <= 2 and len(word) >= MIN_UNLIKELY_LETTERS and min(own) < UNLIKELY and word not in others:
            if (unlikely := unlikely - 1) < 0:
                continue
            restored, letters = model.restore(word, special)
            # words that stay unlikely belong to no language, or to another one
            likely = restored / letters >= model.usual - MAX_UNUSUAL
            evidence = min(restored - sum(own), MAX_UNLIKELY_EVIDENCE) if likely else 0.0
        else:
            continue
        evidence -= WHOLE_EVIDENCE * whole.get(word, 0)
        if evidence >= MIN_WORD_EVIDENCE:
            yield word, evidence


class _Spelling:
    """Probabilities of letters given the two before, learned from different words, each of which counts once.

    Attributes:
        usual: The mean log-probability of a letter.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._trigrams: Counter[str] = Counter()
        for word in words:
            text = f"  {word} "
            self._trigrams.update(text[index : index + 3] for index in range(len(text) - 2))
        self._contexts: Counter[str] = Counter()
        self._bigrams: Counter[str] = Counter()
        self._letters: Counter[str] = Counter()
        for trigram, count in self._trigrams.items():
            self._contexts[trigram[:2]] += count
            self._bigrams[trigram[1:]] += count
            self._letters[trigram[1]] += count
        self._size = max(2, len(self._letters))
        self._log_probability = cache(self._compute_log_probability)
        sample = [score for word in words[:SPELLING_SAMPLE] for score in self.score(word)]
        self.usual = sum(sample) / max(1, len(sample))

    def score(self, word: str, own: int = 1) -> list[float]:
        """The log-probability of each letter of a word and of its end.

        Args:
            word: The word.
            own: How often it is one of those that were learned from, 0 or 1; it is no evidence of itself.
        """
        text = f"  {word} "
        return [self._log_probability(text[index : index + 3], own) for index in range(len(text) - 2)]

    def restore(self, word: str, special: Sequence[str]) -> tuple[float, int]:
        """The log-probability of the likeliest word from which letters were dropped, and its length with its end."""
        best, length = -math.inf, 1
        for _ in range(MAX_DROPPED):
            found, word = max(self._with_another_letter(word, special))
            if found <= best:
                break
            best, length = found, len(word) + 1
        return best, length

    def _with_another_letter(self, word: str, special: Sequence[str]) -> Iterator[tuple[float, str]]:
        """Each word that has a letter more, with its log-probability, the sum of `score`.

        Only the trigrams with the new letter differ from those of the word.
        """
        scores = self.score(word, 0)
        for place in range(len(word) + 1):
            before, after = f"  {word[:place]}"[-2:], f"{word[place:]} "[:2]
            for letter in special:
                around = before + letter + after
                new = [self._log_probability(around[index : index + 3], 0) for index in range(len(around) - 2)]
                yield sum([*scores[:place], *new, *scores[place + 2 :]]), word[:place] + letter + word[place:]

    def _compute_log_probability(self, trigram: str, own: int) -> float:
        lower = (max(0, self._bigrams[trigram[1:]] - own) + SMOOTHING / self._size) / (
            max(0, self._letters[trigram[1]] - own) + SMOOTHING
        )
        count = max(0, self._trigrams[trigram] - own)
        return math.log((count + SMOOTHING * lower) / (max(0, self._contexts[trigram[:2]] - own) + SMOOTHING))
