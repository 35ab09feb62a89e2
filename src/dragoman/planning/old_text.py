"""Text of the bundle that a training starts from, mixed into the new text so that less is forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from dragoman.corpus.corpus import find_corpora
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.errors import UserError, counted
from dragoman.planning.adaptation import StartingPoint
from dragoman.settings import CorpusReference, WeightedCorpus
from dragoman.settings.data import IMPORTED, LEAST_WEIGHT
from dragoman.system.progress import Log

OLD_SHARE = 1.0
"""Pairs of old text in an epoch for each new one. With half as many, a model lost 5.5 instead of 3.4 points of chrF on
old text, and its chrF on new text was 1.2 lower, in the same time."""

MOST_OLD_WEIGHT = 0.99
"""The largest weight of an old corpus. Validation pairs are held out of corpora with the weight 1, the new ones."""

MOST_PAIRS = 1_000_000
"""More old text than this takes long to prepare."""


def choose_old_text(
    start: StartingPoint,
    languages: Languages,
    new: Sequence[CorpusReference],
    pairs: int,
    data_directory: Path | None,
    log: Log,
) -> tuple[list[WeightedCorpus], float]:
    """The training corpora of a bundle, with low weights.

    Args:
        start: The bundle.
        languages: Those of the new training.
        new: The new training corpora, which are left out.
        pairs: The number of their pairs.
        data_directory: Mirror of the dataset catalog.
        log: Receives what is mixed in, and why a corpus is not: its file may have been replaced, for example.

    Returns:
        The corpora, and how many of their pairs an epoch has for each new one.
    """
    data, known = start.recipe.data, {_identify(each) for each in _find(new, languages, data_directory)}
    found: list[tuple[WeightedCorpus, int]] = []
    messages: list[str] = []
    try:
        if any(str(old.corpus).startswith(IMPORTED) for old in data.weighted):
            raise UserError("the bundle was imported, and its text is not known")
        if data.languages != languages:
            raise UserError(f"it is in {'-'.join(data.languages)}")
        for old in data.weighted:
            (corpus,) = _find([old.corpus], languages, data_directory)
            place = ", ".join(str(file.resolve()) for file in corpus.files) or corpus.name
            if _identify(corpus) in known:
                messages.append(f"not mixed in, because it is also new text: {place}")
            else:
                found.append((old, count := sum(pair.complete for pair in corpus.read())))
                if count:
                    messages.append(f"mixed in, as old text: {place}, {counted(count, 'pair')}")
        if (total := sum(count for _, count in found)) > MOST_PAIRS:
            raise UserError(f"it has {total:,} pairs; name some of them in data.train")
    except UserError as error:
        log(f"the training text of {start.path} is not mixed in, so the new translator will forget more of it: {error}")
        return [], 0.0
    for message in messages:
        log(message)
    found = [(old, count) for old, count in found if count]
    if not found:
        return [], 0.0
    highest = max(old.weight for old, _ in found)
    scale = OLD_SHARE * min(1.0, pairs * highest / sum(old.weight * count for old, count in found)) / highest
    weights = (min(MOST_OLD_WEIGHT, max(LEAST_WEIGHT, float(f"{scale * old.weight:.3g}"))) for old, _ in found)
    mixed = [old.model_copy(update={"weight": weight}) for (old, _), weight in zip(found, weights, strict=True)]
    return mixed, sum(each.weight * count for each, (_, count) in zip(mixed, found, strict=True)) / pairs


def _find(references: Sequence[CorpusReference], languages: Languages, data_directory: Path | None) -> list[Corpus]:
    source, target = languages
    return find_corpora(references, source_language=source, target_language=target, data_directory=data_directory)


def _identify(corpus: Corpus) -> object:
    """A key that is equal for corpora of the same text: the files, or the name if there are none."""
    return tuple(file.resolve() for file in corpus.files) or corpus.name


def text_in_common(new: Sequence[Pair], old: Sequence[Pair]) -> float:
    """How similar two texts are: about 1 for samples of the same text, and less than 0.6 for different subjects.

    Half of a text contains some of the pairs of neighboring words in its other half. It contains fewer of those in a
    different text; the result is the ratio. Of both directions, the lower one counts: a text about many subjects
    resembles each special one, but not the other way round.

    Args:
        new: Pairs of one text.
        old: Pairs of the other text.
    """
    return min(_resemblance(new, old), _resemblance(old, new), 1.0)


def _resemblance(pairs: Sequence[Pair], others: Sequence[Pair]) -> float:
    """The share of the word pairs of a text that half of another text contains, relative to that text's other half."""
    known = set(_word_pairs(others[::2]))
    shares = []
    for each in (pairs, others[1::2]):
        found = [word_pair in known for word_pair in _word_pairs(each)]
        shares.append(sum(found) / max(1, len(found)))
    share, usual = shares
    return share / usual if usual else 0.0


def _word_pairs(pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    """Pairs of neighboring words; of neighboring characters in texts without spaces, such as Chinese ones."""
    for pair in pairs:
        for text in (pair.source, pair.target):
            yield from pairwise(text.split() if " " in text.strip() else text)
