"""Answers of a teacher: repaired, filtered, and counted."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from dragoman.corpus.pair import Languages
from dragoman.errors import shortened
from dragoman.languages.identify import other_language
from dragoman.synthesis.answers import REASONS, Read, Rejected, repair
from dragoman.synthesis.pair_checks import DESCRIBED_PAIRS, PairFilter
from dragoman.text.normalization import simplify

FIRST_SENTENCES = 100
"""After so many sentences, the share of rejected ones decides whether to go on."""

SAME = "same for many sentences"
"""The reason for an answer that is no translation, such as a message about a limit."""

SAME_SENTENCES, SAME_SOURCES = 500, 10
"""Of so many sentences in a row, at most so many different ones have the same translation.

In 20 corpora in 6 languages, there are 10 at most.
"""

_SHORT = 12
"""Letters of sources and answers that do not count: many short sentences are rightly translated as "Ja."."""

_SHOWN_EXAMPLES = 2

remember_repair = lru_cache(maxsize=4 * DESCRIBED_PAIRS)(repair)
"""The first answers are checked again when it is known what is usual."""


def check_answers(sources: Sequence[str], read: Sequence[Read], pair_filter: PairFilter) -> list[Read]:
    """Repair and check the translations of sentences that were numbered from 1."""
    checked: list[Read] = []
    for number, (source, answer) in enumerate(zip(sources, read, strict=True), start=1):
        repaired = (
            answer if isinstance(answer, Rejected) else remember_repair(source, answer, number, pair_filter.languages)
        )
        problem = None if isinstance(repaired, Rejected) else pair_filter.problem(source, repaired)
        checked.append(Rejected(problem, str(answer)) if problem else repaired)
    return checked


def text_of(answer: Read) -> str:
    """What was answered, even if it is rejected."""
    return answer.text if isinstance(answer, Rejected) else answer


@dataclass
class SameAnswers:
    """Finds answers that a teacher gives to many different sentences, those that are rejected anyway among them.

    Attributes:
        found: These answers.
    """

    found: set[str] = field(default_factory=set)
    _recent: deque[tuple[str, str]] = field(default_factory=deque)
    _sources: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, source: str, answer: Read) -> None:
        """Look at the next answer."""
        text, simple = text_of(answer), simplify(source)
        if not text or max(len(simple), len(simplify(text))) <= _SHORT:
            return
        self._recent.append((simple, text))
        self._sources.setdefault(text, Counter())[simple] += 1
        if len(self._sources[text]) > SAME_SOURCES:
            self.found.add(text)
        if len(self._recent) > SAME_SENTENCES:
            old, text = self._recent.popleft()
            sources = self._sources[text]
            sources[old] -= 1
            if not sources[old]:
                del sources[old]
            if not sources:
                del self._sources[text]

    def reject(self, answer: Read) -> Read:
        """The answer, or its rejection."""
        return Rejected(SAME, answer) if isinstance(answer, str) and answer in self.found else answer


@dataclass
class Rejections:
    """How many sentences were kept and rejected, with examples."""

    kept: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def add(self, source: str, answer: Read) -> None:
        """Count the answer for a sentence."""
        if not isinstance(answer, Rejected):
            self.kept += 1
            return
        self.counts[answer.reason] += 1
        examples = self.examples.setdefault(answer.reason, [])
        if len(examples) < _SHOWN_EXAMPLES:
            examples.append((source, answer.text))

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return self.kept + self.counts.total()

    @property
    def share(self) -> float:
        """The share of rejected sentences."""
        return self.counts.total() / max(1, self.sentences)

    def table(self) -> str:
        """The reasons, the most frequent first, with examples."""
        lines = []
        for reason, count in self.counts.most_common():
            meaning = f" ({REASONS[reason]})" if reason in REASONS else ""
            lines.append(f"  {count:>6,}  {reason}{meaning}")
            lines += [
                f"          {shortened(source)!r} → {shortened(' '.join(text.split()))!r}"
                for source, text in self.examples[reason]
            ]
        return "\n".join(lines)


def explain_language(translations: Sequence[str], languages: Languages) -> str | None:
    """What is wrong with the language of most translations; None if nothing is."""
    source, target = languages
    found = other_language(translations, target, source)
    return f"most translations look like {found}, not {target}" if found else None
