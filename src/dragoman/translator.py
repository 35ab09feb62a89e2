"""Translate texts with a bundle: from texts to ids, through an engine, and back to translations.

`Translator` is what users call, and `load` opens it. `TextSearch` is its way from texts to translations, for what
needs more than a translation: terms, prefixes, scores.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, overload

from dragoman.bundle import Bundle, choose_direction, find_bundle, recognize_sources, require_direction
from dragoman.engines.choose import Announce, ComputeType, Copies, Engine, EngineRequest, Ids, open_engine
from dragoman.errors import UserError, counted, shortened
from dragoman.recipe import build_recipe
from dragoman.search.hypothesis import BeamTrace, Hypothesis, length_penalty
from dragoman.settings import Decoding
from dragoman.system.device import find_device
from dragoman.system.resumable import grouped
from dragoman.text.glossary import FoundTerm
from dragoman.text.masking import Mask
from dragoman.text.match import NO_MATCH, Match
from dragoman.text.term_marks import MarkedTerm, mark_terms
from dragoman.text.translation import Translation

if TYPE_CHECKING:
    from dragoman.corpus.memory import TranslationMemory
    from dragoman.engines.fuzzy_memory import FuzzyMemory
    from dragoman.explanation.attention_map import AttentionMap
    from dragoman.explanation.explain import Explanation

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
        # what follows because there is only one direction
        self.bundle = choose_direction(bundle, None, None) if bundle.is_undecided else bundle
        self.decoding = decoding if isinstance(decoding, Decoding) else choose_decoding(bundle, decoding)
        self.device = find_device(device)
        self.engine = engine or open_engine(EngineRequest(bundle, self.decoding, self.device, ensemble=ensemble))

    @cached_property
    def text_search(self) -> TextSearch:
        """The way from texts to translations.

        Raises:
            UserError: The direction of a model with several languages is not stated.
        """
        require_direction(self.bundle)
        return TextSearch(self.bundle, self.engine, self.decoding)

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
        bundle, engine = self.bundle, self.engine.name
        source, target = bundle.stated if bundle.is_undecided else bundle.recipe.data.languages
        return f"<Translator {bundle.recipe.name}: {source or 'several'} to {target or 'several'}, {engine}>"

    def __reduce__(self) -> NoReturn:
        """Raise TypeError: a copy for another process would not share the weights and the threads of the engine."""
        raise TypeError("a translator cannot be pickled or copied; call dragoman.load in each process")

    def with_memory(self, memory: TranslationMemory) -> Translator:
        """The same translator, which reads similar segments of a translation memory, if its model was trained so."""
        from dragoman.engines.fuzzy_memory import FuzzyMemory, reads_matches

        changed = Translator(self.bundle, self.decoding, str(self.device), engine=self.engine)
        if reads_matches(self.bundle):
            fuzzy = FuzzyMemory(memory, self.bundle, self.engine.max_length)
            changed.text_search = replace(self.text_search, memory=fuzzy)
        return changed

    def with_direction(self, source_language: str | None = None, target_language: str | None = None) -> Translator:
        """The same translator, with the same engine, for another direction of a model with several languages.

        Raises:
            UserError: The model does not have one of the languages, or the memory, or the corpus of
                `decoding.neighbors`, is of another direction.
        """
        bundle = choose_direction(self.bundle, source_language, target_language)
        changed = Translator(bundle, self.decoding, str(self.device), engine=self.engine)
        search: TextSearch | None = vars(self).get("text_search")
        memory = search.memory if search else None
        own = self.bundle.recipe.data.languages
        if own != bundle.recipe.data.languages and (memory or self.decoding.neighbors is not None):
            kind = "translation memory" if memory else "corpus of decoding.neighbors"
            raise UserError(
                f"{bundle.recipe.name}: the {kind} of this translator is for {'-'.join(own)}; choose the direction "
                "first"
            )
        if memory:
            changed.text_search = replace(changed.text_search, memory=memory)
        return changed

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, texts: str, prefixes: str = "", *, source_language: str | None = None, target_language: str | None = None
    ) -> Translation: ...

    @overload
    def __call__(
        self,
        texts: Iterable[str],
        prefixes: Iterable[str] | None = None,
        *,
        source_language: str | None = None,
        target_language: str | None = None,
    ) -> list[Translation]: ...

    def __call__(
        self,
        texts: str | Iterable[str],
        prefixes: str | Iterable[str] | None = None,
        *,
        source_language: str | None = None,
        target_language: str | None = None,
        **settings: Any,
    ) -> Translation | list[Translation]:
        """Translate a text, or several texts in order. Texts are not split into sentences.

        A text without words has an empty translation. Of a text longer than the model's limit, only the beginning is
        translated; a warning states the number of such texts, and the number of translations with `problems`.

        Args:
            texts: One text or several texts.
            prefixes: The beginning of each translation. A prefix is split into subwords on its own.
            source_language, target_language: The direction, as of `load`; by default that of the translator.

        Raises:
            UserError: A text is not a string, a prefix is longer than a translation may be, a setting is given, or the
                model does not have a language.
        """
        if source_language or target_language:
            return self.with_direction(source_language, target_language)(texts, prefixes, **settings)
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
        return replace(self.bundle, weights=self.engine.model)

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
            sources, given = [text for text, _ in group], [prefix for _, prefix in group]
            if self.bundle.is_undecided or (self.bundle.recognizes_source and self.text_search.memory is None):
                yield from self._translate_recognized(sources, given)
            else:
                yield from self.text_search.translate(sources, given)

    def _translate_recognized(self, texts: Sequence[str], prefixes: Sequence[str]) -> list[Translation]:
        """The translations of texts, each from the language that it is in."""

        def translate(language: str, places: Sequence[int]) -> Iterable[Translation]:
            search = self.with_direction(language).text_search
            return search.translate([texts[place] for place in places], [prefixes[place] for place in places])

        return translate_by_language(recognize_sources(self.bundle, texts), translate)

    def attention(self, text: str) -> AttentionMap:
        """What the model attends to, in every layer and head, while it translates a text.

        Raises:
            UserError: The text contains nothing to translate.
        """
        return self.explain(text).attention

    def explain(self, text: str, without: Collection[int] = ()) -> Explanation:
        """The translation of a text, and how the model found it.

        Args:
            text: The text.
            without: Indices of source words to leave out, as in `Explanation.influence`.

        Raises:
            UserError: The text contains nothing to translate, or no such word.
        """
        from dragoman.explanation.explain import explain
        from dragoman.explanation.tokens import label_spans

        if not isinstance(text, str):
            raise UserError(f"cannot translate {text!r}: pass one string")
        if self.bundle.recognizes_source:
            return self.with_direction(*recognize_sources(self.bundle, [text])).explain(text)
        (source,) = self.text_search.encode([text])
        if not source.ids:
            raise UserError("this text contains no word to translate")
        if without:
            from dragoman.explanation.influence import leave_out

            source = replace(source, ids=leave_out(self.bundle, source.ids, without))
        trace = BeamTrace(self.bundle.target.vocabulary.eos)
        (hypotheses,) = self.text_search.search([source], trace=trace)
        translation = self.text_search.translation(source, hypotheses)
        bundle = label_spans(self.bundle_on_device, source.mask)
        return explain(bundle, self.decoding, source.with_context, hypotheses[0].tokens, translation, trace)


def translate_by_language(
    languages: Sequence[str], translate: Callable[[str, Sequence[int]], Iterable[Translation]]
) -> list[Translation]:
    """The translations of texts, in order; those in the same language are translated together.

    Args:
        languages: The language of each text.
        translate: Translates the texts at some places, which are in a language.
    """
    found: dict[int, Translation] = {}
    for language in dict.fromkeys(languages):
        places = [place for place, each in enumerate(languages) if each == language]
        found.update(zip(places, translate(language, places), strict=True))
    return [found[place] for place in range(len(languages))]


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
        source_language, target_language: The direction, of a model with several languages. Without the former, a model
            that dragoman trained recognizes the language of each text.
        settings: Settings of the search by name.

    Raises:
        UserError: There is no bundle that can be read, or a setting is invalid, or the engine cannot be used.
    """
    directory = find_bundle(path)
    bundle = choose_direction(Bundle.load(directory), source_language, target_language)
    chosen = choose_decoding(bundle, decoding, settings)
    request = EngineRequest(bundle, chosen, find_device(device), directory, compute_type, token_scores)
    return Translator.open(request, engine)


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

    def translate(self, texts: Sequence[str], prefixes: Sequence[str] | None = None) -> list[Translation]:
        """The translation of each text; a translation begins with its prefix.

        Raises:
            UserError: A prefix is longer than a translation may be, or probabilities are not finite.
        """
        sources = self.encode(texts, prefixes)
        forced = self.encode_prefixes(sources, prefixes) if prefixes and any(prefixes) else None
        return list(map(self.translation, sources, self.search(sources, forced)))

    def encode(self, texts: Sequence[str], prefixes: Sequence[str] | None = None) -> list[SourceText]:
        """The ids of texts; translations that begin with a prefix will keep its spaces."""
        limit, masks = self.engine.max_length - 1, self.bundle.source.mask(texts)
        if prefixes and any(prefixes):
            masks = [replace(mask, keeps_spaces=bool(each)) for mask, each in zip(masks, prefixes, strict=True)]
        encoded = self.bundle.source.encode_masked([mask.text for mask in masks])
        found = [self.memory.find(ids) if self.memory else ([], NO_MATCH) for ids in encoded]
        return [
            SourceText(mask, ids[:limit], len(ids) > limit, *match)
            for mask, ids, match in zip(masks, encoded, found, strict=True)
        ]

    def count_tokens(self, text: str) -> int:
        """The number of source tokens of a text, with eos; without a match of a translation memory."""
        (mask,) = self.bundle.source.mask([text])
        (ids,) = self.bundle.source.encode_masked([mask.text])
        return len(ids) + 1

    def encode_with_terms(self, texts: Sequence[str], terms: Sequence[Sequence[FoundTerm]]) -> list[SourceText]:
        """The same with terms marked; without those that are a part of a span, and those of texts that are too long."""
        sources = self.encode(texts)
        marked = [_mark(source.mask, found) for source, found in zip(sources, terms, strict=True)]
        return [
            replace(source, ids=ids) if len(ids) + len(source.context) < self.engine.max_length else source
            for source, ids in zip(sources, self.bundle.source.encode_masked(marked), strict=True)
        ]

    def encode_targets(self, sources: Sequence[SourceText], targets: Sequence[str]) -> list[list[int]]:
        """The ids of translations, of any length, with the reserved tokens of their sources.

        An empty translation begins with the token of its language, too.
        """
        if self.bundle.target.masking:
            targets = [source.mask.apply(target) for source, target in zip(sources, targets, strict=True)]
        return [ids or list(self.bundle.target.language_ids) for ids in self.bundle.target.encode_masked(targets)]

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
        self,
        sources: Sequence[SourceText],
        prefixes: Sequence[Ids] | None = None,
        trace: BeamTrace | None = None,
        first: Sequence[list[Hypothesis]] | None = None,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each text, best first; none for a text without tokens.

        Args:
            sources: The texts.
            prefixes: What `encode_prefixes` returns for each; by default that of an empty prefix.
            trace: Records the beam search.
            first: What the engine found, if it has searched already, see `translate_together`.

        Raises:
            UserError: The model computes probabilities that are not finite.
        """
        nonempty = [index for index, source in enumerate(sources) if source.ids]
        found: list[list[Hypothesis]] = [[] for _ in sources]
        prefixes = prefixes or [self.bundle.target.language_ids] * len(sources)

        def translate(indices: list[int], copies: list[Copies] | None = None) -> None:
            ids = [sources[index].with_context for index in indices]
            forced = [prefixes[index] for index in indices] if any(prefixes) else None
            for index, hypotheses in zip(indices, self.engine.translate(ids, forced, trace, copies), strict=True):
                found[index] = self.require_probabilities(hypotheses)

        if first is None:
            translate(nonempty)
        else:
            found = [self.require_probabilities(first[i]) if source.ids else [] for i, source in enumerate(sources)]
        if self.bundle.source.masking:
            faulty = [i for i in nonempty if all(self._problems(sources[i], each) for each in found[i])]
            if faulty and trace is not None:
                trace.steps.clear()
            if faulty:
                translate(faulty, [self._copies(sources[index]) for index in faulty])
        if self.bundle.source.masking or self.decoding.mbr_samples:
            return [self._rank(source, hypotheses) for source, hypotheses in zip(sources, found, strict=True)]
        return [hypotheses[: self.decoding.n_best] for hypotheses in found]

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
        masked = self.bundle.target.masking is not None
        return Translation(
            text=self.bundle.target.restore(hypothesis.tokens, source.mask),
            tokens=[source.mask.label(token) for token in tokens] if masked else tokens,
            log_probabilities=hypothesis.log_probabilities,
            log_probability=hypothesis.score * length_penalty(len(tokens) + 1, self.decoding.length_penalty),
            score=hypothesis.score,
            truncated=source.truncated,
            problems=self._problems(source, hypothesis) if self.bundle.source.masking else [],
            match=source.match,
        )

    def _problems(self, source: SourceText, hypothesis: Hypothesis) -> list[str]:
        if self.bundle.source.masking is None:
            return []
        ours, theirs = self.bundle.source.vocabulary.tokens, self.bundle.target.vocabulary.tokens
        ids = self.bundle.source.text_ids(source.ids)
        return source.mask.problems((ours[each] for each in ids), (theirs[each] for each in hypothesis.tokens))

    def _copies(self, source: SourceText) -> Copies:
        """The reserved tokens of a text: ids in the target vocabulary with their counts."""
        ours, theirs = self.bundle.source.reserved_ids, self.bundle.target.reserved_ids
        ids = self.bundle.source.text_ids(source.ids)
        return {target: ids.count(index) for index, target in zip(ours, theirs, strict=True)}

    def _rank(self, source: SourceText, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        """The hypotheses to return, those without problems first; by their risk, for minimum Bayes risk decoding."""
        if self.decoding.mbr_samples:
            from dragoman.search.decode import by_expected_chrf

            faultless = [each for each in hypotheses if not self._problems(source, each)] or hypotheses
            texts = [self.bundle.target.restore(each.tokens, source.mask) for each in faultless]
            ranked = [faultless[index] for index, _ in by_expected_chrf(texts)]
        else:
            ranked = sorted(hypotheses, key=lambda each: bool(self._problems(source, each)))
        return ranked[: self.decoding.n_best]


def translate_together(searches: Sequence[TextSearch], texts: Sequence[Sequence[str]]) -> list[list[Translation]]:
    """The translations of texts in several directions of a model, which its engine searches in the same batches.

    Args:
        searches: The way of each direction; all have the same engine.
        texts: The texts of each direction.
    """
    encoded = [search.encode(each) for search, each in zip(searches, texts, strict=True)]
    ids: list[Ids] = []
    prefixes: list[Ids] = []
    for search, sources in zip(searches, encoded, strict=True):
        ids += [source.with_context for source in sources if source.ids]
        prefixes += [search.bundle.target.language_ids for source in sources if source.ids]
    found = iter(searches[0].engine.translate(ids, prefixes if any(prefixes) else None) if ids else ())
    translated = []
    for search, sources in zip(searches, encoded, strict=True):
        hypotheses = search.search(sources, first=[next(found) if source.ids else [] for source in sources])
        translated.append(list(map(search.translation, sources, hypotheses)))
    return translated


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
