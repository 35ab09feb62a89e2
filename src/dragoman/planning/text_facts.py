"""What the choice of settings depends on: how much text there is, in which scripts, how similar, how long in tokens."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from dragoman.corpus.pair import Languages, Pair
from dragoman.dataset.pairs import find_training_corpora
from dragoman.dataset.prepare import tokens_per_word
from dragoman.errors import UserError, counted
from dragoman.languages.scripts import (
    HAN_OR_KANA,
    SCRIPTS_WITH_CASE,
    SCRIPTS_WITHOUT_SPACES,
    has_no_spaces,
    script_shares,
)
from dragoman.settings import Data, Text, Training, WeightedCorpus
from dragoman.system.resumable import grouped
from dragoman.text.registry import train_tokenizers
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.loop.state import rows_of_tokens

CHUNK = 10_000  # pairs that are counted at once
SAMPLE = 50_000  # pairs that are compared with their neighbors
MAX_SAMPLE = 4000  # pairs that are returned
LENGTH_GROUPS: int = Training.model_fields["length_groups"].default


@dataclass(frozen=True)
class SideFacts:
    """Facts about one side of the text."""

    characters: int
    words: int  # separated by white space
    script: str  # a name in `SCRIPTS`; "none" if there are no letters

    def scaled(self, factor: float) -> SideFacts:
        """The facts about a text that is longer by this factor."""
        return replace(self, characters=round(factor * self.characters), words=round(factor * self.words))

    @property
    def has_spaces(self) -> bool:
        """Whether white space separates the words."""
        return self.script not in (HAN_OR_KANA, *SCRIPTS_WITHOUT_SPACES)

    @property
    def has_case(self) -> bool:
        """Whether the script has capital letters."""
        return self.script in SCRIPTS_WITH_CASE


@dataclass(frozen=True)
class TextFacts:
    """Facts about parallel text, of pairs with text on both sides, each counted as often as an epoch contains it.

    Attributes:
        pairs: Their number.
        source: The sources.
        target: The targets.
        characters_per_subword: Of the targets, on average; 4 is typical of European languages.
        longer_side: The tokens of the longer side of each pair, which fills a batch, relative to those of the targets.
        typical_length: The mean length of the longer sides, in tokens; longer ones count more, as they fill more
            batches.
        mean_side: The mean of the tokens of both sides, which take the time, relative to those of the targets.
        similar_neighbors: Whether lines that follow each other have similar sources.
        old_share: Pairs of old text in an epoch for each of these, if training starts from a bundle.
        old_likeness: How similar the old text is, at most 1; see `text_in_common`.
        by_direction: Pairs in each direction of a model with several, each counted once.
        old_by_direction: The same of old text.
        weights: The sum of the weights of both.
        tokens_per_word: Of each language of such a model: far more than in the others, if its words are split up.
    """

    pairs: int
    source: SideFacts
    target: SideFacts
    characters_per_subword: float = 4.0
    longer_side: float = 1.2
    typical_length: float = 25.0
    mean_side: float = 1.0
    similar_neighbors: bool = False
    old_share: float = 0.0
    old_likeness: float = 0.0
    by_direction: dict[Languages, int] = field(default_factory=dict)
    old_by_direction: dict[Languages, int] = field(default_factory=dict)
    weights: dict[Languages, float] = field(default_factory=dict)
    tokens_per_word: dict[str, float] = field(default_factory=dict)

    def with_old_text(self, old: TextFacts, share: float, likeness: float) -> TextFacts:
        """The facts about this text, with old text in each epoch.

        Args:
            old: The old text, with its weights.
            share: Pairs of it for each of these.
            likeness: How similar it is.
        """
        directions = {**self.weights, **old.weights}
        return replace(
            self,
            old_share=share,
            old_likeness=likeness,
            old_by_direction=old.by_direction,
            weights={each: self.weights.get(each, 0) + old.weights.get(each, 0) for each in directions},
        )

    def with_pairs(self, number: int) -> TextFacts:
        """The facts about this text with `number` more pairs of the same length on average."""
        factor = (self.pairs + number) / self.pairs
        return replace(
            self, pairs=self.pairs + number, source=self.source.scaled(factor), target=self.target.scaled(factor)
        )

    @property
    def distinct_pairs(self) -> int:
        """The pairs of the text; a model with several directions reads each in both, so an epoch has twice as many."""
        return max(1, self.pairs // 2) if self.by_direction else self.pairs

    def count(self, what: str) -> str:
        """The number of pairs in words, such as "2 training pairs", or "4 training pairs in 2 directions"."""
        if not self.by_direction:
            return counted(self.pairs, what)
        return f"{counted(sum(self.by_direction.values()), what)} in {counted(len(self.by_direction), 'direction')}"

    @property
    def pairs_per_epoch(self) -> float:
        """The pairs that an epoch contains, with those of old text."""
        return self.pairs * (1 + self.old_share)

    @property
    def target_tokens(self) -> int:
        """An estimate of the number of subwords on the target side in an epoch."""
        return round((self.target.characters / self.characters_per_subword + self.pairs) * (1 + self.old_share))

    @property
    def computed_tokens(self) -> float:
        """An estimate of the tokens that an epoch computes on each side, on average."""
        return self.mean_side * self.target_tokens

    def epochs_in(self, minutes: float, tokens_per_second: float) -> float:
        """How often a machine of this speed reads the text in so many minutes."""
        return 60 * minutes * tokens_per_second / self.computed_tokens

    def minutes_for(self, epochs: float, tokens_per_second: float) -> float:
        """How many minutes a machine of this speed takes to read the text so often."""
        return epochs * self.computed_tokens / tokens_per_second / 60

    def steps_per_epoch(self, batch_tokens: int, length_groups: int = LENGTH_GROUPS) -> float:
        """An estimate of the number of batches in an epoch, with at most so many tokens on each side of a batch.

        A batch consists of groups of sentences of similar length, each with room for half a sentence more.
        """
        group = max(batch_tokens / length_groups - self.typical_length / 2, self.typical_length)
        return self.longer_side * self.target_tokens / (length_groups * group)

    @property
    def joint(self) -> bool:
        """Whether both sides have one vocabulary: they share a script, or all languages of several directions."""
        return bool(self.by_direction) or self.source.script == self.target.script


def collect_facts(
    corpora: Sequence[WeightedCorpus],
    languages: Languages,
    data_directory: Path | None,
    directions: Sequence[Languages] = (),
) -> tuple[TextFacts, list[Pair]]:
    """Read corpora once.

    In a model with several directions, each pair counts in each of its directions, so both sides are in all languages.

    Args:
        corpora: The corpora.
        languages: Source and target of corpora that state none.
        data_directory: Mirror of the dataset catalog.
        directions: Those of a model with several.

    Returns:
        The facts, with the defaults of what only tokenizers show, and a sample: some thousand pairs, evenly spread.

    Raises:
        UserError: A corpus is missing or damaged, or there is no pair with text on both sides.
    """
    read, pairs, sides = 0, 0.0, (_Counter(), _Counter())
    neighbors, sample = NeighborSimilarity(), _Sample()
    by_direction: Counter[Languages] = Counter()
    weights: dict[Languages, float] = defaultdict(float)
    for chunk, weight in _chunks(corpora, languages, data_directory, directions):
        for direction, number in Counter(pair.direction for pair in chunk if pair.direction).items():
            by_direction[direction] += number
            weights[direction] += weight * number
        if read < SAMPLE:
            neighbors.add([pair.source for pair in chunk if pair.direction == chunk[0].direction])
        read += len(chunk)
        pairs += weight * len(chunk)
        sample.add(chunk)
        for side, texts in zip(sides, ([pair.source for pair in chunk], [pair.target for pair in chunk]), strict=True):
            side.add(texts, weight)
    if not read:
        raise UserError("the training text has no pair with text on both sides")
    source = sides[0].facts([pair.source for pair in sample.pairs])
    target = sides[1].facts([pair.target for pair in sample.pairs])
    facts = TextFacts(max(1, round(pairs)), source, target, similar_neighbors=neighbors.similar)
    return replace(facts, by_direction=dict(by_direction), weights=dict(weights)), sample.pairs


def _chunks(
    corpora: Sequence[WeightedCorpus],
    languages: Languages,
    data_directory: Path | None,
    directions: Sequence[Languages],
) -> Iterator[tuple[list[Pair], float]]:
    """Complete pairs with their weight."""
    source, target = languages
    for weighted in corpora:
        data = Data(
            source_language=source,
            target_language=target,
            train=(weighted,),
            directions=_used(weighted, languages, directions),
        )
        for chunk in grouped(iter(find_training_corpora(data, data_directory)), CHUNK):
            yield chunk, weighted.weight


def _used(corpus: WeightedCorpus, languages: Languages, directions: Sequence[Languages]) -> tuple[Languages, ...]:
    """The directions that a corpus is used for; `languages` are those of one that states none."""
    stated = None if isinstance(corpus.corpus, str) else corpus.corpus.languages
    return tuple(each for each in directions if (stated or languages) in (each, each[::-1]))


class _Counter:
    """Counts of one side so far."""

    def __init__(self) -> None:
        self.characters = self.words = 0.0

    def add(self, texts: Sequence[str], weight: float) -> None:
        self.characters += weight * sum(map(len, texts))
        self.words += weight * sum(len(text.split()) for text in texts)

    def facts(self, sample: Sequence[str]) -> SideFacts:
        """The facts of the side, with the script of a sample of its texts."""
        script = next(iter(script_shares(sample)), "none")
        return SideFacts(round(self.characters), round(self.words), script)


class _Sample:
    """Every n-th pair; n is doubled whenever there are too many.

    In a model with several directions, every other pair is the one before in the opposite direction. There, n is
    tripled, so that it remains odd, and both directions remain.
    """

    def __init__(self) -> None:
        self.pairs: list[Pair] = []
        self._every, self._skipped = 1, 0

    def add(self, pairs: Sequence[Pair]) -> None:
        for pair in pairs:
            self._skipped += 1
            if self._skipped == self._every:
                self.pairs.append(pair)
                self._skipped = 0
        while len(self.pairs) > MAX_SAMPLE:
            step = 3 if self.pairs[0].direction else 2
            self.pairs = self.pairs[::step]
            self._every *= step


MAX_SHARE = 0.01  # of the lines; words in more of them say nothing about the subject
MIN_SIMILARITY = 0.02
MIN_FACTOR = 5.0
"""Similar neighbors share at least this many times as many words as lines that are far apart.

