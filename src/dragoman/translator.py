"""Texts to translations."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, repeat, zip_longest
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.dataset.batch import pad
from dragoman.dataset.buckets import cut
from dragoman.engines.cpu.decoder import PackedTransformer, can_pack
from dragoman.engines.ensemble import EnsembleCache, EnsembleStep
from dragoman.engines.torch.prefix import PrefixCache, PrefixStep
from dragoman.errors import UserError
from dragoman.explanation.attention_map import AttentionMap
from dragoman.explanation.capture import is_recorded
from dragoman.explanation.explain import Explanation, explain
from dragoman.model.transformer import Transformer
from dragoman.search.constraints import ANY
from dragoman.search.decode import search
from dragoman.search.hypothesis import Hypothesis, Step
from dragoman.search.logits_processors import build_filters
from dragoman.search.minimum_bayes_risk import by_expected_chrf
from dragoman.search.trace import BeamTrace
from dragoman.settings import Decoding
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.translation import Translation

WINDOW = 4096  # texts sorted together by length when streaming
WORKERS = 8  # batches searched at once; more would wait for one another in Python
CPU_BATCH_TOKENS, GPU_BATCH_TOKENS = 4096, 32_768  # times hypotheses, unless the settings say


class Translator:
    """Translates texts with a bundle, with the weights that its model has when the first is translated.

    >>> translator = dragoman.load("runs/multi30k-de-en")
    >>> translator("Ein Hund läuft.").text
    """

    def __init__(
        self,
        bundle: Bundle,
        decoding: Decoding | None = None,
        device: str = "cpu",
        ensemble: Sequence[Bundle] = (),
    ) -> None:
        """Make a translator.

        Args:
            bundle: What translates.
            decoding: Settings of the search, instead of the bundle's own.
            device: 'cpu', 'cuda', ….
            ensemble: More bundles, with the same tokenizers, whose predictions are averaged with its own.

        Raises:
            UserError: The tokenizers of the ensemble differ.
        """
        self.bundle = bundle
        self.decoding = decoding or bundle.recipe.decoding
        self.device = torch.device(device)
        self.bundles = (bundle, *ensemble)
        self._packed: list[Transformer | PackedTransformer] | None = None
        for other in self.bundles:
            if any(one.to_json() != its.to_json() for one, its in zip(_sides(bundle), _sides(other), strict=True)):
                raise UserError(f"{other.recipe.name} has other tokenizers than {bundle.recipe.name}: no ensemble")
            other.model.to(self.device)

    @overload
    def __call__(self, texts: str, prefixes: str = "") -> Translation: ...  # type: ignore[overload-overlap]

    @overload
    def __call__(self, texts: Iterable[str], prefixes: Iterable[str] | None = None) -> list[Translation]: ...

    def __call__(
        self, texts: str | Iterable[str], prefixes: str | Iterable[str] | None = None
    ) -> Translation | list[Translation]:
        """The translation of a text, or a list of those of several, in their order.

        A text without words translates to an empty one. A text longer than the model's limit is
        translated in part, with a warning that counts such texts.

        Args:
            texts: What to translate.
            prefixes: What each translation begins with, spelled in the subwords that the prefix has by itself.

        Raises:
            UserError: A prefix is longer than a translation may be.
        """
        if isinstance(texts, str):
            return self([texts], [str(prefixes or "")])[0]
        translations = list(self.stream(texts, prefixes))
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

    def stream(
        self, texts: Iterable[str], prefixes: Iterable[str] | None = None, window: int = WINDOW
    ) -> Iterator[Translation]:
        """Translate any number of texts in constant memory, in order; `window` texts are batched together."""
        pairs = zip(texts, repeat("")) if prefixes is None else _pair(texts, prefixes)
        while group := list(islice(pairs, window)):
            yield from self._translate([text for text, _ in group], [prefix for _, prefix in group])

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
        limited, trace = ids[: self.source_limit], BeamTrace(self.bundle.target.vocabulary.eos)
        (hypotheses,) = self._search([limited], trace=trace)
        translation = self._translation(hypotheses, truncated=len(ids) > self.source_limit)
        filters = build_filters(self.decoding, self._forbidden, self.bundle.target.vocabulary.eos)
        return explain(self.bundle, limited, translation, hypotheses[0].tokens, filters, trace)

    @property
    def _forbidden(self) -> tuple[int, int, int]:
        """Ids that no translation has."""
        target = self.bundle.target.vocabulary
        return target.unk, target.pad, target.bos

    def _translate(self, texts: Sequence[str], prefixes: Sequence[str]) -> list[Translation]:
        ids, beginnings = self.bundle.source.encode(texts), self.bundle.target.encode(prefixes)
        most = self.bundle.recipe.model.max_length - 1
        if too_long := [prefix for prefix, tokens in zip(prefixes, beginnings, strict=True) if len(tokens) > most]:
            raise UserError(f"the prefix {too_long[0][:40]!r} … has more than the {most:,} tokens of a translation")
        results = [Translation("", alternatives=[]) for _ in texts]
        limited = [sentence[: self.source_limit] for sentence in ids]
        lengths = np.array([len(sentence) + 1 for sentence in limited], dtype=np.int64)
        order = np.argsort(lengths, kind="stable")
        order = order[lengths[order] > 1]  # nothing to translate in empty texts
        batches = list(cut(lengths, lengths, order, self._batch_tokens))[::-1]
        searched = self._search_all(
            [[limited[index] for index in batch] for batch in batches],
            [[beginnings[index] for index in batch] for batch in batches],
        )
        for batch, found in zip(batches, searched, strict=True):
            for index, hypotheses in zip(batch.tolist(), found, strict=True):
                results[index] = self._translation(hypotheses, truncated=len(ids[index]) > self.source_limit)
        return results

    def _search_all(
        self, batches: Sequence[list[list[int]]], prefixes: Sequence[list[list[int]]]
    ) -> Iterable[list[list[Hypothesis]]]:
        """The hypotheses of every sentence of every batch; on a CPU several threads search a batch each.

        That is faster than to share the work on each batch, for while one waits for Python another computes.
        """
        threads = torch.get_num_threads()
        workers = min(threads, len(batches), WORKERS)
        if self.device.type != "cpu" or workers < 2 or any(is_recorded(bundle.model) for bundle in self.bundles):
            return map(self._search, batches, prefixes)
        if self.decoding.cache:
            self._pack()  # once, before every thread would
        pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(threads // workers,))
        try:
            return list(pool.map(self._search, batches, prefixes))
        finally:
            pool.shutdown(cancel_futures=True)
            torch.set_num_threads(threads)

    @property
    def _batch_tokens(self) -> int:
        """Source tokens of a batch, padding included."""
        settings = self._search_settings
        hypotheses = settings.n_best if settings.sampling else settings.beam_size
        usual = CPU_BATCH_TOKENS if self.device.type == "cpu" else GPU_BATCH_TOKENS
        return max(1, (settings.batch_tokens or usual) // hypotheses)

    def _limits(self, lengths: Tensor) -> Tensor:
        """Most tokens of the translations of sources of these lengths, all with eos, (sentences,)."""
        settings = self.decoding
        limits = (lengths * settings.max_length_ratio).long() + settings.max_length_offset
        return limits.clamp(max=min(settings.max_length, self.bundle.recipe.model.max_length))

    @torch.inference_mode()
    def _search(
        self,
        sentences: list[list[int]],
        prefixes: list[list[int]] | None = None,
        trace: BeamTrace | None = None,
    ) -> list[list[Hypothesis]]:
        source, target = self.bundle.source.vocabulary, self.bundle.target.vocabulary
        ids = pad(sentences, first=None, last=source.eos, pad=source.pad).to(self.device)
        limits, forced = self._limits((ids != source.pad).sum(dim=1)), None  # (sentences,)
        if prefixes and any(prefixes):
            limits = torch.maximum(limits, torch.tensor([len(prefix) + 1 for prefix in prefixes], device=self.device))
            forced = pad(prefixes, first=None, last=None, pad=ANY).to(self.device)  # (sentences, longest)
        return search(
            *self._start(ids),
            settings=self._search_settings,
            bos=target.bos,
            eos=target.eos,
            forbidden=self._forbidden,
            max_lengths=limits,
            prefixes=forced,
            trace=trace,
        )

    def _start(self, ids: Tensor) -> tuple[Step[Any], Any]:
        """The step of the model or the ensemble, and its cache for sources, (sentences, source)."""
        steps: list[tuple[Step[Any], Any]]
        if self.decoding.cache:
            steps = [(model.step, model.start(ids)) for model in self._pack()]
        else:
            steps = [(PrefixStep(bundle.model), PrefixCache(ids)) for bundle in self.bundles]
        if len(steps) == 1:
            return steps[0]
        return EnsembleStep([step for step, _ in steps]), EnsembleCache([cache for _, cache in steps])

    def _pack(self) -> list[Transformer | PackedTransformer]:
        """The models in their fastest form, made once; as they are where one is recorded, for no other form tells."""
        models = [bundle.model for bundle in self.bundles]
        if any(map(is_recorded, models)):
            return list(models)
        if self._packed is None:
            self._packed = [PackedTransformer(model) if can_pack(model) else model for model in models]
        return self._packed

    @property
    def _search_settings(self) -> Decoding:
        """The settings of the search; minimum Bayes risk draws samples."""
        if not self.decoding.mbr_samples:
            return self.decoding
        return self.decoding.model_copy(update={"sampling": True, "n_best": self.decoding.mbr_samples})

    def _translation(self, hypotheses: list[Hypothesis], truncated: bool) -> Translation:
        texts = [self.bundle.target.decode(hypothesis.tokens) for hypothesis in hypotheses]
        order = list(range(len(texts)))
        if self.decoding.mbr_samples:
            order = [index for index, _ in by_expected_chrf(texts)[: self.decoding.n_best]]
        first, *others = (
            Translation(
                text=texts[index],
                tokens=[self.bundle.target.vocabulary.tokens[token] for token in hypotheses[index].tokens],
                log_probabilities=hypotheses[index].log_probabilities,
                score=hypotheses[index].score,
                truncated=truncated,
            )
            for index in order
        )
        return Translation(first.text, first.tokens, first.log_probabilities, first.score, truncated, others)


def _pair(texts: Iterable[str], prefixes: Iterable[str]) -> Iterator[tuple[str, str]]:
    for text, prefix in zip_longest(texts, prefixes):
        if text is None or prefix is None:
            raise UserError(f"there are {'more' if text is None else 'fewer'} prefixes than texts: one for each")
        yield text, prefix


def _sides(bundle: Bundle) -> tuple[Tokenizer, Tokenizer]:
    return bundle.source, bundle.target


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
