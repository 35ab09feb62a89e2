"""The tokenizers of a recipe, trained on its training pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from random import Random
from typing import TypeVar

from dragoman.corpus.pair import Languages, Pair
from dragoman.dataset.split import Split, first_directions, is_counted
from dragoman.languages.scripts import has_dotted_capital
from dragoman.settings import Augmentation, Recipe, Text
from dragoman.system.progress import Meter, Update
from dragoman.text.augmentation import TEXT_CHANGES
from dragoman.text.known_characters import CharacterCounts
from dragoman.text.masking import Masking, without_reserved
from dragoman.text.multilingual import MultilingualTokenizer, grow, name_direction
from dragoman.text.number_forms import NumberCounts
from dragoman.text.registry import train_multilingual, train_tokenizers
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.usual_case import CaseCounts

Key = TypeVar("Key", bound=Hashable)
Tokenizers = tuple[Tokenizer, Tokenizer]
"""Of source and target."""


def train_on_split(recipe: Recipe, split: Split, update: Update) -> Tokenizers:
    """Train the tokenizers of a recipe on a sample of the training pairs; all sources are read before the targets.

    As many pairs are in capital letters as in training. Otherwise such text would be split into single characters. With
    text.placeholders, the spans of the sample are masked, and its numbers, characters and words decide what is
    masked and written as usual later. Turkish and the like are not, because capital I is there another letter.

    Raises:
        UserError: The vocabulary is too small for what it must hold.
    """
    if recipe.data.directions:
        return _train_on_directions(recipe, split, update)
    data, size = recipe.data, sample_size(recipe.text, split.at_most)
    meter = Meter(update, "reading text for the vocabulary", 2 * size)
    counts = MaskingCounts()

    def sample(counted: bool = False) -> Iterator[Pair]:
        pairs = meter.track(sample_evenly(split.training, split.at_most, size))
        return with_capitals(mask(pairs, counted) if recipe.text.placeholders else pairs, recipe)

    def mask(pairs: Iterable[Pair], counted: bool) -> Iterator[Pair]:
        for pair in pairs:
            masked = Pair(*Masking().mask_pair(pair.source, pair.target))
            if counted:
                counts.add(pair, masked.source)
            yield masked

    def targets() -> Iterator[str]:
        yield from (pair.target for pair in sample(counted=True))
        update(1.0, "training the tokenizers …")

    sources = (pair.source for pair in sample())
    languages = {"source_language": data.source_language, "target_language": data.target_language}
    source, target = train_tokenizers(sources, targets(), recipe.text, **languages)
    if recipe.text.placeholders:
        masking = counts.masking(source, data.languages, recipe.text.lowercase)
        masked = source.with_masking(masking)
        return masked, masked if target is source else target.with_masking(masking)
    return source, target


class MaskingCounts:
    """Counts of the text of a direction, which decide what is masked in it and how its words are usually written."""

    def __init__(self) -> None:
        self._numbers, self._characters, self._cases = NumberCounts(), CharacterCounts(), CaseCounts()

    def add(self, pair: Pair, masked_source: str) -> None:
        """Count a pair, whose source is also given with masked spans."""
        self._numbers.add(pair.source, pair.target)
        self._characters.add(source := without_reserved(masked_source))
        self._cases.add(source)

    def masking(self, tokenizer: Tokenizer, languages: Languages, lowercase: bool) -> Masking:
        """What is masked; in Turkish and the like, sentences in capital letters are left alone."""
        has_plain_i = not any(map(has_dotted_capital, languages))
        case = self._cases.usual() if has_plain_i and not lowercase else None
        known = self._characters.known(tokenizer.normalize)
        return Masking(self._numbers.as_text(), known, self._numbers.with_exchange(), case)


def _train_on_directions(recipe: Recipe, split: Split, update: Update) -> Tokenizers:
    """The tokenizers of a model with several directions; the sample is balanced, see `text.temperature`."""
    texts, counts = _read_directions(recipe, split, update)
    update(1.0, "training the tokenizers …")
    return _with_maskings(recipe, train_multilingual(texts, recipe.text), counts)


GROWTH = 0.15
"""The most entries that a vocabulary gets for another language, relative to those that it has."""


def grow_on_split(recipe: Recipe, split: Split, tokenizers: Tokenizers, update: Update) -> Tokenizers:
    """The tokenizers of a bundle with the languages of a recipe, of which they lack some.

    Raises:
        UserError: The vocabulary cannot grow.
    """
    texts, counts = _read_directions(recipe, split, update)
    update(1.0, "adding subwords to the vocabulary …")
    known = known_languages(tokenizers[0])
    grown = grow(tokenizers, {code: found for code, found in texts.items() if code not in known}, GROWTH)
    return _with_maskings(recipe, grown, counts)


def known_languages(tokenizer: Tokenizer) -> list[str]:
    """The languages that have a token."""
    return list(tokenizer.tokens) if isinstance(tokenizer, MultilingualTokenizer) else []


def _read_directions(
    recipe: Recipe, split: Split, update: Update
) -> tuple[dict[str, list[str]], dict[Languages, MaskingCounts]]:
    """A balanced sample of the text of each language, and counts of each direction."""
    data, text = recipe.data, recipe.text
    first = first_directions(data)
    lines = Counter(code for pair in split.training if is_counted(pair, first) for code in pair.direction or ())
    wanted = balance(lines, text.temperature, min(lines.total(), 2 * text.subword_pairs))
    counts = {direction: MaskingCounts() for direction in data.directions}
    texts: dict[str, list[str]] = {language: [] for language in data.all_languages}
    seen: Counter[str] = Counter()
    generator = Random(0)
    for pair in Meter(update, "reading text for the vocabulary", split.at_most).track(split.training):
        if pair.direction is None or not is_counted(pair, first):
            continue
        copies = [copies_of(seen[code], lines[code], wanted[code]) for code in pair.direction]
        seen.update(pair.direction)
        if not any(copies):
            continue
        if text.placeholders:
            masked_source, masked_target = Masking().mask_pair(pair.source, pair.target)
            masked = pair._replace(source=masked_source, target=masked_target)
            for way, masked_way in ((pair, masked), (pair.reversed, masked.reversed)):
                if way.direction in counts:
                    counts[way.direction].add(way, masked_way.source)
        else:
            masked = pair
        written = with_random_capitals(masked, pair.direction, recipe.training.augmentation, generator)
        for code, number, side in zip(pair.direction, copies, (written.source, written.target), strict=True):
            texts[code] += [side] * number
    return texts, counts


def _with_maskings(
    recipe: Recipe,
    tokenizers: tuple[MultilingualTokenizer, MultilingualTokenizer],
    counts: Mapping[Languages, MaskingCounts],
) -> Tokenizers:
    """The tokenizers with what is masked in each direction, for the first direction."""
    source, target = tokenizers
    if recipe.text.placeholders:
        lowercase = recipe.text.lowercase
        maskings = {name_direction(each): one.masking(source, each, lowercase) for each, one in counts.items()}
        source.maskings, target.maskings = {**source.maskings, **maskings}, {**target.maskings, **maskings}
    languages = recipe.data.languages
    return source.with_direction(languages, "source"), target.with_direction(languages, "target")


def balance(counts: Mapping[Key, float], temperature: float, total: float) -> dict[Key, float]:
    """How much of each of several texts is seen, in total `total`: in proportion to n^(1/temperature).

    Args:
        counts: How much there is of each.
        temperature: 1 keeps the proportions of the texts; higher values make them equal.
        total: The sum of the result.
    """
    shares = {key: count ** (1 / temperature) for key, count in counts.items()}
    scale = total / max(1e-9, sum(shares.values()))
    return {key: scale * share for key, share in shares.items()}


def copies_of(index: int, number: int, wanted: float) -> int:
    """How often one of a number of texts is in an evenly spread sample of the size `wanted`, which may be larger."""
    return int((index + 1) * wanted / number) - int(index * wanted / number)


def sample_size(text: Text, number: int) -> int:
    """How many of a number of pairs the vocabulary is trained on: subwords need only a sample, words all."""
    return min(number, text.subword_pairs) if text.tokenizer in ("bpe", "unigram") else number


def sample_evenly(pairs: Iterable[Pair], number: int, size: int) -> Iterator[Pair]:
    """`size` of a number of pairs, evenly spread; all if there are fewer."""
    return (pair for index, pair in enumerate(pairs) if (index + 1) * size // number > index * size // number)


def with_capitals(pairs: Iterable[Pair], recipe: Recipe) -> Iterator[Pair]:
    """The same pairs, some of them in upper case and title case: the shares in `training.augmentation`."""
    generator = Random(0)
    return (
        with_random_capitals(pair, recipe.data.languages, recipe.training.augmentation, generator) for pair in pairs
    )


def with_random_capitals(pair: Pair, languages: Languages, augmentation: Augmentation, generator: Random) -> Pair:
    """The pair, in upper case or title case with the probabilities in `training.augmentation`."""
    number = generator.random() - augmentation.upper_case
    kind = "upper_case" if number < 0 else "title_case" if number < augmentation.title_case else None
    return pair if kind is None else Pair(*TEXT_CHANGES[kind](pair.source, pair.target, languages, ""))
