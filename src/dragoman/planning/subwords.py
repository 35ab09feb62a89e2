"""How long text is in subwords, measured with tokenizers of a sample of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dragoman.corpus.pair import Languages, Pair
from dragoman.planning.choose import choose_text
from dragoman.planning.text_facts import TextFacts
from dragoman.settings import Text
from dragoman.text.registry import train_tokenizers
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.loop.initial_weights import rows_of_tokens


def measure_subwords(
    facts: TextFacts, sample: Sequence[Pair], languages: Languages, settings: Text | None = None
) -> TextFacts:
    """The facts with the length of the sample in subwords, split by tokenizers with these settings.

    Measured characters per subword: 3.4 to 4.5 in German, English and Hindi corpora, 3.7 in Czech, 2.2 in Korean, 2.1
    in Japanese and 1.6 in Chinese interface texts. The sample gives 0 to 4 % more than the whole text in four corpora
    of up to 176,000 pairs, because its words are in the vocabulary.

    Args:
        facts: The text.
        sample: Some of its pairs.
        languages: Source and target.
        settings: Those of the tokenizers; by default, they are chosen for the text.
    """
    settings = settings or Text.model_validate({choice.key: choice.value for choice in choose_text(facts)})
    return facts_with(facts, train_on_sample(sample, languages, settings), sample)


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
    target_tokens = int(target_lengths.sum())
    longer = np.maximum(source_lengths, target_lengths)
    return replace(
        facts,
        characters_per_subword=sum(map(len, targets)) / max(1, target_tokens - len(targets)),
        longer_side=int(longer.sum()) / max(1, target_tokens),
        typical_length=float((longer**2).sum() / longer.sum()),
        mean_side=(int(source_lengths.sum()) + target_tokens) / max(1, 2 * target_tokens),
    )
