"""Translations with what the page shows of each word: its probability, what it translates, and other words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from dragoman.documents.segment import Segment
from dragoman.documents.translate import TextTranslator
from dragoman.explanation.alignment import align, read_words
from dragoman.explanation.page.data import page_data
from dragoman.explanation.page.render import render_page
from dragoman.text.match import EXACT_MATCH
from dragoman.text.translation import Translation

_ALTERNATIVES = 8
_TOO_LONG = "is too long for other words: it was translated in parts"


@dataclass(frozen=True)
class PrefixedSegment(Segment):
    """A segment, and how its translation must begin."""

    prefix: str = ""


@dataclass(frozen=True)
class TargetWord:
    """A word of a translation: its characters, and its probability given the words before it."""

    start: int
    end: int
    probability: float


@dataclass(frozen=True)
class SegmentInWords(Translation):
    """The translation of a segment with its words."""

    words: tuple[TargetWord, ...] = ()


class WordTranslator:
    """Answers the page. Each method is a `TranslateSegments`, so that the scheduler can queue its work.

    Probabilities and links are computed by more passes of the model, because not every engine returns them.

    Args:
        texts: The translator.
    """

    def __init__(self, texts: TextTranslator) -> None:
        self._texts = texts
        self._translator, self._bundle = texts.translator, texts.translator.bundle
        self._search = self._translator.text_search

    def translate(self, segments: Sequence[Segment]) -> list[Translation]:
        """The translations of segments with their links, and with their words unless they are too long for one pass."""
        plain = [Segment(segment.text, aligned=True, glossary=segment.glossary) for segment in segments]
        found = self._texts.translate_segments(plain)
        for index, (segment, prefix) in enumerate(_with_prefixes(segments)):
            if prefix and self._is_undivided(segment.text):
                (translation,) = self._translator.stream([segment.text], [prefix])
                judged = self._texts.judge(segment, translation)
                (links,) = align(self._bundle, self._translator.engine, [segment.text], [judged.text])
                found[index] = replace(judged, links=links)
            elif prefix:
                found[index] = replace(found[index], problems=[*found[index].problems, _TOO_LONG])
        words = self._words([segment.text for segment in segments], [each.text for each in found])
        return [
            SegmentInWords(**vars(each), words=_judged(each, own_words))
            for each, own_words in zip(found, words, strict=True)
        ]

    def _words(self, sources: Sequence[str], targets: Sequence[str]) -> Iterator[tuple[TargetWord, ...]]:
        """The words of each translation; none if one pass of the model cannot read all of it and of its source."""
        pairs = read_words(self._bundle, sources, targets)
        whole = [(source, target) for source, target in pairs if not (source.is_cut or target.is_cut)]
        ids = [source.ids for source, _ in whole], [target.ids for _, target in whole]
        scored = iter(self._translator.engine.score(*ids))
        for source, target in pairs:
            if source.is_cut or target.is_cut:
                yield ()
                continue
            values = target.shares @ next(scored).log_probabilities[:-1]  # a token of two words counts for both in part
            places = zip(target.words, values, strict=True)
            yield tuple(TargetWord(*span, math.exp(value)) for span, value in places)

    def replace_word(self, segments: Sequence[Segment]) -> list[Translation]:
        """Translations that begin with the prefix of a segment, each with another word after it, the likeliest first.

        They are the `alternatives` of each result; its `words` are those words, in the same order. There are none for
        segments that are too long for one pass of the model.
        """
        return [
            self._replace_word(segment.text, prefix) if self._is_undivided(segment.text) else SegmentInWords(prefix)
            for segment, prefix in _with_prefixes(segments)
        ]

    def _is_undivided(self, text: str) -> bool:
        return len(self._texts.divide(text)) == 1

    def _replace_word(self, text: str, prefix: str) -> Translation:
        sources = self._search.encode([text], [prefix])
        (begin,) = self._search.encode_prefixes(sources, [prefix])
        likeliest = self._likeliest(sources[0].with_context, begin)
        hypotheses = self._search.search(sources * len(likeliest), [[*begin, token] for token, _ in likeliest])
        texts = [self._search.translation(sources[0], each).text for each in hypotheses]
        pairs = read_words(self._bundle, [text] * len(texts), texts)
        before = read_words(self._bundle, [text], [prefix])[0][1].spellings
        found: dict[str, tuple[str, TargetWord]] = {}
        for other, (_, words), (_, probability) in zip(texts, pairs, likeliest, strict=True):
            if words.spellings[: len(before)] == before and len(words.words) > len(before):
                word = TargetWord(*words.words[len(before)], probability)
                found.setdefault(words.spellings[len(before)], (other, word))
        return SegmentInWords(
            prefix,
            alternatives=[Translation(other) for other, _ in found.values()],
            words=tuple(word for _, word in found.values()),
        )

    @torch.inference_mode()
    def _likeliest(self, source: list[int], begin: list[int]) -> list[tuple[int, float]]:
        """The likeliest next tokens after the beginning of a translation, with their probabilities."""
        ours, theirs = self._bundle.source.vocabulary, self._bundle.target.vocabulary
        model = self._translator.engine.model
        device = model.target_embedding.weight.device
        read = torch.tensor([[*source, ours.eos]], device=device)  # (1, source)
        hidden = model.hidden(read, torch.tensor([[theirs.bos, *begin]], device=device))  # (1, target, d_model)
        logits = model.output(hidden[0, -1]).float()  # (vocabulary,)
        logits[[*theirs.special_ids, *self._bundle.target.reserved_ids]] = -math.inf
        best = logits.softmax(dim=-1).topk(min(_ALTERNATIVES, len(theirs) - len(theirs.special_ids)))
        return list(zip(best.indices.tolist(), best.values.tolist(), strict=True))

    def explain(self, segments: Sequence[Segment]) -> list[Translation]:
        """The inspector page of each segment, as if it were the translation."""
        return [Translation(self._explain(segment.text)) for segment in segments]

    def _explain(self, text: str) -> str:
        translator = self._translator
        return render_page([page_data(self._bundle, translator.decoding, text, translator.explain(text))])


def _judged(translation: Translation, words: tuple[TargetWord, ...]) -> tuple[TargetWord, ...]:
    """The words of a translation; those of a translation memory are certain, even if the model expects others."""
    if translation.match != EXACT_MATCH:
        return words
    return tuple(replace(word, probability=1.0) for word in words)


def _with_prefixes(segments: Sequence[Segment]) -> Iterator[tuple[Segment, str]]:
    return ((segment, segment.prefix if isinstance(segment, PrefixedSegment) else "") for segment in segments)
