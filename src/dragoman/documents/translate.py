"""Translating texts of any length, and documents."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import tee
from typing import TYPE_CHECKING

from dragoman.bundle import require_direction
from dragoman.doctor.input import MUCH_LONGER, OTHER_LANGUAGE, LanguageChecker, TrainingText
from dragoman.doctor.output.text_checks import EMPTY, check_sentence
from dragoman.documents.copied_spans import attach_accelerator, check_spans, misplaced_tags, restore_spans
from dragoman.documents.segment import Content, Segment, SegmentedDocument, with_glossary
from dragoman.documents.sentences import (
    PlainText,
    WholeLines,
    divide,
    find_in_memory,
    find_spans_of_lines,
    find_text_spans,
    has_words,
    join_links,
    join_parts,
    with_invisible,
)
from dragoman.errors import UserError
from dragoman.evaluation.confidence import Confidence
from dragoman.explanation.alignment import align
from dragoman.system.resumable import grouped
from dragoman.text.link import Link
from dragoman.text.match import EXACT_MATCH
from dragoman.text.normalization import remove_invisible
from dragoman.text.quantities import check_quantities
from dragoman.text.term_matcher import TermMatcher, missing_terms
from dragoman.text.translation import Translation
from dragoman.translator import WINDOW, Translator, pair_with_prefixes, translate_together

if TYPE_CHECKING:
    from dragoman.corpus.memory import TranslationMemory
    from dragoman.documents.terms import TermSearch
    from dragoman.text.glossary import Glossary

_MEMORY_SAMPLE = 200
"""Segments of a translation memory whose language is checked, at least."""


class TextTranslator:
    """Translates texts of several sentences and documents with a translator of sentences.

    >>> translate = dragoman.TextTranslator(dragoman.load("runs/multi30k-de-en"))
    >>> translate("Ein Hund läuft. Eine Frau liest.")

    Args:
        translator: The translator of sentences.
        glossary: Terms that the translations must use.
        memory: Segments whose translation is known. The model reads the translations of similar ones if it was trained
            with such matches.

    Raises:
        UserError: The bundle is damaged, its direction is not stated, or `translator` is something else.
    """

    def __init__(
        self, translator: Translator, glossary: Glossary | None = None, memory: TranslationMemory | None = None
    ) -> None:
        if not isinstance(translator, Translator):
            raise UserError(f"{translator!r}: must be a translator, as dragoman.load returns")
        if memory:
            translator = translator.with_memory(memory)
        self.translator, self.glossary, self.memory = translator, glossary, memory
        bundle, data = translator.bundle, translator.bundle.recipe.data
        require_direction(bundle)
        self.source_language, self.target_language = data.source_language, data.target_language
        self._trained = trained = bundle.table("training_text", TrainingText)
        self.follows_glossaries = trained is not None and trained.terms > 0
        """Whether the model learned to use given terms, in the form that a sentence needs."""
        self._language = trained and LanguageChecker(trained, self.source_language, self.target_language)
        self._confidence = bundle.table("confidence", Confidence)
        bundle.attention_rows()  # a bundle that cannot align is refused before it translates
        if memory and self._language:
            self._check_direction(memory)
        self._masks = translator.bundle.source.masking is not None
        self._longest = MUCH_LONGER * trained.longest if trained else math.inf
        self.whole_lines: WholeLines = (trained is not None and trained.has_paragraphs) or memory or False
        """True if the translator was trained with several sentences per line, so that lines are not split.

        Otherwise, only texts that the memory contains are not split.
        """

    @cached_property
    def _matcher(self) -> TermMatcher:
        return TermMatcher.of(self.source_language, self.target_language)

    @cached_property
    def _term_search(self) -> TermSearch:
        from dragoman.documents.terms import TermSearch
        from dragoman.text.word_forms import form_finder

        forms = form_finder(self.target_language, self._trained.target_words if self._trained else "")
        return TermSearch(self.translator, self._matcher, forms, marks=self.follows_glossaries)

    def __call__(self, text: str) -> str:
        """Translate a plain text; spaces, line breaks, and the bullets and numbers of lists are kept.

        Raises:
            UserError: The text is not a string.
        """
        if not isinstance(text, str):
            raise UserError(f"cannot translate {text!r}: pass one string; for several texts, call it for each of them")
        return self.translate(PlainText(text, self.source_language, self.whole_lines))

    def translate(self, document: SegmentedDocument[Content]) -> Content:
        """Translate a document."""
        return document.assemble(self.translate_segments(document.segments))

    def translate_segments(self, segments: Sequence[Segment]) -> list[Translation]:
        """The translation of each segment, in order. Equal segments are translated once."""
        given = self._divide_segments(segments)
        return self._finish(segments, given, self._search(given.distinct))

    def stream(self, lines: Iterable[str], window: int = WINDOW) -> Iterator[Translation]:
        """Translate any number of lines in constant memory, in order; `window` lines are batched together.

        The translation of a line with several sentences joins those of its sentences: `text`, `tokens`,
        `log_probabilities`, `problems` and `terms` follow each other, `log_probability` and `score` are sums,
        `confidence` is the lowest, and the first alternative joins the first alternatives of all sentences. A line
        without a letter or a number is its own translation, and so is one without a letter if the model does not mask
        numbers. Numbers of lists are found as in a text of the lines that are batched together. A string with several
        lines is divided into them.

        Raises:
            UserError: A line is not a string, or `window` is below 1.
        """
        for group in grouped(pair_with_prefixes(lines, None), window):
            texts = [line for line, _ in group]
            spans = self._find_sentences(texts)
            sentences = [Segment(line[a:b]) for line, each in zip(texts, spans, strict=True) for a, b in each]
            found = iter(self.translate_segments(sentences))
            for line, each in zip(texts, spans, strict=True):
                yield join_parts(line, each, [next(found) for _ in each])

    def _find_sentences(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The start and the end of each sentence of each text, which usually is a line."""
        of_lines = find_spans_of_lines(texts, self.source_language, self.whole_lines)
        return [
            list(find_text_spans(text, self.source_language, self.whole_lines)) if "\n" in text.strip() else spans
            for text, spans in zip(texts, of_lines, strict=True)
        ]

    def continue_prefixes(
        self, lines: Iterable[str], prefixes: Iterable[str], window: int = WINDOW
    ) -> Iterator[Translation]:
        """Translate lines, given how each translation begins; they are neither split into sentences nor divided.

        Raises:
            UserError: As `Translator.stream`.
        """
        given, lines = tee(lines)
        for found, line in zip(self.translator.stream(given, prefixes, window), lines, strict=True):
            yield self.judge(Segment(line), found)

    def _divide_segments(self, segments: Sequence[Segment]) -> _Divided:
        """What the memory translates, and the parts that the model must translate.

        Invisible characters, which text from PDF files and word processors contains, would spoil translations.
        """
        visible = [replace(each, text=remove_invisible(each.text), aligned=False) for each in segments]
        plain = [
            replace(each, glossary=None) if each.glossary and not self._matcher.find(each.text, each.glossary) else each
            for each in (with_glossary(visible, self.glossary) if self.glossary else visible)
        ]
        exact = {
            one: known
            for one in dict.fromkeys(plain)
            if (known := (self._find_exact(one, self.memory) if self.memory else None) or self._copy(one))
        }
        spans = {segment: self.divide(segment.text) for segment in plain if segment not in exact}
        parts = {one: [replace(one, text=one.text[start:end]) for start, end in spans[one]] for one in spans}
        return _Divided(
            plain, exact, spans, parts, list(dict.fromkeys(part for each in parts.values() for part in each))
        )

    def _finish(
        self, segments: Sequence[Segment], given: _Divided, searched: Iterable[Translation]
    ) -> list[Translation]:
        """The translation of each segment, given what the model found for the distinct parts.

        If the model does not mask spans, those that it lost are put back.
        """
        found = list(map(attach_accelerator, (part.text for part in given.distinct), searched))
        if not self._masks:
            languages = self.source_language, self.target_language
            found = restore_spans(given.distinct, found, languages, self._search, self._find_links)
        divided = list(zip(segments, self._join(given, found), strict=True))
        pairs = list(dict.fromkeys(pair for segment, each in divided if segment.aligned for pair in each.pairs))
        found_links = self._find_links([source for source, _ in pairs], [target for _, target in pairs])
        links = dict(zip(pairs, found_links, strict=True))
        return [
            replace(each.joined, links=with_invisible(segment.text, each.join_links(links)))
            if segment.aligned
            else each.joined
            for segment, each in divided
        ]

    def _join(self, given: _Divided, translations: Sequence[Translation]) -> list[_DividedText]:
        """The translation of each segment, given those of the distinct parts."""
        found = dict(zip(given.distinct, translations, strict=True))
        divided = {
            one: _DividedText(one.text, [(0, len(one.text))], [each.text], each) for one, each in given.exact.items()
        }
        for one, parts in given.parts.items():
            of_parts = [found[part] for part in parts]
            joined = self.judge(one, join_parts(one.text, given.spans[one], of_parts))
            if EMPTY in joined.problems:  # the text stays as it is, rather than disappear from a document
                joined, of_parts = replace(joined, text=one.text), [Translation(part.text) for part in parts]
            divided[one] = _DividedText(one.text, given.spans[one], [part.text for part in of_parts], joined)
        return [divided[segment] for segment in given.segments]

    def _check_direction(self, memory: TranslationMemory) -> None:
        """Warn of a memory that is probably in the other direction, in which nothing would be found."""
        assert self._language
        sample = list(memory.segments.items())[:: max(1, len(memory) // _MEMORY_SAMPLE)]
        wrong, right = (
            sum((self._language.find_other(text) or ("",))[0] == "target-language" for text in side)
            for side in zip(*sample, strict=True)
        )
        if wrong > right:
            warnings.warn(
                f"the translation memory seems to be in the other direction: {wrong:,} of {len(sample):,} segments "
                f"look like {self.target_language}; exchange its sides",
                stacklevel=3,
            )

    def _find_exact(self, segment: Segment, memory: TranslationMemory) -> Translation | None:
        """The translation of a segment in the memory, which is not judged; terms that it lacks are its problems."""
        target = find_in_memory(memory, segment.text)
        if target is None:
            return None
        terms = self._matcher.check(segment.text, segment.glossary, target) if segment.glossary else []
        return Translation(target, terms=terms, problems=missing_terms(terms), match=EXACT_MATCH)

    def _copy(self, segment: Segment) -> Translation | None:
        """A segment without a letter as its own translation, if the model would have to translate its numbers."""
        has_letter = any(map(str.isalpha, segment.text))
        return None if self._masks or has_letter or not has_words(segment.text) else Translation(segment.text)

    def _search(self, parts: Sequence[Segment]) -> list[Translation]:
        """The translation of each part by the model, with the terms of the glossary if it contains some."""
        if any(part.glossary for part in parts):
            return self._term_search.translate(parts)
        return self.translator.text_search.translate([part.text for part in parts])

    def _find_links(self, sources: Sequence[str], targets: Sequence[str]) -> list[tuple[Link, ...]]:
        """The links of translations; none for a long text of the memory, which is not divided."""
        return align(self.translator.bundle, self.translator.engine, sources, targets) if sources else []

    def judge(self, segment: Segment, translation: Translation) -> Translation:
        """The translation of a segment with its confidence, its terms and all its problems."""
        text = segment.text
        check = check_quantities if self._masks else check_spans
        copied = check(text, translation.text, (self.source_language, self.target_language))
        terms = self._matcher.check(text, segment.glossary, translation.text) if segment.glossary else []
        problems = [
            *dict.fromkeys([*(translation.problems if self._masks else ()), *copied]),
            *(misplaced_tags(text, translation.text) if "</" in translation.text else ()),
            *(missing_terms(terms) if terms else ()),
            *check_sentence(text, translation.text, self._trained),
        ]
        if self._language and self._language.find_other(text):
            problems.append(OTHER_LANGUAGE)
        confidence = None
        if self._confidence and all(term.used == "not" for term in terms):  # a term may be improbable, but right
            confidence = self._confidence.estimate(translation.log_probability, len(translation.tokens))
        return replace(translation, problems=problems, confidence=confidence, terms=terms)

    def divide(self, text: str) -> list[tuple[int, int]]:
        """The start and the end of the parts of a text that are translated separately; one part if it is short."""
        return divide(text, self._fits)

    def _fits(self, text: str) -> bool:
        """Whether the model can translate a text at once; placeholders that it masks count as one character."""
        limit = min(self._longest, self.translator.source_limit)
        if len(text.encode("utf-8", "surrogatepass")) < limit:  # at most a token for each byte and the start
            return True
        (mask,) = self.translator.bundle.source.mask([text])
        return len(mask.text) <= self._longest and not self.translator.is_too_long(text)


def translate_mixed(work: Sequence[tuple[TextTranslator, Sequence[Segment]]]) -> list[list[Translation]]:
    """The translations of segments in several directions of a model, which are in the same batches of its engine.

    Args:
        work: The segments of each direction; the engine of all directions is the same.
    """
    given = [texts._divide_segments(segments) for texts, segments in work]
    plain = [place for place, each in enumerate(given) if not any(part.glossary for part in each.distinct)]
    searches = [work[place][0].translator.text_search for place in plain]
    sentences = [[part.text for part in given[place].distinct] for place in plain]
    searched = dict(zip(plain, translate_together(searches, sentences), strict=True)) if plain else {}
    translated = []
    for place, (texts, segments) in enumerate(work):
        found = searched[place] if place in searched else texts._search(given[place].distinct)
        translated.append(texts._finish(segments, given[place], found))
    return translated


@dataclass(frozen=True)
class _Divided:
    """Segments, of which a memory has translated some and the others are divided.

    Attributes:
        segments: All segments, as they are translated.
        exact: The translations of the memory.
        spans: The start and the end of each part of the others.
        parts: These parts.
        distinct: All different parts.
    """

    segments: list[Segment]
    exact: dict[Segment, Translation]
    spans: dict[Segment, list[tuple[int, int]]]
    parts: dict[Segment, list[Segment]]
    distinct: list[Segment]


@dataclass(frozen=True)
class _DividedText:
    """A text, the translation of each of its parts, and all of them together."""

    text: str
    spans: Sequence[tuple[int, int]]
    translations: Sequence[str]
    joined: Translation

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each part with its translation."""
        parts = [self.text[start:end] for start, end in self.spans]
        return list(zip(parts, self.translations, strict=True))

    def join_links(self, links: Mapping[tuple[str, str], tuple[Link, ...]]) -> tuple[Link, ...]:
        """The links of the text, given those of each part."""
        return join_links(self.text, self.spans, self.translations, [links[pair] for pair in self.pairs])
