"""The tokenizers of a recipe, trained on its training pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

from dragoman.corpus.pair import Pair
from dragoman.dataset.split import Split
from dragoman.languages.scripts import has_dotted_capital
from dragoman.settings import Recipe, Text
from dragoman.system.progress import Meter, Update
from dragoman.text.augmentation import TEXT_CHANGES
from dragoman.text.known_characters import CharacterCounts
from dragoman.text.masking import Masking, without_reserved
from dragoman.text.number_forms import NumberCounts
from dragoman.text.registry import train_tokenizers
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.usual_case import CaseCounts

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
    data, size = recipe.data, sample_size(recipe.text, split.at_most)
    meter = Meter(update, "reading text for the vocabulary", 2 * size)
    numbers, characters, cases = NumberCounts(), CharacterCounts(), CaseCounts()

    def sample(counted: bool = False) -> Iterator[Pair]:
        pairs = meter.track(sample_evenly(split.training, split.at_most, size))
        return with_capitals(mask(pairs, counted) if recipe.text.placeholders else pairs, recipe)

    def mask(pairs: Iterable[Pair], counted: bool) -> Iterator[Pair]:
        for pair in pairs:
            masked = Pair(*Masking().mask_pair(pair.source, pair.target))
            if counted:
                numbers.add(pair.source, pair.target)
                characters.add(source := without_reserved(masked.source))
                cases.add(source)
            yield masked

    def targets() -> Iterator[str]:
        yield from (pair.target for pair in sample(counted=True))
        update(1.0, "training the tokenizers …")

    sources = (pair.source for pair in sample())
    languages = {"source_language": data.source_language, "target_language": data.target_language}
    source, target = train_tokenizers(sources, targets(), recipe.text, **languages)
    if recipe.text.placeholders:
        has_plain_i = not any(map(has_dotted_capital, languages.values()))
        case = cases.usual() if has_plain_i and not recipe.text.lowercase else None
        masking = Masking(numbers.as_text(), characters.known(source.normalize), numbers.with_exchange(), case)
        masked = source.with_masking(masking)
        return masked, masked if target is source else target.with_masking(masking)
    return source, target


def sample_size(text: Text, number: int) -> int:
    """How many of a number of pairs the vocabulary is trained on: subwords need only a sample, words all."""
    return min(number, text.subword_pairs) if text.tokenizer in ("bpe", "unigram") else number


def sample_evenly(pairs: Iterable[Pair], number: int, size: int) -> Iterator[Pair]:
    """`size` of a number of pairs, evenly spread; all if there are fewer."""
    return (pair for index, pair in enumerate(pairs) if (index + 1) * size // number > index * size // number)


def with_capitals(pairs: Iterable[Pair], recipe: Recipe) -> Iterator[Pair]:
    """The same pairs, some of them in upper case and title case: the shares in `training.augmentation`."""
    augmentation, generator = recipe.training.augmentation, Random(0)
    languages = recipe.data.source_language, recipe.data.target_language
    for pair in pairs:
        number = generator.random() - augmentation.upper_case
        kind = "upper_case" if number < 0 else "title_case" if number < augmentation.title_case else None
        yield pair if kind is None else Pair(*TEXT_CHANGES[kind](pair.source, pair.target, languages, ""))
