"""Hypotheses, and a record of what a search considered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from dragoman.settings import Decoding

if TYPE_CHECKING:
    from torch import Tensor


class Cache(Protocol):
    """State of a model for a batch of hypotheses, one per row; the hypotheses of a sentence are adjacent."""

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, in this order (a row may be repeated), and these sentences (None: all)."""
        ...


class Decoder(Protocol):
    """A model that predicts token after token."""

    def start(self, source: Tensor) -> Any:
        """The cache to decode one hypothesis of each sentence, (sentences, source)."""
        ...

    def step(self, tokens: Tensor, cache: Any) -> Tensor:
        """Feed one token to every row, (rows,); returns the logits of the next token, (rows, vocabulary)."""
        ...


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation in ids.

    `tokens` contains neither bos nor eos; `log_probabilities` has one value per token and one for eos;
    `score` is their sum divided by the length penalty.
    """

    tokens: list[int]
    log_probabilities: list[float]
    score: float


def length_penalty(length: int, alpha: float) -> float:
    """The divisor of a hypothesis' log-probability, ((5 + length) / 6)^alpha (Wu et al. 2016, eq. 14)."""
    return float(((5.0 + length) / 6.0) ** alpha)


def max_target_length(source_length: int, settings: Decoding, model_limit: int) -> int:
    """Maximum length of the translation of a source of this length; both lengths include eos.

    Args:
        source_length: Number of tokens of the source.
        settings: max_length, max_length_ratio, max_length_offset.
        model_limit: Maximum length that the model supports.
    """
    by_source = int(source_length * settings.max_length_ratio) + settings.max_length_offset
    return max(1, min(by_source, settings.max_length, model_limit))


def finished_hypothesis(tokens: list[int], log_probabilities: list[float], alpha: float) -> Hypothesis:
    """A finished hypothesis with its score; the length in the penalty includes eos."""
    penalty = length_penalty(len(log_probabilities), alpha)
    return Hypothesis(tokens, log_probabilities, sum(log_probabilities) / penalty)


Status = Literal["kept", "ended", "dropped"]


@dataclass(frozen=True)
class Candidate:
    """One continuation of a hypothesis in a step.

    `tokens` are all tokens after bos, eos included if it is the last; `log_probability` is that of the last
    token, `score` the sum over all tokens. A kept candidate is continued in the next step. An ended one is a finished
    hypothesis, and `final` is its score divided by the length penalty. A dropped one is neither, because others were
    better or the search had ended.
    """

    tokens: tuple[int, ...]
    log_probability: float
    score: float
    status: Status
    final: float | None = None


class BeamTrace:
    """A record of a search: `steps` maps the index of a sentence to its steps, each with its candidates, best first.

    A step computes the beam_size + 1 best continuations of each hypothesis that the previous step kept; the
    2 * beam_size best of all of them are the candidates of the step. The parent of a candidate has the same tokens
    without the last.
    """

    def __init__(self, eos: int) -> None:
        self.eos = eos
        self.steps: defaultdict[int, list[list[Candidate]]] = defaultdict(list)

    def add(
        self,
        sentence: int,
        candidates: Iterable[tuple[list[int], float, float]],
        kept: Iterable[list[int]],
        ended: Iterable[Hypothesis],
    ) -> None:
        """Record a step of a sentence.

        Args:
            sentence: Its index in the batch.
            candidates: Tokens, log-probability of the last token and sum over all tokens, best first.
            kept: Tokens of the hypotheses that the next step continues.
            ended: The sentence's hypotheses that ended in this step or earlier.
        """
        alive = set(map(tuple, kept))
        finals = {tuple(each.tokens): each.score for each in ended}
        step = []
        for tokens, log_probability, score in candidates:
            whole = tuple(tokens)
            # eos ends a hypothesis once, so if this one has ended it was in this step
            final = finals.get(whole[:-1]) if whole[-1] == self.eos else None
            status: Status = "kept" if whole in alive else "dropped" if final is None else "ended"
            step.append(Candidate(whole, log_probability, score, status, final))
        self.steps[sentence].append(step)
