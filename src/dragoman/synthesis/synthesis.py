"""A text translated by a teacher: the requests, the pairs that remain, and an estimate of both."""

from __future__ import annotations

import math
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.writers import write_corpus
from dragoman.doctor.data.check import check_corpora
from dragoman.doctor.data.corpora import Corpora
from dragoman.errors import UserError, counted
from dragoman.evaluation.metrics import sentence_chrf
from dragoman.languages.codes import machine_translated
from dragoman.synthesis.answer_checks import (
    FIRST_SENTENCES,
    SAME,
    SAME_SENTENCES,
    Rejections,
    SameAnswers,
    check_answers,
    explain_language,
    text_of,
)
from dragoman.synthesis.answer_log import AnswerLog
from dragoman.synthesis.answers import Read, Rejected
from dragoman.synthesis.collect import (
    PARALLEL,
    Collector,
    Estimate,
    Parallelism,
    Price,
    Request,
    requests_of,
    spaced,
)
from dragoman.synthesis.pair_checks import DESCRIBED_PAIRS, PairFilter
from dragoman.synthesis.sentence_groups import SentenceGroup
from dragoman.synthesis.teachers import Teacher, TokenUsage
from dragoman.system.files import temporary_directory
from dragoman.system.progress import Log, Meter, Update, no_update
from dragoman.system.resumable import digest
from dragoman.text.noise import noise_translation

if TYPE_CHECKING:
    from dragoman.synthesis.back_translator import RoundTrip

WATCHED_SENTENCES, WATCHED_PART = 1000, 10
"""After so many sentences, one of so many answers is checked while others are requested; at the end, all are."""

PROMPTS = 500
"""So many prompts of a text are written to estimate the length of all."""

_ROUNDS, _LEAST_PART = 3, 10
"""For an estimate, each of the requests at once is sent so often, but no more than one of so many groups."""

_EXPECTED = {"duplicates"}
"""Findings of the doctor that are no mistake of the teacher: the text repeats lines."""


@dataclass
class AnsweredPairs:
    """The pairs in stored answers.

    Attributes:
        teacher: Reads the answers.
        answers: The answers.
        languages: Source and target.
        examples: Pairs by people, which show usual lengths and the target language; few of them have no effect.
        candidates: How many answers there are for each group.
        round_trip: Rejects translations that a translator of the other direction does not translate back.
        noise_seed: Chooses the noise that is added to translations; None for none.
    """

    teacher: Teacher
    answers: AnswerLog
    languages: Languages
    examples: Sequence[Pair] = ()
    candidates: int = 1
    round_trip: RoundTrip | None = None
    noise_seed: int | None = None
    rejections: Rejections = field(default_factory=Rejections)
    same: SameAnswers = field(default_factory=SameAnswers)

    def requests(self, groups: Iterable[SentenceGroup]) -> Iterator[Request]:
        """The requests for groups."""
        return requests_of(self._identity, groups, self.candidates)

    @cached_property
    def _identity(self) -> str:
        return digest(self.teacher.identity)

    def make(self, groups: Sequence[SentenceGroup]) -> Iterator[Pair]:
        """The pairs of the groups that have an answer, in order; `rejections` counts the others."""
        for source, answer in self.read(groups):
            if isinstance(answer, str):
                noised = answer if self.noise_seed is None else noise_translation(source, answer, self.noise_seed)
                yield Pair(source, noised)

    def read(self, groups: Sequence[SentenceGroup]) -> Iterator[tuple[str, Read]]:
        """The sentences of the groups that have an answer, with their translations; `rejections` counts them."""
        self.rejections, self.same = Rejections(), SameAnswers()
        ahead: deque[tuple[str, Read]] = deque()  # an answer is only known to be the same for many after these
        for source, read in self._read_all(groups):
            self.same.add(source, read)
            ahead.append((source, read))
            if len(ahead) > SAME_SENTENCES:
                yield self._count(*ahead.popleft())
        for source, read in ahead:
            yield self._count(source, read)

    def _count(self, source: str, read: Read) -> tuple[str, Read]:
        answer = self.same.reject(read)
        self.rejections.add(source, answer)
        return source, answer

    def _read_all(self, groups: Sequence[SentenceGroup]) -> Iterator[tuple[str, Read]]:
        pair_filter = self.fit(groups)
        for group in groups:
            if (read := self.read_group(group, pair_filter)) is not None:
                yield from zip(group.sentences, self._veto(group, read), strict=True)

    def fit(self, groups: Iterable[SentenceGroup]) -> PairFilter:
        """The filter that compares with the answers themselves, in which most translations are right."""
        pairs: list[Pair] = []
        plain = PairFilter(self.languages, in_any_language=True)
        for group in groups:
            read = self.read_group(group, plain)
            for source, answer in zip(group.sentences, read or (), strict=False):
                if isinstance(answer, str):
                    pairs.append(Pair(source, answer))
            if len(pairs) >= DESCRIBED_PAIRS:
                break
        return PairFilter.compared_with(pairs, self.languages, self.examples)

    def read_group(self, group: SentenceGroup, pair_filter: PairFilter) -> list[Read] | None:
        """The best checked translation of each sentence; None without an answer."""
        columns: list[list[Read]] = []
        for request in self.requests([group]):
            if (answer := self.answers.get(request.name)) and answer.failure:
                columns.append([Rejected("refused by the server", answer.failure)] * len(group.sentences))
            elif answer:
                columns.append(check_answers(group.sentences, self.teacher.read(answer, group), pair_filter))
        return [choose_candidate(each) for each in zip(*columns, strict=True)] if columns else None

    def forget_same(self, groups: Iterable[SentenceGroup], same: SameAnswers) -> int:
        """Forget answers that many sentences have in common, such as a message about a limit; returns their number."""
        plain = PairFilter(self.languages, in_any_language=True)
        forgotten = 0
        for group in groups if same.found else ():
            for request in self.requests([group]):
                answer = self.answers.get(request.name)
                if answer is None or answer.failure:
                    continue
                read = check_answers(group.sentences, self.teacher.read(answer, group), plain)
                if same.found.issuperset(map(text_of, read)):
                    self.answers.forget(request.name, SAME)
                    forgotten += 1
        return forgotten

    def _veto(self, group: SentenceGroup, read: Sequence[Read]) -> list[Read]:
        if self.round_trip is None:
            return list(read)
        places = [index for index, each in enumerate(read) if isinstance(each, str)]
        texts = [str(read[index]) for index in places]
        rejected = self.round_trip.is_rejected(texts, [group.sentences[index] for index in places])
        vetoed = {index: text for index, text, veto in zip(places, texts, rejected, strict=True) if veto}
        return [Rejected("round trip", vetoed[index]) if index in vetoed else each for index, each in enumerate(read)]


