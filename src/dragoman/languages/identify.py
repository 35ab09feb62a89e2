"""Identifying the language of a text: among a few whose text is known, or among the hundred that py3langid knows.

A profile has the n-grams of the languages of a bundle, which its training text shows. It also knows languages and kinds
of text that no other model knows. py3langid shows that a text is in none of them.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import regex

from dragoman.errors import UserError
from dragoman.languages.codes import primary_language

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

LONGEST = 4
PROFILE_SIZE = 6000  # n-grams of a language
RELATED_SIZE = 20_000  # if it may have to be distinguished from related ones; those above decide if a text is in any
_BORDER = "_"  # before and after each word
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}'’]*")
_READ = 1000  # characters of a text; more do not change the answer
_DEPENDENCE = 4.0  # each letter is in four n-grams, which are not independent evidence
_CACHED_WORDS = 5_000  # with their evidence; words repeat, and most of the time goes into n-grams
_CACHED_LENGTH = 30  # letters; longer words are rare, or in scripts without spaces, where they do not repeat
_MIN_KNOWN = 0.48  # share of known n-grams of two letters and more; with fewer, a text is in no known language
_FAMILIAR = 0.9  # share of them in text like the training text; other languages that are similar have 0.75

MIN_WORDS = 4  # of shorter texts in German and English, up to 5 % look like another language
MAX_PROBABILITY = 0.02  # of lines of ten corpora in German, English and Hindi, at most 0.7 % are below

FEW_WORDS = 3  # a text with fewer may be in the language of the texts around it …
CLEAR = 0.99  # … unless its own language has this probability

PIECE = 100  # bytes of text that are identified together if many texts are in the same language
MIN_PIECES, MAX_PIECES = 10, 400
OTHER_SHARE = 0.3  # of the pieces of texts in another language …
OWN_SHARE = 0.1  # … which has at most that many in the expected one; similar languages have more
NEARLY_ALL = 0.9  # of the pieces of texts in one language, if it is not known what to expect
NO_LANGUAGE = "zxx"

WordEvidence = tuple[str, str, Mapping[str, float]]
"""A source language, a target language, and the evidence of frequent words for the former, in nats."""


def identify(text: str, profile: LanguageProfile | None = None) -> list[tuple[str, float]]:
    """The languages that a text may be in with their probabilities, the likeliest first.

    Args:
        text: Any text, of which only the beginning is read.
        profile: The languages to choose from; by default, those that py3langid knows.

    Returns:
        Codes and probabilities; none if the text has no words, or is in none of the languages of the profile.
    """
    if profile is not None:
        return profile.rank(text)
    ranked = _rank_all(text[:_READ]) if _WORD.search(text) else []
    return [] if ranked and ranked[0][0] == NO_LANGUAGE else ranked


def identify_each(texts: Sequence[str], profile: LanguageProfile) -> list[list[tuple[str, float]]]:
    """`identify` of each of some texts that belong together.

    A text of few words that does not show its language is in that of all texts together, and so is one without words.
    """
    together = identify("\n".join(texts), profile)
    found = []
    for text in texts:
        ranked = identify(text, profile)
        is_vague = bool(ranked) and ranked[0][1] < CLEAR and len(text.split()) < FEW_WORDS
        is_wordless = not any(map(str.isalpha, text))
        found.append(together if is_vague or is_wordless else ranked)
    return found


def language_of_most(texts: Iterable[str], languages: Iterable[str]) -> str:
    """The language of most letters of some texts, given that of each; empty if there are none."""
    letters: Counter[str] = Counter()
    for text, language in zip(texts, languages, strict=True):
        letters[language] += sum(map(str.isalpha, text))
    return max(letters, key=letters.__getitem__, default="")


def common_language(texts: Sequence[str], profile: LanguageProfile) -> str:
    """The language of a profile that most of some texts are in; empty if most are in none."""
    return language_of_most(texts, (next((code for code, _ in each), "") for each in identify_each(texts, profile)))


def share_in_other_languages(texts: Sequence[str], expected: str, profile: LanguageProfile) -> float:
    """The share of texts that are clearly in another language of a profile; texts of few words count as right."""
    wrong = 0
    for text in texts:
        if sum(1 for _ in words_of(text)) >= MIN_WORDS and (found := dict(identify(text, profile))):
            wrong += found.get(expected, 0.0) < MAX_PROBABILITY
    return wrong / max(1, len(texts))


def other_language(texts: Sequence[str], expected: str, translation: str | None = None) -> str | None:
    """The language that most of many texts are in, if that is not the expected one; None if that is not certain.

    Args:
        texts: The texts, of which the first ones are read.
        expected: The code of the language in which they should be. If py3langid does not know it, it takes it for a
            similar one, so that only the next one is found.
        translation: The code of the language of their translations, which may be exchanged with them.
    """
    found = _count_languages(texts)
    if found.total() < MIN_PIECES:
        return None
    likeliest, count = found.most_common(1)[0]
    if is_known(expected):
        is_other = count > OTHER_SHARE * found.total() and found[_label(expected)] <= OWN_SHARE * found.total()
    else:
        is_other = translation is not None and likeliest == _label(translation) and count > NEARLY_ALL * found.total()
    return likeliest if is_other else None


def language_of(texts: Iterable[str]) -> str | None:
    """The language that nearly all of many texts are in, of those that py3langid knows; None if that is not certain."""
    found = _count_languages(texts)
    likeliest, count = found.most_common(1)[0] if found else ("", 0)
    return likeliest if found.total() >= MIN_PIECES and count > NEARLY_ALL * found.total() else None


def _count_languages(texts: Iterable[str]) -> Counter[str]:
    """How many pieces of texts are in each language."""
    pieces = islice(_pieces(texts), MAX_PIECES)
    return Counter(ranked[0][0] for piece in pieces if (ranked := identify(piece)))


def is_known(language: str) -> bool:
    """Whether `identify` knows a language without a profile."""
    return _label(language) in _known_labels()


@cache
def _known_labels() -> frozenset[str]:
    return frozenset(map(_label, load_identifier().labels))


@cache
def load_identifier() -> LanguageIdentifier:
    """The model that knows about a hundred languages; the first call takes half a second and 100 MB.

    Raises:
        UserError: The temporary directory is full or cannot be written to.
    """
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    try:
        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    except OSError as error:  # py3langid decompresses its model there; without a name, it seems to be standard output
        raise UserError(f"the temporary directory {tempfile.gettempdir()}: {error.strerror}") from error


def words_of(text: str) -> Iterator[str]:
    """The words of a text in lower case."""
    return (match.group() for match in _WORD.finditer(text.lower()))


def count_words(texts: Iterable[str]) -> Counter[str]:
    """How often texts contain each word, in lower case."""
    return Counter(word for text in texts for word in words_of(text))


def count_ngrams(texts: Iterable[str], size: int = PROFILE_SIZE) -> dict[str, int]:
    """The most frequent n-grams of texts in one language with their counts, the most frequent first."""
    words = count_words(texts)
    counts: Counter[str] = Counter()
    for word, times in words.items():
        for gram in ngrams_of_word(word):
            counts[gram] += times
    return dict(counts.most_common(size))


def learn_profiles(texts: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """What `LanguageProfile` needs to know of each language, as `Bundle.profiles` stores it.

    Args:
        texts: A sample of the training text of each language, such as 10,000 sentences.
    """
    return {language: write_ngrams(count_ngrams(sample, RELATED_SIZE)) for language, sample in texts.items()}


def write_ngrams(counts: Mapping[str, int]) -> str:
    """Counts of n-grams as one line of text."""
    return " ".join(f"{gram} {count}" for gram, count in counts.items())


def read_profiles(profiles: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """The counts of the n-grams of each language, without those that are empty or damaged."""
    found = {}
    for language, line in profiles.items():
        with suppress(ValueError):
            found[language] = read_ngrams(line)
    return {language: counts for language, counts in found.items() if counts}


def read_ngrams(line: str) -> dict[str, int]:
    """The counts that `write_ngrams` wrote.

    Raises:
        ValueError: It is damaged.
    """
    parts = line.split()
    counts = {gram: int(count) for gram, count in zip(parts[::2], parts[1::2], strict=True)}
    if min(counts.values(), default=1) < 1:
        raise ValueError("a count is below 1")
    return counts


class _Evidence(NamedTuple):
    """What a word says: for each language, the log-probability of its n-grams, and how many of them are known.

    Single letters do not count in `known`, nor in `ngrams`, the number of all n-grams.
    """

    scores: tuple[float, ...]
    known: tuple[int, ...]
    ngrams: int


class LanguageProfile:
    """What texts in a few languages look like; `identify` chooses among these.

    Args:
        ngrams: The n-grams of each language with their counts, the most frequent first.
        words: The frequent words of languages without n-grams, which bundles of older versions lack.
    """

    def __init__(self, ngrams: Mapping[str, Mapping[str, int]], words: Sequence[WordEvidence] = ()) -> None:
        self.languages = tuple(ngrams)
        self._words = words
        self._log_probabilities = [_log_probabilities(each) for each in ngrams.values()]
        self._frequent = [frozenset(islice(each, PROFILE_SIZE)) for each in ngrams.values()]
        self._floor = min((value for each in self._log_probabilities for value in each.values()), default=0)
        self._floor -= math.log(2)
        self._evidence_of = lru_cache(maxsize=_CACHED_WORDS)(self._weigh)

    def rank(self, text: str) -> list[tuple[str, float]]:
        """The languages with their probabilities, see `identify`."""
        return self._rank_by_ngrams(text[:_READ]) or self._rank_by_words(text)

    def _rank_by_ngrams(self, text: str) -> list[tuple[str, float]]:
        words = [
            self._evidence_of(word) if len(word) <= _CACHED_LENGTH else self._weigh(word) for word in words_of(text)
        ]
        known = [sum(counts) for counts in zip(*(word.known for word in words), strict=True)]
        ngrams = sum(word.ngrams for word in words)
        if not words or max(known, default=0) < _MIN_KNOWN * ngrams:
            return []
        scores = [math.fsum(values) for values in zip(*(word.scores for word in words), strict=True)]
        ranked = _normalized(dict(zip(self.languages, (score / _DEPENDENCE for score in scores), strict=True)))
        is_familiar = len(words) < MIN_WORDS or max(known) >= _FAMILIAR * ngrams
        return ranked if is_familiar or not _is_foreign(text, ranked[0][0], self.languages) else []

    def _rank_by_words(self, text: str) -> list[tuple[str, float]]:
        """The languages by frequent words, each of which counts once."""
        words = set(words_of(text))
        scores: dict[str, float] = defaultdict(float)
        seen = False
        for source, target, evidence in self._words:
            nats = sum(evidence.get(word, 0.0) for word in words)
            seen = seen or any(word in evidence for word in words)
            scores[source] += nats / 2
            scores[target] -= nats / 2
        return _normalized(scores) if seen else []

    def _weigh(self, word: str) -> _Evidence:
        grams = list(ngrams_of_word(word))
        seen = [gram for gram in grams if any(gram in each for each in self._log_probabilities)]
        longer = [gram for gram in grams if len(gram) > 1]
        return _Evidence(
            scores=tuple(math.fsum(each.get(gram, self._floor) for gram in seen) for each in self._log_probabilities),
            known=tuple(sum(gram in each for gram in longer) for each in self._frequent),
            ngrams=len(longer),
        )


def _normalized(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    """Probabilities from logarithms, the highest first."""
    best = max(scores.values())
    weights = {language: math.exp(score - best) for language, score in scores.items()}
    total = sum(weights.values())
    return [(language, weight / total) for language, weight in sorted(weights.items(), key=lambda one: -one[1])]


def _is_foreign(text: str, likeliest: str, languages: Iterable[str]) -> bool:
    """Whether a text is probably in none of some languages.

    False if py3langid does not know the likeliest one, which it would take for a similar one.
    """
    if not is_known(likeliest):
        return False
    own = set(map(_label, languages))
    return math.fsum(share for code, share in _rank_all(text) if code in own) < MAX_PROBABILITY


def _rank_all(text: str) -> list[tuple[str, float]]:
    """The languages that py3langid knows with their probabilities, the highest first."""
    shares: dict[str, float] = defaultdict(float)
    for code, share in load_identifier().rank(text):
        shares[_label(code)] += float(share)
    return sorted(shares.items(), key=lambda one: -one[1])


@cache
def _label(language: str) -> str:
    """The code that stands for a language here: Norwegian without another name is Bokmål."""
    code = primary_language(language)
    return "no" if code == "nb" else code


def _pieces(texts: Iterable[str]) -> Iterator[str]:
    """Texts as pieces that are long enough to be identified."""
    piece = ""
    for text in texts:
        piece = f"{piece} {text}"
        if len(piece.encode(errors="replace")) > PIECE:
            yield piece
            piece = ""


@lru_cache(maxsize=4)
def stored_profile(profiles: tuple[tuple[str, str], ...]) -> LanguageProfile:
    """The profile of languages whose n-grams are stored, given the code and the line of each; see `read_profiles`."""
    return LanguageProfile(read_profiles(dict(profiles)))


def _log_probabilities(counts: Mapping[str, int]) -> dict[str, float]:
    total = sum(counts.values())
    return {gram: math.log(count / total) for gram, count in counts.items() if count > 0}


def ngrams_of_word(word: str) -> Iterator[str]:
    """The n-grams of a word with its borders."""
    padded = f"{_BORDER}{word}{_BORDER}"
    for length in range(1, LONGEST + 1):
        for begin in range(len(padded) - length + 1):
            gram = padded[begin : begin + length]
            if gram != _BORDER:
                yield gram
