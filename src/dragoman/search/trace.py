"""A record of what a beam search considered, kept and dropped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from dragoman.search.hypothesis import Hypothesis

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