Measured: 34 and 102 in Tatoeba, 80 and 86 in LibreOffice, 25 in news, 11 in Europarl; at most 3.6 in three corpora
whose lines are in random order.
"""


class NeighborSimilarity:
    """Compares the rarer words of each line with those of the next line, and of a line that is far away."""

    def __init__(self) -> None:
        self._near: list[float] = []
        self._far: list[float] = []

    def add(self, texts: Sequence[str]) -> None:
        """Add lines that follow each other; some thousands are enough."""
        lines = [_units(text.casefold()) for text in texts]
        frequencies = Counter(word for line in lines for word in line)
        most = max(2, MAX_SHARE * len(lines))
        rarer = [frozenset(word for word in line if 1 < frequencies[word] <= most) for line in lines]
        distance = len(lines) // 2
        self._near += _similarities(rarer[:-1], rarer[1:])
        self._far += _similarities(rarer[: len(lines) - distance], rarer[distance:])

    @property
    def similar(self) -> bool:
        """Whether neighbors are similar."""
        near, far = (sum(values) / max(1, len(values)) for values in (self._near, self._far))
        return near > MIN_SIMILARITY and near > MIN_FACTOR * far


def _units(text: str) -> frozenset[str]:
    """The different words of a text; in scripts without spaces, the pairs of neighboring characters."""
    return frozenset(map("".join, pairwise(text)) if has_no_spaces([text]) else text.split())


def _similarities(lines: Sequence[frozenset[str]], others: Sequence[frozenset[str]]) -> list[float]:
    """The share of words that two lines have in common, for pairs of lines with such words."""
    return [
        len(one & other) / min(len(one), len(other)) for one, other in zip(lines, others, strict=True) if one and other
    ]


def train_on_sample(sample: Sequence[Pair], languages: Languages, settings: Text) -> tuple[Tokenizer, Tokenizer]:
    """Tokenizers of source and target, trained on some pairs of a text."""
    sources, targets = [pair.source for pair in sample], [pair.target for pair in sample]
    source_language, target_language = languages
    return train_tokenizers(
        sources, targets, settings, source_language=source_language, target_language=target_language
    )


def share_of_known_tokens(
    new: tuple[Tokenizer, Tokenizer], old: tuple[Tokenizer, Tokenizer], sample: Sequence[Pair]
) -> float:
    """The share of the tokens of a text, split by new tokenizers of source and target, that older vocabularies have.

    Args:
        new: The tokenizers that split the text.
        old: Those with the older vocabularies.
        sample: Pairs of the text.
    """
    texts = [pair.source for pair in sample], [pair.target for pair in sample]
    known = tokens = 0
    for split, other, side in zip(new, old, texts, strict=True):
        is_known = np.array([len(ids) == 1 for ids in rows_of_tokens(split, other)])
        ids = np.concatenate([np.asarray(each, dtype=int) for each in split.encode(side)])
        known += int(is_known[ids].sum())
        tokens += len(ids)
    return known / max(1, tokens)


def facts_with(facts: TextFacts, tokenizers: tuple[Tokenizer, Tokenizer], sample: Sequence[Pair]) -> TextFacts:
    """The facts with what the tokenizers of source and target show about some pairs of the text."""
    sources, targets = [pair.source for pair in sample], [pair.target for pair in sample]
    source_lengths, target_lengths = (
        np.array([len(ids) + 1 for ids in tokenizer.encode(texts)])  # with eos
        for tokenizer, texts in zip(tokenizers, (sources, targets), strict=True)
    )
    by_language: dict[str, list[str]] = defaultdict(list)
    for pair in sample:
        for code, text in zip(pair.direction or (), (pair.source, pair.target), strict=False):
            by_language[code].append(text)
    target_tokens = int(target_lengths.sum())
    longer = np.maximum(source_lengths, target_lengths)
    return replace(
        facts,
        characters_per_subword=sum(map(len, targets)) / max(1, target_tokens - len(targets)),
        longer_side=int(longer.sum()) / max(1, target_tokens),
        typical_length=float((longer**2).sum() / longer.sum()),
        mean_side=(int(source_lengths.sum()) + target_tokens) / max(1, 2 * target_tokens),
        tokens_per_word=tokens_per_word(tokenizers[0], by_language),
    )
