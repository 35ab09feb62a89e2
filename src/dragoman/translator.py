"""Texts to translations."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import overload

import numpy as np
import torch
from torch import Tensor

from dragoman.attention_map import AttentionMap, map_attention
from dragoman.bundle import Bundle
from dragoman.data.batch import pad
from dragoman.data.buckets import cut
from dragoman.errors import UserError
from dragoman.model.prefix import PrefixCache, PrefixStep
from dragoman.search.filters import apply_filters, build_filters
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.run import search
from dragoman.search.trace import BeamTrace, Candidate
from dragoman.settings import Decoding

ALTERNATIVES = 8  # tokens shown at each place of an explained translation
WINDOW = 4096  # texts sorted together by length when streaming


@dataclass(frozen=True)
class Translation:
    """A translation and what the model thought of it.

    `log_probabilities` (natural logarithm) has one value for each of `tokens` and one for the end of
    the sentence; `score` is their sum over the length penalty. `truncated` says that the source was
    longer than the model's limit and only its beginning was translated.
    """

    text: str
    tokens: list[str] = field(default_factory=list)
    log_probabilities: list[float] = field(default_factory=list)
    score: float = 0.0
    truncated: bool = False
    alternatives: list[Translation] = field(default_factory=list)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Explanation:
    """A translation and what the model did to find it.

    `alternatives` has, for each token of the translation and for its end, the likeliest tokens at that
    place with their probabilities, best first, and what was said if it is not among them. `steps` are those
    of the beam search, each with all that it considered, best first; there are none of a sampled translation.
    """

    translation: Translation
    attention: AttentionMap
    alternatives: list[list[tuple[str, float]]]
    steps: list[list[Candidate]]


class Translator:
    """Translates texts with a bundle.

    >>> translator = dragoman.load("runs/multi30k-de-en")
    >>> translator("Ein Hund läuft.").text
    """

    def __init__(self, bundle: Bundle, decoding: Decoding | None = None, device: str = "cpu") -> None:
        self.bundle = bundle
        self.decoding = decoding or bundle.recipe.decoding
        self.device = torch.device(device)
        bundle.model.to(self.device)

    @overload
    def __call__(self, texts: str) -> Translation: ...  # type: ignore[overload-overlap]  # a str iterates over str

    @overload
    def __call__(self, texts: Iterable[str]) -> list[Translation]: ...

    def __call__(self, texts: str | Iterable[str]) -> Translation | list[Translation]:
        """The translation of a text, or a list of those of several, in their order.

        A text without words translates to an empty one. A text longer than the model's limit is
        translated in part, with a warning that counts such texts.
        """
        if isinstance(texts, str):
            return self([texts])[0]
        translations = list(self.stream(texts))
        if cut_short := sum(translation.truncated for translation in translations):
            warnings.warn(
                f"{cut_short} of {len(translations)} texts were longer than the model's limit of "
                f"{self.source_limit} tokens and were translated in part",
                stacklevel=2,
            )
        return translations

    @property
    def source_limit(self) -> int:
        """Most source tokens the model can read, end of sentence not counted."""
        return self.bundle.recipe.model.max_length - 1

    def stream(self, texts: Iterable[str], window: int = WINDOW) -> Iterator[Translation]:
        """Translate any number of texts in constant memory, in order; `window` texts are batched together."""
        texts = iter(texts)
        while group := list(islice(texts, window)):
            yield from self._translate(group)

    def attention(self, text: str) -> AttentionMap:
        """Where the model looks, in every layer and head, as it translates a text.

        Raises:
            UserError: There is nothing to translate in it.
        """
        return self.explain(text).attention

    def explain(self, text: str) -> Explanation:
        """The translation of a text with what the model did to find it.

        Raises:
            UserError: There is nothing to translate in it.
        """
        (ids,) = self.bundle.source.encode([text])
        if not ids:
            raise UserError("there is no word to translate in this text")
        target = self.bundle.target.vocabulary
        limited, trace = ids[: self.source_limit], BeamTrace(target.eos)
        (hypotheses,) = self._search([limited], trace)
        attention, logits = map_attention(self.bundle, limited, hypotheses[0].tokens)
        return Explanation(
            translation=self._translation(hypotheses, truncated=len(ids) > self.source_limit),
            attention=attention,
            alternatives=self._alternatives(logits, [*hypotheses[0].tokens, target.eos]),
            steps=trace.steps[0],
        )

    def _alternatives(self, logits: Tensor, said: list[int]) -> list[list[tuple[str, float]]]:
        """The likeliest tokens at each place, and that which was said, as (token, probability), best first."""
        filters = build_filters(self.decoding, self._forbidden)
        probabilities = apply_filters(filters, logits).softmax(dim=-1)  # (tokens, vocabulary)
        likeliest = probabilities.topk(min(ALTERNATIVES, probabilities.shape[1])).indices.tolist()
        tokens, alternatives = self.bundle.target.vocabulary.tokens, []
        for row, indices, index in zip(probabilities, likeliest, said, strict=True):
            chosen = indices if index in indices else [*indices, index]
            alternatives.append([(tokens[each], float(row[each])) for each in chosen if row[each] > 0])
        return alternatives

    @property
    def _forbidden(self) -> tuple[int, int, int]:
        """Ids that no translation has."""
        target = self.bundle.target.vocabulary
        return target.unk, target.pad, target.bos

    def _translate(self, texts: Sequence[str]) -> list[Translation]:
        ids = self.bundle.source.encode(texts)
        results = [Translation("", alternatives=[]) for _ in texts]
        limited = [sentence[: self.source_limit] for sentence in ids]
        lengths = np.array([len(sentence) + 1 for sentence in limited], dtype=np.int64)
        order = np.argsort(lengths, kind="stable")
        order = order[lengths[order] > 1]  # nothing to translate in empty texts
        for batch in reversed(cut(lengths, lengths, order, self.decoding.batch_tokens)):
            found = self._search([limited[index] for index in batch])
            for index, hypotheses in zip(batch.tolist(), found, strict=True):
                results[index] = self._translation(hypotheses, truncated=len(ids[index]) > self.source_limit)
        return results

    @torch.inference_mode()
    def _search(self, sentences: list[list[int]], trace: BeamTrace | None = None) -> list[list[Hypothesis]]:
        model, settings = self.bundle.model, self.decoding
        source, target = self.bundle.source.vocabulary, self.bundle.target.vocabulary
        ids = pad(sentences, first=None, last=source.eos, pad=source.pad).to(self.device)
        lengths = (ids != source.pad).sum(dim=1)  # (sentences,)
        limits = (lengths * settings.max_length_ratio).long() + settings.max_length_offset
        find = partial(
            search,
            settings=settings,
            bos=target.bos,
            eos=target.eos,
            forbidden=self._forbidden,
            max_lengths=limits.clamp(max=min(settings.max_length, self.bundle.recipe.model.max_length)),
            trace=trace,
        )
        return find(model.step, model.start(ids)) if settings.cache else find(PrefixStep(model), PrefixCache(ids))

    def _translation(self, hypotheses: list[Hypothesis], truncated: bool) -> Translation:
        first, *others = (
            Translation(
                text=self.bundle.target.decode(hypothesis.tokens),
                tokens=[self.bundle.target.vocabulary.tokens[token] for token in hypothesis.tokens],
                log_probabilities=hypothesis.log_probabilities,
                score=hypothesis.score,
                truncated=truncated,
            )
            for hypothesis in hypotheses
        )
        return Translation(first.text, first.tokens, first.log_probabilities, first.score, truncated, others)


def load(path: str | Path, decoding: Decoding | None = None, device: str = "cpu") -> Translator:
    """The translator of a bundle or of a run directory.

    Args:
        path: A bundle, or a run directory that holds one.
        decoding: Settings of the search, instead of the bundle's own.
        device: 'cpu', 'cuda', ….

    Raises:
        UserError: There is no bundle, or it is damaged, foreign, or of a newer format.
    """
    return Translator(Bundle.load(Path(path)), decoding, device)