def choose_candidate(candidates: Sequence[Read]) -> Read:
    """The candidate that agrees best with the others, by mean chrF; the first rejection if all are rejected."""
    texts = [each for each in candidates if isinstance(each, str)]
    if len(set(texts)) < 2:
        return texts[0] if texts else candidates[0]
    scores = [
        sum(sentence_chrf([text] * len(texts), texts)) - 100.0  # with itself
        for text in texts
    ]
    return texts[scores.index(max(scores))]


@dataclass(frozen=True)
class WrittenPairs:
    """What was written: the number of pairs, what was rejected, and what the doctor found in the rest."""

    pairs: int
    rejections: Rejections
    findings: Sequence[str]

    def __str__(self) -> str:
        rejected = self.rejections.counts.total()
        sentences = counted(self.rejections.sentences, "sentence")
        return f"{counted(self.pairs, 'pair')} from {sentences}, {rejected:,} rejected ({self.rejections.share:.1%})"


@dataclass(frozen=True)
class SynthesisSettings:
    """How a teacher is asked, and which answers are kept.

    Attributes:
        examples: Pairs by people, which show usual lengths and the target language.
        candidates: How many answers there are for each group.
        round_trip: Rejects translations that a translator of the other direction does not translate back.
        parallel: The most requests at once.
        price: What the teacher costs.
        most_cost: No request is sent that would probably make the answers cost more.
        max_rejected: The share of rejected sentences above which no more is asked, and nothing is written.
        seconds: The time for all answers.
        noise_seed: Chooses the noise that is added to translations; None for none.
    """

    examples: Sequence[Pair] = ()
    candidates: int = 1
    round_trip: RoundTrip | None = None
    parallel: int = PARALLEL
    price: Price | None = None
    most_cost: float = math.inf
    max_rejected: float = 0.3
    seconds: float = math.inf
    noise_seed: int | None = None


def open_synthesis(
    teacher: Teacher,
    languages: Languages,
    groups: Sequence[SentenceGroup],
    answers: AnswerLog,
    settings: SynthesisSettings,
    log: Log,
    stop: Callable[[], bool] = lambda: False,
) -> Synthesis:
    """What translates groups.

    Args:
        teacher: The teacher.
        languages: Source and target.
        groups: The text.
        answers: Stores the answers.
        settings: How to ask.
        log: Receives messages.
        stop: Whether to send no more requests.
    """
    pairs = AnsweredPairs(
        teacher,
        answers,
        languages,
        settings.examples,
        settings.candidates,
        settings.round_trip,
        settings.noise_seed,
    )
    end = time.monotonic() + settings.seconds
    collector = Collector(
        teacher, answers, log, stop, Parallelism(settings.parallel), settings.price, settings.most_cost, end
    )
    return Synthesis(pairs, groups, collector, settings.max_rejected)


