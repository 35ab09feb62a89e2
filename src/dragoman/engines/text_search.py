"""From texts to ids, through an engine, and back to translations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dragoman.bundle import Bundle
from dragoman.engines.fuzzy_memory import FuzzyMemory
from dragoman.engines.protocol import Copies, Engine
from dragoman.engines.scoring import Ids
from dragoman.errors import UserError, shortened
from dragoman.search.decode import by_expected_chrf
from dragoman.search.hypothesis import BeamTrace, Hypothesis, length_penalty
from dragoman.settings import Decoding
from dragoman.text.glossary import FoundTerm
from dragoman.text.masked_text import decode_with_spans, encode_masked, mask_texts, masking_of, reserved_ids, text_ids
from dragoman.text.masking import Mask
from dragoman.text.match import NO_MATCH, Match
from dragoman.text.multilingual import language_ids
from dragoman.text.term_marks import MarkedTerm, mark_terms
from dragoman.text.translation import Translation


@dataclass(frozen=True)
class SourceText:
    """A text to translate: its mask, its ids within the model's limit, and whether it is longer than that.

    `context` is what the model reads after the text, because of a `match` in a translation memory.
    """

    mask: Mask
    ids: list[int]
    truncated: bool
    context: list[int] = field(default_factory=list)
    match: Match = NO_MATCH

    @property
    def with_context(self) -> list[int]:
        """All that the model reads."""
        return [*self.ids, *self.context]


@dataclass(frozen=True)
class TextSearch:
    """Translates texts by an engine, which sees only ids.

    Spans that the bundle masks, such as placeholders, are replaced by reserved tokens before the search and restored
    after it. Hypotheses that contain each of them as often as the source are preferred. If there is none, the text is
    translated again by a search that allows no others.

    The model also reads the best match in `memory`, if there is one.
    """

    bundle: Bundle
    engine: Engine
    decoding: Decoding
    memory: FuzzyMemory | None = None

    def encode(self, texts: Sequence[str], prefixes: Sequence[str] | None = None) -> list[SourceText]:
        """The ids of texts; translations that begin with a prefix will keep its spaces."""
        limit, masks = self.engine.max_length - 1, mask_texts(self.bundle.source, texts)
        if prefixes and any(prefixes):
            masks = [replace(mask, keeps_spaces=bool(each)) for mask, each in zip(masks, prefixes, strict=True)]
        encoded = encode_masked(self.bundle.source, [mask.text for mask in masks])
        found = [self.memory.find(ids) if self.memory else ([], NO_MATCH) for ids in encoded]
        return [
            SourceText(mask, ids[:limit], len(ids) > limit, *match)
            for mask, ids, match in zip(masks, encoded, found, strict=True)
        ]

    def count_tokens(self, text: str) -> int:
        """The number of source tokens of a text, with eos; without a match of a translation memory."""
        (mask,) = mask_texts(self.bundle.source, [text])
        (ids,) = encode_masked(self.bundle.source, [mask.text])
        return len(ids) + 1

    def encode_with_terms(self, texts: Sequence[str], terms: Sequence[Sequence[FoundTerm]]) -> list[SourceText]:
        """The same with terms marked; without those that are a part of a span, and those of texts that are too long."""
        sources = self.encode(texts)
        marked = [_mark(source.mask, found) for source, found in zip(sources, terms, strict=True)]
        return [
            replace(source, ids=ids) if len(ids) + len(source.context) < self.engine.max_length else source
            for source, ids in zip(sources, encode_masked(self.bundle.source, marked), strict=True)
        ]

    def encode_targets(self, sources: Sequence[SourceText], targets: Sequence[str]) -> list[list[int]]:
        """The ids of translations, of any length, with the reserved tokens of their sources.

        An empty translation begins with the token of its language, too.
        """
        if masking_of(self.bundle.target):
            targets = [source.mask.apply(target) for source, target in zip(sources, targets, strict=True)]
        return [ids or language_ids(self.bundle.target) for ids in encode_masked(self.bundle.target, targets)]

    def encode_prefixes(self, sources: Sequence[SourceText], prefixes: Sequence[str]) -> list[list[int]]:
        """The ids of the beginnings of translations, with the reserved tokens of their sources.

        Raises:
            UserError: A prefix is longer than a translation may be.
        """
        encoded, limit = self.encode_targets(sources, prefixes), self.engine.max_length - 1
        for prefix, tokens in zip(prefixes, encoded, strict=True):
            if len(tokens) > limit:
                raise UserError(
                    f"the prefix {shortened(prefix)!r} has {len(tokens):,} tokens; a translation has at most {limit:,}"
                )
        return encoded

    def score(self, sources: Sequence[SourceText], targets: Sequence[str]) -> list[float]:
        """The log-probability of each translation, given its source, in nats, eos included.

        Tokens beyond the limit of the model are ignored.
        """
        limit, ids = self.engine.max_length - 1, [source.with_context for source in sources]
        encoded = [each[:limit] for each in self.encode_targets(sources, targets)]
        return [math.fsum(each.log_probabilities) for each in self.engine.score(ids, encoded)]

    def search(
        self, sources: Sequence[SourceText], prefixes: Sequence[Ids] | None = None, trace: BeamTrace | None = None
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each text, best first; none for a text without tokens.

        Args:
            sources: The texts.
            prefixes: What `encode_prefixes` returns for each; by default that of an empty prefix.
            trace: Records the beam search.

        Raises:
            UserError: The model computes probabilities that are not finite.
        """
        nonempty = [index for index, source in enumerate(sources) if source.ids]
        found: list[list[Hypothesis]] = [[] for _ in sources]
        prefixes = prefixes or [language_ids(self.bundle.target)] * len(sources)

        def translate(indices: list[int], copies: list[Copies] | None = None) -> None:
            ids = [sources[index].with_context for index in indices]
            forced = [prefixes[index] for index in indices] if any(prefixes) else None
            for index, hypotheses in zip(indices, self.engine.translate(ids, forced, trace, copies), strict=True):
                found[index] = self.require_probabilities(hypotheses)

        translate(nonempty)
        if faulty := [index for index in nonempty if not self._has_faultless(sources[index], found[index])]:
            if trace is not None:
                trace.steps.clear()
            translate(faulty, [self._copies(sources[index]) for index in faulty])
        return [self._rank(source, hypotheses) for source, hypotheses in zip(sources, found, strict=True)]

    def require_probabilities(self, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        """The hypotheses; a search in which all probabilities are NaN finds none, or one with the score NaN.

        Raises:
            UserError: There is none, or its score is NaN.
        """
        if not hypotheses or any(math.isnan(each.score) for each in hypotheses):
            raise UserError(
                f"{self.bundle.origin}: the probabilities of translations are not finite, because the weights are too "
                "large or damaged; copy the bundle again, or train it with a lower training.learning_rate"
            )
        return hypotheses

    def translation(self, source: SourceText, hypotheses: Sequence[Hypothesis]) -> Translation:
        """The first hypothesis with the others as alternatives."""
        if not hypotheses:
            return Translation("")
        first, *others = (self._translation(source, hypothesis) for hypothesis in hypotheses)
        return replace(first, alternatives=others) if others else first  # `replace` takes as long as all before it

    def _translation(self, source: SourceText, hypothesis: Hypothesis) -> Translation:
        tokens = [self.bundle.target.vocabulary.tokens[token] for token in hypothesis.tokens]
        masked = masking_of(self.bundle.target) is not None
        return Translation(
            text=decode_with_spans(self.bundle.target, hypothesis.tokens, source.mask),
            tokens=[source.mask.label(token) for token in tokens] if masked else tokens,
            log_probabilities=hypothesis.log_probabilities,
            log_probability=hypothesis.score * length_penalty(len(tokens) + 1, self.decoding.length_penalty),
            score=hypothesis.score,
            truncated=source.truncated,
            problems=self._problems(source, hypothesis),
            match=source.match,
        )

    def _problems(self, source: SourceText, hypothesis: Hypothesis) -> list[str]:
        if masking_of(self.bundle.source) is None:
            return []
        ours, theirs = self.bundle.source.vocabulary.tokens, self.bundle.target.vocabulary.tokens
        ids = text_ids(self.bundle.source, source.ids)
        return source.mask.problems((ours[each] for each in ids), (theirs[each] for each in hypothesis.tokens))

    def _has_faultless(self, source: SourceText, hypotheses: Sequence[Hypothesis]) -> bool:
        return masking_of(self.bundle.source) is None or not all(self._problems(source, each) for each in hypotheses)

    def _copies(self, source: SourceText) -> Copies:
        """The reserved tokens of a text: ids in the target vocabulary with their counts."""
        ours, theirs = reserved_ids(self.bundle.source), reserved_ids(self.bundle.target)
        ids = text_ids(self.bundle.source, source.ids)
        return {target: ids.count(index) for index, target in zip(ours, theirs, strict=True)}

    def _rank(self, source: SourceText, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        """The hypotheses to return, those without problems first; by their risk, for minimum Bayes risk decoding."""
        if self.decoding.mbr_samples:
            faultless = [each for each in hypotheses if not self._problems(source, each)] or hypotheses
            texts = [decode_with_spans(self.bundle.target, each.tokens, source.mask) for each in faultless]
            ranked = [faultless[index] for index, _ in by_expected_chrf(texts)]
        else:
            ranked = sorted(hypotheses, key=lambda each: bool(self._problems(source, each)))
        return ranked[: self.decoding.n_best]


def _mark(mask: Mask, found: Sequence[FoundTerm]) -> str:
    """A masked text with terms marked; their translations are masked, too."""
    places = {start: place for place, start in enumerate(mask.starts())}
    return mark_terms(
        mask.text,
        [
            MarkedTerm(places[start], places[end], mask.apply(term.target))
            for start, end, term in found
            if start in places and end in places
        ],
    )
