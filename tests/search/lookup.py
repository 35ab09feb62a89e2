"""Models small enough to search completely: one that looks its logits up, and a tiny Transformer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from random import Random

import torch
from torch import Tensor

from dragoman.model.build import build_model
from dragoman.model.cache import KVCache
from dragoman.model.transformer import Transformer
from dragoman.search.beam import beam_search
from dragoman.search.decode import decode, decode_single
from dragoman.search.hypothesis import BeamTrace, Hypothesis
from dragoman.search.logits_processors import Constraints
from dragoman.settings import Decoding, Model

BOS, EOS, VOCABULARY = 0, 1, 5
WORDS = (2, 3, 4)
Prefix = tuple[int, ...]


@cache
def lookup(sentence: int, prefix: Prefix) -> list[float]:
    """Random logits that depend on the sentence and on every token since bos."""
    random = Random(f"{sentence} {prefix}")
    return [random.gauss(0.0, 1.5) for _ in range(VOCABULARY)]


@dataclass
class LookupCache:
    """The tokens that each row has read; selects like a KVCache."""

    sentences: list[int]
    prefixes: list[Prefix] = field(init=False)
    owners: list[int] = field(init=False)  # the sentence each row began as

    def __post_init__(self) -> None:
        self.prefixes = [() for _ in self.sentences]
        self.owners = list(self.sentences)

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep rows and sentences; the rows of a sentence must be adjacent."""
        self.prefixes = [self.prefixes[row] for row in rows.tolist()]
        self.owners = [self.owners[row] for row in rows.tolist()]
        if sentences is not None:
            self.sentences = [self.sentences[sentence] for sentence in sentences.tolist()]
        width = len(self.owners) // max(len(self.sentences), 1)
        assert self.owners == [sentence for sentence in self.sentences for _ in range(width)]


class LookupTask:
    """A decoder of sentences that are numbers, on which the logits depend; it counts the rows that it sees."""

    def __init__(self) -> None:
        self.rows_seen: list[int] = []

    def start(self, source: Tensor) -> LookupCache:
        """A cache for these sentences, (sentences,)."""
        return LookupCache(source.tolist())

    def step(self, tokens: Tensor, cache: LookupCache) -> Tensor:
        """Logits of the next token of each row, (rows, vocabulary)."""
        assert tokens.shape == (len(cache.prefixes),)
        self.rows_seen.append(len(tokens))
        cache.prefixes = [(*prefix, token) for prefix, token in zip(cache.prefixes, tokens.tolist(), strict=True)]
        assert all(prefix[0] == BOS for prefix in cache.prefixes)
        return torch.tensor([lookup(*row) for row in zip(cache.owners, cache.prefixes, strict=True)])

    def logits(self, sentence: int, prefix: Prefix) -> list[float]:
        """Of the token after bos and this prefix."""
        return lookup(sentence, (BOS, *prefix))


class TransformerTask:
    """Sentences of a tiny Transformer; a sentence is the number that its source depends on."""

    def __init__(self) -> None:
        self.pad = 0
        settings = Model(d_model=8, heads=2, d_ff=8, encoder_layers=1, decoder_layers=2, dropout=0.0, max_length=16)
        self.model: Transformer = build_model(settings, VOCABULARY, VOCABULARY, self.pad, seed=1).eval()
        generator = torch.Generator().manual_seed(2)
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.add_(torch.empty_like(parameter).normal_(std=0.3, generator=generator))

    def source(self, sentence: int) -> list[int]:
        """Between 2 and 6 ids."""
        random = Random(sentence)
        return [random.randrange(1, VOCABULARY) for _ in range(1 + sentence % 5)] + [EOS]

    def start(self, source: Tensor) -> KVCache:
        """A cache for these sentences, (sentences,)."""
        sources = [self.source(sentence) for sentence in source.tolist()]
        longest = max(map(len, sources))
        return self.model.start(torch.tensor([each + [self.pad] * (longest - len(each)) for each in sources]))

    def step(self, tokens: Tensor, cache: KVCache) -> Tensor:
        """Logits of the next token of each row, (rows, vocabulary)."""
        return self.model.step(tokens, cache)

    def logits(self, sentence: int, prefix: Prefix) -> list[float]:
        """Of the token after bos and this prefix, by a full forward pass."""
        source, target = torch.tensor([self.source(sentence)]), torch.tensor([[BOS, *prefix]])
        with torch.inference_mode():
            values: list[float] = self.model(source, target)[0, -1].tolist()
        return values


