"""A BPE vocabulary that grows: new characters and merges for the text of another language, after the old ones.

The old tokens keep their ids, and the old merges come first. So old text is split nearly as before, and a model with
the old vocabulary only needs more rows in its embeddings.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from tokenizers import Tokenizer as Backend

from dragoman.text.masking import replace_reserved
from dragoman.text.normalization import replace_surrogates
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.subword_training import break_in

MIN_CHARACTER_COUNT, MIN_MERGE_COUNT = 5, 3
Merge = tuple[str, str]


def grow_subwords(
    tokenizer: SubwordTokenizer, texts: Iterable[str], merges: int, tokens: Sequence[str]
) -> SubwordTokenizer:
    """The tokenizer with more entries.

    Args:
        tokenizer: A tokenizer; a unigram model only gets `tokens`, because its probabilities would change.
        texts: Text of the new language.
        merges: The most merges to learn.
        tokens: Tokens that no text is split into, such as that of a language; the vocabulary gets those it lacks.
    """
    definition = tokenizer.to_json()["tokenizer"]
    if tokenizer.kind == "unigram":
        known = {token for token, _ in definition["model"]["vocab"]}
        new = [token for token in tokens if token not in known]
        definition["model"]["vocab"] += [[token, 0.0] for token in new]
        definition["pre_tokenizer"]["pretokenizers"].append(
            {"type": "Split", "pattern": {"Regex": break_in(new)}, "behavior": "MergedWithPrevious", "invert": False}
        )
        return _restored(tokenizer, definition)
    vocabulary: dict[str, int] = definition["model"]["vocab"]

    def add(entries: Iterable[str]) -> None:
        for entry in entries:
            vocabulary.setdefault(entry, len(vocabulary))

    add(tokens)
    words = _count_words(tokenizer, texts)
    characters = Counter[str]()
    for word, count in words.items():
        characters.update(dict.fromkeys(word, count))
    add(sorted(each for each, count in characters.items() if count >= MIN_CHARACTER_COUNT))
    split = _restored(tokenizer, definition)
    learned = _learn_merges({tuple(split.split_word(word)): count for word, count in words.items()}, merges, vocabulary)
    add("".join(merge) for merge in learned)
    definition["model"]["merges"] += [list(merge) for merge in learned]
    return _restored(tokenizer, definition)


def _restored(tokenizer: SubwordTokenizer, definition: dict[str, object]) -> SubwordTokenizer:
    backend = Backend.from_str(json.dumps(definition))
    return SubwordTokenizer(
        tokenizer.kind, tokenizer.pre_tokenizer, tokenizer.vocabulary.specials, backend, tokenizer.masking
    )


def _count_words(tokenizer: SubwordTokenizer, texts: Iterable[str]) -> Counter[str]:
    """How often each word occurs, as the tokenizer splits normalized text into words."""
    words: Counter[str] = Counter()
    for text in texts:
        words.update(tokenizer.split_words(tokenizer.normalize(replace_surrogates(replace_reserved(text)))))
    return words


def _learn_merges(words: dict[tuple[str, ...], int], size: int, known: Iterable[str]) -> list[Merge]:
    """The most frequent merges of neighboring subwords, one after another (Sennrich et al. 2016, algorithm 1).

    Args:
        words: Subwords of each word, and how often it occurs.
        size: The most merges.
        known: Entries of the vocabulary; no merge makes one of them.
    """
    forbidden, learned = set(known), list[Merge]()
    pieces, counts = [list(word) for word in words], list(words.values())
    totals: Counter[Merge] = Counter()
    places: defaultdict[Merge, set[int]] = defaultdict(set)
    for index, word in enumerate(pieces):
        for pair in pairwise(word):
            totals[pair] += counts[index]
            places[pair].add(index)
    while totals and len(learned) < size:
        best = max(totals, key=lambda pair: (totals[pair], pair))
        if totals[best] < MIN_MERGE_COUNT:
            break
        if (joined := "".join(best)) in forbidden or any(part.startswith("<0x") for part in best):
            del totals[best]
            continue
        learned.append(best)
        forbidden.add(joined)
        for index in sorted(places.pop(best)):
            word = pieces[index]
            for pair in pairwise(word):
                totals[pair] -= counts[index]
            place = 0
            while place < len(word) - 1:
                if (word[place], word[place + 1]) == best:
                    word[place : place + 2] = [joined]
                place += 1
            for pair in pairwise(word):
                totals[pair] += counts[index]
                places[pair].add(index)
        totals = (
            Counter({pair: count for pair, count in totals.items() if count > 0}) if len(learned) % 100 == 0 else totals
        )
    return learned