@dataclass
class Synthesis:
    """Asks a teacher for a text, and stops if its answers are bad.

    Attributes:
        pairs: Reads the answers.
        groups: The text.
        collector: Asks for it.
        max_rejected: The share of rejected sentences above which it stops.
    """

    pairs: AnsweredPairs
    groups: Sequence[SentenceGroup]
    collector: Collector
    max_rejected: float

    def run(self, update: Update) -> bool:
        """Ask for what has no stored answer; returns whether everything is answered.

        Raises:
            UserError: The server refuses a request or is gone, or more than `max_rejected` of the sentences so far are
                rejected; what it has answered stays stored.
        """
        requests, answers = list(self.pairs.requests(self.groups)), self.pairs.answers
        total = sum(len(each.group.sentences) for each in requests if each.candidate == 0)
        collector = self.collector
        meter = Meter(
            lambda share, text: update(share, f"{text}{self._describe_usage()}"), "translating", total, unit="lines"
        )
        stored = [each for each in requests if each.name in answers]
        if len(answers):
            others = len(answers) - len({each.name for each in stored})
            unused = f"; {others:,} others are of another teacher, text or prompt" if others else ""
            collector.log(f"{answers.path}: {counted(len(stored), 'stored answer')} of {len(requests):,}{unused}")
        meter.advance(sum(len(each.group.sentences) for each in stored if not each.candidate), skipped=True)
        watch = _Watch(self.pairs, self.max_rejected)
        for request, _ in collector.collect(requests):
            meter.advance(len(request.group.sentences) if not request.candidate else 0)
            with self._forgetting(watch.same):
                watch.answered(request)
        return self.is_answered()

    @contextmanager
    def _forgetting(self, same: SameAnswers) -> Iterator[None]:
        """If too many answers are rejected, forget those that are a message: the server may translate again later."""
        try:
            yield
        except UserError as error:
            if not (forgotten := self.pairs.forget_same(self.groups, same)):
                raise
            again = f"{counted(forgotten, 'request')} with one answer for many sentences"
            raise UserError(f"{error}\n{again} will be sent again") from None

    def is_answered(self) -> bool:
        """Whether everything is answered."""
        return all(each.name in self.pairs.answers for each in self.pairs.requests(self.groups))

    def _describe_usage(self) -> str:
        text = self.collector.describe_usage()
        return f", {text}" if text else ""

    def estimate(self, sentences: int) -> tuple[Estimate, list[SentenceGroup]]:
        """What the whole text will take, and the sample of it that was translated to find out.

        Tokens that are sent grow with the characters of the prompts, and the rest with those of the sentences. The time
        is that of the requests, and that of checking and writing afterwards.

        Args:
            sentences: The least size of the sample.
        """
        collector, pairs, groups = self.collector, self.pairs, list(self.groups)
        at_once = -(-collector.parallelism.most // pairs.candidates)  # groups
        rounds = min(max(1, len(groups) // (_LEAST_PART * at_once)), _ROUNDS)
        sample = spaced(groups, max(-(-sentences // max(1, pairs.teacher.size)), 1 + rounds * at_once))
        speed = collector.measure(list(pairs.requests(sample)))
        sample = [group for group in sample if all(each.name in pairs.answers for each in pairs.requests([group]))]
        requests, used = list(pairs.requests(sample)), pairs.answers.usage
        characters = pairs.candidates * sum(group.characters for group in groups)
        factor = characters / max(1, used.characters)
        prompts = spaced(groups, PROMPTS)
        sent = sum(map(pairs.teacher.sent_characters, prompts)) * pairs.candidates * len(groups) / max(1, len(prompts))
        sampled = sum(pairs.teacher.sent_characters(each.group) for each in requests)
        usage = TokenUsage(
            pairs.candidates * len(groups),
            round(used.input_tokens * sent / max(1, sampled)),
            round(used.output_tokens * factor),
            characters,
            used.estimated,
        )
        cost = collector.price.cost(usage, pairs.teacher.counts_tokens) if collector.price else None
        seconds = speed.seconds_for(usage.requests) + self._seconds_to_finish(sample)
        return Estimate(usage.requests, usage, seconds, cost), sample

    def _seconds_to_finish(self, sample: Sequence[SentenceGroup]) -> float:
        """The time for checking all answers, which grows with the text, and for the doctor, which hardly does.

        Those that `_Watch` has seen are remembered, and were checked while the server worked.
        """
        list(self.pairs.read(sample[:1]))  # what is only loaded once does not count
        times = []
        for _ in ("new", "remembered"):
            started = time.monotonic()
            list(self.pairs.read(sample))
            times.append(time.monotonic() - started)
        sentences = sum(len(group.sentences) for group in self.groups)
        watched = min(1.0, WATCHED_SENTENCES / sentences)
        watched += (1 - watched) / WATCHED_PART
        checks = ((1 - watched) * times[0] + watched * times[1]) * len(self.groups) / max(1, len(sample))
        started = time.monotonic()
        with temporary_directory() as directory, suppress(UserError):  # no pair is left
            self._write(sample, directory / "sample.tsv")
        return checks + time.monotonic() - started

    def write(self, output: Path, *, marked: bool = True, update: Update = no_update) -> WrittenPairs:
        """Write the pairs of all stored answers, and check the file as `dragoman doctor data` does.

        Args:
            output: The file, or a pattern with ``{lang}``.
            marked: Whether the file states that it is machine-translated.
            update: Receives progress.

        Raises:
            UserError: No pair is left, more than `max_rejected` is rejected, or the file cannot be written.
        """
        return self._write(self.groups, output, marked=marked, update=update)

    def _write(
        self, groups: Sequence[SentenceGroup], output: Path, *, marked: bool = True, update: Update = no_update
    ) -> WrittenPairs:
        source, target = self.pairs.languages
        stated = machine_translated(target, source) if marked else target
        total = sum(len(group.sentences) for group in groups)
        made = Meter(update, "checking and writing", total).track(self._make(groups))
        first = next(made, None)
        if first is None and not self.pairs.rejections.sentences:
            reason = "; a request would cost more than --max-cost" if self.collector.limit_reached else ""
            raise UserError(f"{output}: not written, because nothing is translated{reason}")
        if first is None:
            raise UserError(f"{output}: not written, because no pair is left:\n{self.pairs.rejections.table()}")
        count, _ = write_corpus(chain([first], made), str(output), (source, stated))
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            examining = Meter(update, "examining", count)
            findings = check_corpora(Corpora(source, target, [str(output)]), on_read=examining.advance)
        shown = [str(each) for each in findings if each.severity != "note" and each.code not in _EXPECTED]
        return WrittenPairs(count, self.pairs.rejections, shown)

    def _make(self, groups: Sequence[SentenceGroup]) -> Iterator[Pair]:
        """The pairs; raises UserError at the end if too many were rejected."""
        yield from self.pairs.make(groups)
        if self.pairs.rejections.kept:
            with self._forgetting(self.pairs.same):
                refuse_many_rejected(self.pairs.rejections, self.max_rejected)


def refuse_many_rejected(rejections: Rejections, most: float) -> None:
    """Raises UserError if more than a share of the sentences is rejected."""
    if rejections.share > most:
        raise UserError(
            f"{rejections.counts.total():,} of {rejections.sentences:,} translations are rejected, more than "
            f"{most:.0%}; use another teacher, or another prompt (--prompt) for a language model, or accept it with "
            f"--max-rejected:\n{rejections.table()}"
        )


@dataclass
class _Watch:
    """Looks at the first answers, and then at each further one, whether too many are rejected."""

    pairs: AnsweredPairs
    max_rejected: float
    groups: list[SentenceGroup] = field(default_factory=list)
    pair_filter: PairFilter | None = None
    seen: Rejections = field(default_factory=Rejections)
    same: SameAnswers = field(default_factory=SameAnswers)
    answers: int = 0

    def answered(self, request: Request) -> None:
        """Raises UserError if too many sentences are rejected."""
        if self.pairs.candidates > 1 and not all(
            each.name in self.pairs.answers for each in self.pairs.requests([request.group])
        ):
            return
        self.answers += 1
        if self.seen.sentences > WATCHED_SENTENCES and self.answers % WATCHED_PART:
            return
        self.groups.append(request.group)
        sentences = sum(len(each.sentences) for each in self.groups)
        if self.pair_filter is None and sentences < FIRST_SENTENCES:
            return
        is_first = self.pair_filter is None
        pair_filter = self.pair_filter = self.pair_filter or self.pairs.fit(self.groups)
        kept = [text for group in self.groups for text in self._count(group, pair_filter)]
        self.groups = []
        if is_first and (problem := explain_language(kept, self.pairs.languages)):
            raise UserError(f"{problem}; use another teacher, or another prompt (--prompt) for a language model")
        refuse_many_rejected(self.seen, self.max_rejected)

    def _count(self, group: SentenceGroup, pair_filter: PairFilter) -> Iterator[str]:
        """Count the translations of a group, and yield those that are kept."""
        for source, read in zip(group.sentences, self.pairs.read_group(group, pair_filter) or (), strict=False):
            self.same.add(source, read)
            answer = self.same.reject(read)
            self.seen.add(source, answer)
            if isinstance(answer, str):
                yield answer
