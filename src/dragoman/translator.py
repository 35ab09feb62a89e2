"""Translate texts with a bundle."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat, zip_longest
from pathlib import Path
from typing import Any, NoReturn, overload

from dragoman.bundle import Bundle, find_bundle
from dragoman.corpus.memory import TranslationMemory
from dragoman.engines import Engine, EngineRequest, open_engine
from dragoman.engines.choose import Announce
from dragoman.engines.direction import choose_direction
from dragoman.engines.fuzzy_memory import FuzzyMemory, reads_matches
from dragoman.engines.protocol import ComputeType
from dragoman.engines.text_search import TextSearch
from dragoman.errors import UserError, counted
from dragoman.explanation.attention_map import AttentionMap
from dragoman.explanation.explain import Explanation, explain
from dragoman.explanation.tokens import label_spans
from dragoman.recipe import build_recipe
from dragoman.search.hypothesis import BeamTrace
from dragoman.settings import Decoding
from dragoman.system.device import choose_device
from dragoman.system.resumable import grouped
from dragoman.text.translation import Translation

__all__ = ["Translation", "Translator", "load"]

WINDOW = 4096
"""Texts that are sorted by length together when streaming."""


class Translator:
    """Translates texts with a bundle. Create a new translator after changing the weights of the bundle's model.

    >>> translator = dragoman.load("runs/multi30k-de-en")
    >>> translator("Ein Hund läuft.").text

    Each text is translated as a whole, so it should be like a line of the training text, usually a sentence.
    `dragoman.TextTranslator` splits texts into sentences first, as the command line does.

    Args:
        bundle: The model, its tokenizers and settings.
        decoding: Settings of the search, instead of the bundle's: all of them, or some by name.
        device: Where to compute: 'cpu', 'cuda', …, or 'auto' for a GPU if there is one.
        ensemble: More bundles with the same tokenizers; the predictions of all models are averaged.
        engine: The engine to use, instead of the best one that needs no bundle on disk.

    Raises:
        UserError: The tokenizers of the ensemble differ, or the settings or the device cannot be used.
    """

    def __init__(
        self,
        bundle: Bundle,
        decoding: Decoding | Mapping[str, Any] | None = None,
        device: str = "auto",
        ensemble: Sequence[Bundle] = (),
        engine: Engine | None = None,
    ) -> None:
        self.bundle = bundle
        self.decoding = choose_decoding(bundle, decoding)
        self.device = choose_device(device)
        self.engine = engine or open_engine(EngineRequest(bundle, self.decoding, self.device, ensemble=ensemble))
        self.text_search = TextSearch(bundle, self.engine, self.decoding)

    @classmethod
    def open(cls, request: EngineRequest, engine: str | None = None, announce: Announce | None = None) -> Translator:
        """The translator with the engine that a request chooses; `load`, the command line and the server use this.

        Args:
            request: The bundle, the settings of the search, the device, and what else decides about the engine.
            engine: The engine's name; by default the first that supports the request.
            announce: Receives the choice.

        Raises:
            UserError: No engine supports the request, or the engine cannot be opened.
        """
        opened = open_engine(request, engine, announce)
        return cls(request.bundle, request.decoding, str(request.device), engine=opened)

    def __repr__(self) -> str:
        recipe, engine = self.bundle.recipe, self.engine.name
        return f"<Translator {recipe.name}: {recipe.data.source_language} to {recipe.data.target_language}, {engine}>"

    def __reduce__(self) -> NoReturn:
        """Raise TypeError: a copy for another process would not share the weights and the threads of the engine."""
        raise TypeError("a translator cannot be pickled or copied; call dragoman.load in each process")

    def with_memory(self, memory: TranslationMemory) -> Translator:
        """The same translator, which reads similar segments of a translation memory, if its model was trained so."""
        changed = Translator(self.bundle, self.decoding, str(self.device), engine=self.engine)
        if reads_matches(self.bundle):
            fuzzy = FuzzyMemory(memory, self.bundle, self.engine.max_length)
            changed.text_search = replace(self.text_search, memory=fuzzy)
        return changed

    @overload
    def __call__(self, texts: str, prefixes: str = "") -> Translation: ...  # type: ignore[overload-overlap]

    @overload
    def __call__(self, texts: Iterable[str], prefixes: Iterable[str] | None = None) -> list[Translation]: ...

    def __call__(
        self, texts: str | Iterable[str], prefixes: str | Iterable[str] | None = None, **settings: Any
    ) -> Translation | list[Translation]:
        """Translate a text, or several texts in order. Texts are not split into sentences.

        A text without words has an empty translation. Of a text longer than the model's limit, only the beginning is
        translated; a warning states the number of such texts, and the number of translations with `problems`.

        Args:
            texts: One text or several texts.
            prefixes: The beginning of each translation. A prefix is split into subwords on its own.

        Raises:
            UserError: A text is not a string, a prefix is longer than a translation may be, or a setting is given.
        """
        if settings:
            raise UserError(f"unknown argument {next(iter(settings))!r}; dragoman.load takes settings of the search")
        if isinstance(texts, str):
            if not isinstance(prefixes, str | None):
                raise UserError("the prefix of one text must be a string")
            return self([texts], [prefixes or ""])[0]
        translations = list(self.stream(texts, prefixes))
        if truncated := sum(translation.truncated for translation in translations):
            warnings.warn(
                f"translated only the beginning of {truncated:,} of {counted(len(translations), 'text')}, because of "
                f"the model's limit of {self.source_limit} tokens",
                stacklevel=2,
            )
        if faulty := sum(bool(translation.problems) for translation in translations):
            number = f"{faulty:,} of {counted(len(translations), 'translation')}"
            message = f"placeholders, URLs or numbers are missing or repeated in {number}; see Translation.problems"
            warnings.warn(message, stacklevel=2)
        return translations

    @property
    def bundle_on_device(self) -> Bundle:
        """The bundle with the engine's model, which is on the engine's device, for what needs more than a search."""
        return replace(self.bundle, model=self.engine.model)

    @property
    def source_limit(self) -> int:
        """Maximum number of source tokens that are translated, without eos."""
        return self.engine.max_length - 1

    def is_too_long(self, text: str) -> bool:
        """Whether a text has more than `source_limit` tokens, so that only its beginning would be translated."""
        return self.text_search.count_tokens(text) > self.engine.max_length

    def stream(
        self, texts: Iterable[str], prefixes: Iterable[str] | None = None, window: int = WINDOW
    ) -> Iterator[Translation]:
        """Translate any number of texts in constant memory, in order; `window` texts are batched together.

        Raises:
            UserError: A text is not a string, a prefix is longer than a translation may be, or `window` is below 1.
        """
        _require_texts(texts)
        if not isinstance(prefixes, Iterable | None) or isinstance(prefixes, str):
            raise UserError(f"prefixes must be strings, one for each text, not {prefixes!r}")
        if not isinstance(window, int) or window < 1:
            raise UserError(f"window = {window!r}: must be a whole number >= 1")
        return self._stream(texts, prefixes, window)

    def _stream(self, texts: Iterable[str], prefixes: Iterable[str] | None, window: int) -> Iterator[Translation]:
        for group in grouped(pair_with_prefixes(texts, prefixes), window):
            given = [prefix for _, prefix in group]
            sources = self.text_search.encode([text for text, _ in group], given)
            prefix_ids = self.text_search.encode_prefixes(sources, given)
            found = self.text_search.search(sources, prefix_ids)
            yield from map(self.text_search.translation, sources, found)

    def attention(self, text: str) -> AttentionMap:
        """What the model attends to, in every layer and head, while it translates a text.

        Raises:
            UserError: The text contains nothing to translate.
        """
        return self.explain(text).attention

    def explain(self, text: str) -> Explanation:
        """The translation of a text, and how the model found it.

        Raises:
            UserError: The text contains nothing to translate.
        """
        if not isinstance(text, str):
            raise UserError(f"cannot translate {text!r}: pass one string")
        (source,) = self.text_search.encode([text])
        if not source.ids:
            raise UserError("this text contains no word to translate")
        trace = BeamTrace(self.bundle.target.vocabulary.eos)
        (hypotheses,) = self.text_search.search([source], trace=trace)
        translation = self.text_search.translation(source, hypotheses)
        bundle = label_spans(self.bundle_on_device, source.mask)
        return explain(bundle, self.decoding, source.with_context, hypotheses[0].tokens, translation, trace)


def _require_texts(texts: Any) -> None:
    if isinstance(texts, Mapping | set | frozenset):
        raise UserError(f"cannot translate a {type(texts).__name__}: pass strings in order, such as a list")
    if not isinstance(texts, Iterable) or isinstance(texts, str | bytes | bytearray):
        raise UserError(f"cannot translate {texts!r}: pass strings; for one string, call the translator")


def pair_with_prefixes(texts: Iterable[str], prefixes: Iterable[str] | None) -> Iterator[tuple[str, str]]:
    """Each text with its prefix, which is empty if there are none.

    Raises:
        UserError: A text or a prefix is not a string, or their numbers differ.
    """
    pairs = zip(texts, repeat("")) if prefixes is None else zip_longest(texts, prefixes, fillvalue=_MISSING)
    for text, prefix in pairs:
        if text is _MISSING or prefix is _MISSING:
            number = "more" if text is _MISSING else "fewer"
            raise UserError(f"there are {number} prefixes than texts; give one for each")
        if not isinstance(text, str) or not isinstance(prefix, str):
            raise UserError(f"cannot translate {text!r}: texts and prefixes must be strings")
        yield text, prefix


_MISSING = object()


def choose_decoding(
    bundle: Bundle, decoding: Decoding | Mapping[str, Any] | None, settings: Mapping[str, Any] | None = None
) -> Decoding:
    """The settings of the search: those of the bundle, or others, with changes by name.

    Args:
        bundle: The translator.
        decoding: All settings, or those that differ from the bundle's.
        settings: More settings by name.

    Raises:
        UserError: A setting is unknown or invalid.
    """
    if not isinstance(decoding, Decoding | Mapping | None):
        raise UserError(f"decoding = {decoding!r}: must be a Decoding, or a mapping of its settings")
    chosen = decoding if isinstance(decoding, Decoding) else bundle.recipe.decoding
    changes = {**(decoding if isinstance(decoding, Mapping) else {}), **(settings or {})}
    if not changes:
        return chosen
    document = {**bundle.recipe.to_dict(), "decoding": {**chosen.model_dump(exclude_none=True), **changes}}
    return build_recipe(document, origin="settings of the search").decoding


def load(
    path: str | Path,
    decoding: Decoding | Mapping[str, Any] | None = None,
    device: str = "auto",
    engine: str | None = None,
    *,
    compute_type: ComputeType = "auto",
    token_scores: bool = True,
    source_language: str | None = None,
    target_language: str | None = None,
    **settings: Any,
) -> Translator:
    """Load the translator of a bundle or of a run directory.

    >>> translator = dragoman.load("runs/multi30k-de-en", beam_size=8)

    Args:
        path: A bundle, or a run directory that contains one.
        decoding: Settings of the search, instead of the bundle's: all of them, or some by name.
        device: Where to compute: 'cpu', 'cuda', …, or 'auto' for a GPU if there is one.
        engine: 'ctranslate2' (which converts the bundle to its format on first use) or 'torch'; by default the first
            that supports the bundle, the settings and the device.
        compute_type: As --compute-type.
        token_scores: Whether tokens have log-probabilities; without, 'ctranslate2' is up to twice as fast.
        source_language, target_language: The direction, of a model with several languages.
        settings: Settings of the search by name.

    Raises:
        UserError: There is no bundle that can be read, or a setting is invalid, or the engine cannot be used.
    """
    directory = find_bundle(path)
    bundle = choose_direction(Bundle.load(directory), source_language, target_language)
    chosen = choose_decoding(bundle, decoding, settings)
    request = EngineRequest(bundle, chosen, choose_device(device), directory, compute_type, token_scores)
    return Translator.open(request, engine)