Task = LookupTask | TransformerTask


def continuations(task: Task, sentence: int, prefix: Prefix) -> dict[int, float]:
    """The log-probability of each next token when bos cannot be produced."""
    logits = task.logits(sentence, prefix)
    total = math.log(sum(math.exp(logits[token]) for token in (EOS, *WORDS)))
    return {token: logits[token] - total for token in (EOS, *WORDS)}


def log_probabilities_of(task: Task, sentence: int, tokens: Sequence[int]) -> list[float]:
    """Of each token and of eos."""
    return [continuations(task, sentence, tuple(tokens[:length]))[token] for length, token in enumerate((*tokens, EOS))]


def score_of(log_probabilities: Sequence[float], alpha: float) -> float:
    """Wu et al. 2016, eq. 14, without the coverage."""
    return sum(log_probabilities) / math.pow((5 + len(log_probabilities)) / 6, alpha)


def every_hypothesis(task: Task, sentence: int, max_length: int, alpha: float) -> list[tuple[float, list[int]]]:
    """Score and tokens of every possible hypothesis, best first."""
    sequences = [list(words) for length in range(max_length) for words in product(WORDS, repeat=length)]
    scored = [(score_of(log_probabilities_of(task, sentence, tokens), alpha), tokens) for tokens in sequences]
    return sorted(scored, reverse=True)


def plain_beam(
    task: Task, sentence: int, beam_size: int, max_length: int, alpha: float
) -> tuple[list[tuple[float, list[int]]], int]:
    """Beam search by its definition: score and tokens of what has ended, best first, and the steps it took.

    It stops once beam_size hypotheses have ended, even if no other could win any more.
    """
    live: list[tuple[float, Prefix]] = [(0.0, ())]
    ended: list[Prefix] = []
    steps = 0
    while len(ended) < beam_size and steps < max_length:
        steps += 1
        extended = sorted(
            (
                (total + value, (*prefix, token))
                for total, prefix in live
                for token, value in continuations(task, sentence, prefix).items()
                if token == EOS or steps < max_length
            ),
            reverse=True,
        )
        ended += [tokens[:-1] for _, tokens in extended[:beam_size] if tokens[-1] == EOS]
        live = [each for each in extended if each[1][-1] != EOS][:beam_size]
    scored = [(score_of(log_probabilities_of(task, sentence, tokens), alpha), list(tokens)) for tokens in ended]
    return sorted(scored, reverse=True), steps


def constraints(max_lengths: Sequence[int], prefixes: Tensor | None = None) -> Constraints:
    """Constraints under which bos is never chosen."""
    return Constraints(BOS, EOS, [BOS], torch.tensor(max_lengths), prefixes)


@torch.inference_mode()
def beam(
    task: Task,
    sentences: Sequence[int],
    beam_size: int,
    max_lengths: Sequence[int],
    *,
    n_best: int = 1,
    alpha: float = 1.0,
    prefixes: Tensor | None = None,
    trace: BeamTrace | None = None,
) -> list[list[Hypothesis]]:
    """Beam search that never chooses bos."""
    settings = Decoding(beam_size=beam_size, n_best=n_best, length_penalty=alpha)
    cache = task.start(torch.tensor(sentences))
    return beam_search(task, cache, settings, constraints(max_lengths, prefixes), trace)


@torch.inference_mode()
def greedy(
    task: Task,
    sentences: Sequence[int],
    max_lengths: Sequence[int],
    alpha: float = 1.0,
    prefixes: Tensor | None = None,
) -> list[Hypothesis]:
    """Greedy search that never chooses bos."""
    settings = Decoding(beam_size=1, length_penalty=alpha)
    return decode_single(task, task.start(torch.tensor(sentences)), settings, constraints(max_lengths, prefixes))


def decode_with(
    task: Task,
    sentences: Sequence[int],
    max_lengths: Sequence[int],
    settings: Decoding,
    prefixes: Tensor | None = None,
    trace: BeamTrace | None = None,
) -> list[list[Hypothesis]]:
    """The search that the settings ask for, which never chooses bos."""
    return decode(task, torch.tensor(sentences), settings, constraints(max_lengths, prefixes), trace)


def assert_same(ours: Sequence[Hypothesis], theirs: Sequence[Hypothesis]) -> None:
    """The same tokens, and the same numbers up to rounding."""
    assert [each.tokens for each in ours] == [each.tokens for each in theirs]
    for our, their in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our.log_probabilities, their.log_probabilities, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(our.score, their.score, rtol=1e-4, atol=1e-5)
