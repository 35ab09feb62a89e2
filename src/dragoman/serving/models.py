"""The translators that are served, and the ways from one language to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from pathlib import Path

from dragoman.bundle import Bundle, choose_direction, find_bundle, languages_of
from dragoman.corpus.memory import TranslationMemory
from dragoman.documents.segment import TranslateSegments
from dragoman.documents.sentences import CountTokens, WholeLines
from dragoman.documents.translate import TextTranslator
from dragoman.engines import EngineRequest
from dragoman.engines.choose import ComputeType
from dragoman.errors import UserError
from dragoman.recipe import build_recipe
from dragoman.serving.mixed_batches import DirectionTranslator
from dragoman.serving.page.words import WordTranslator
from dragoman.settings import Decoding
from dragoman.system.device import find_device
from dragoman.text.multilingual import name_direction
from dragoman.translator import Translator


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A translator for one direction.

    Args:
        source: The language that it reads.
        target: The language that it writes.
        translate: Translates segments; several threads may call it at once.
        count_tokens: The number of source tokens of a text; several threads may call it at once.
        bundle: The bundle, if there is one.
        whole_lines: Whether lines are not split into sentences, or which are not.
        words: What the page shows of each word, if there is a bundle.
        is_zero_shot: Whether it was never trained for this direction.
        is_shared: Whether its bundle has other directions, too.
    """

    source: str
    target: str
    translate: TranslateSegments
    count_tokens: CountTokens
    bundle: Bundle | None = None
    whole_lines: WholeLines = False
    words: WordTranslator | None = None
    is_zero_shot: bool = False
    is_shared: bool = False


Route = tuple[ServedModel, ...]
"""One model, or two models with a pivot language between them."""


class ModelTable:
    """The served models by direction.

    Two trained directions with a pivot language between them come before one that a model was never trained for, which
    translated worse in Johnson et al. 2017, table 5. Such a direction is not listed, and is only used where there is
    no pivot. A bundle of one direction replaces that direction of a bundle of several.

    Raises:
        UserError: There is no model, or two bundles of one direction, or two of several, have the same direction.
    """

    def __init__(self, models: Sequence[ServedModel]) -> None:
        self._trained: dict[tuple[str, str], ServedModel] = {}
        self._zero_shot = {(model.source, model.target): model for model in models if model.is_zero_shot}
        for model in models:
            if model.is_zero_shot:
                continue
            other = self._trained.setdefault((model.source, model.target), model)
            if other is not model and other.is_shared == model.is_shared:
                raise UserError(f"two bundles translate from {model.source} to {model.target}; serve one of them")
            if other.is_shared:
                self._trained[model.source, model.target] = model
        if not models:
            raise UserError("no bundle to serve")

    @property
    def models(self) -> list[ServedModel]:
        """The models of trained directions, in the order in which they were given."""
        return list(self._trained.values())

    @property
    def names(self) -> list[str]:
        """The names of all directions that one model translates, such as "de-en"."""
        directions = (*self._trained, *self._zero_shot)
        return [name_direction(each) for each in directions if len(self.route(*each)) == 1]

    @cached_property
    def sources(self) -> list[str]:
        """The languages that can be translated."""
        return list(dict.fromkeys(source for source, _ in self._trained))

    @cached_property
    def languages(self) -> list[str]:
        """All languages."""
        return list(dict.fromkeys(language for pair in self._trained for language in pair))

    def targets(self, source: str) -> list[str]:
        """The languages into which a language can be translated by trained models, directly or by two of them."""
        return [language for language in self.languages if self._trained_route(source, language)]

    def route(self, source: str, target: str) -> Route:
        """The model from one language to another, otherwise two models with a pivot; empty if there are none."""
        untrained = self._zero_shot.get((source, target))
        return self._trained_route(source, target) or ((untrained,) if untrained else ())

    def _trained_route(self, source: str, target: str) -> Route:
        if source == target:
            return ()
        if direct := self._trained.get((source, target)):
            return (direct,)
        for (first, pivot), model in self._trained.items():
            if first == source and (second := self._trained.get((pivot, target))):
                return (model, second)
        return ()


@dataclass(frozen=True)
class ModelOptions:
    """How bundles are opened.

    Args:
        engine: The engine's name; by default the first that supports the settings.
        compute_type: Data type of the engine.
        device: Where to compute.
        overrides: Settings of the search that differ from those of the bundles, ``decoding.KEY=VALUE`` each.
        alternatives: Maximum number of alternatives to return.
        memories: Translation memories by direction, such as "de-en", as recipes name corpora.
        threads: How many threads an engine with its own threads has.
    """

    engine: str | None = None
    compute_type: ComputeType = "auto"
    device: str = "auto"
    overrides: Sequence[str] = ()
    alternatives: int = 0
    memories: Mapping[str, str] = field(default_factory=dict)
    threads: int | None = None


def load_models(paths: Sequence[Path], options: ModelOptions) -> ModelTable:
    """Load bundles.

    Raises:
        UserError: A bundle or a translation memory is missing or damaged, no engine can translate with a bundle, or
            no bundle has the direction of a memory.
    """
    table = ModelTable([model for path in paths for model in _load_directions(path, options)])
    directions = table.names
    if unused := [direction for direction in options.memories if direction not in directions]:
        raise UserError(f"serving.memories: no bundle for {', '.join(unused)}, only for {', '.join(directions)}")
    return table


def _load_directions(path: Path, options: ModelOptions) -> list[ServedModel]:
    """A model for each direction of a bundle; all of them share an engine."""
    directory = find_bundle(path)
    bundle = Bundle.load(directory)
    bundle = replace(bundle, weights=bundle.model)  # read now: the bundle may be replaced while the server runs
    decoding = _with_alternatives(
        build_recipe(bundle.recipe.to_dict(), options.overrides, origin=str(path)).decoding, options.alternatives
    )
    languages = languages_of(bundle)
    if languages and decoding.neighbors is not None:
        raise UserError(f"{path}: decoding.neighbors is for one direction, but this bundle has several")
    device = find_device(options.device)
    request = EngineRequest(
        bundle, decoding, device, directory, options.compute_type, token_scores=False, threads=options.threads
    )
    translator = Translator.open(request, options.engine)
    sources, targets = map(set, zip(*bundle.directions, strict=True))  # without the others, nothing can be translated
    possible = [each for each in permutations(languages, 2) if each[0] in sources and each[1] in targets]
    directions = [choose_direction(bundle, *each) for each in possible] or [bundle]
    translators = [Translator(each, decoding, str(device), engine=translator.engine) for each in directions]
    return [_serve(each, options.memories) for each in translators]


def _serve(translator: Translator, memories: Mapping[str, str]) -> ServedModel:
    bundle, data = translator.bundle, translator.bundle.recipe.data
    languages = data.source_language, data.target_language
    reference = memories.get("-".join(languages))
    texts = TextTranslator(translator, memory=TranslationMemory.read(reference, languages) if reference else None)
    return ServedModel(
        data.source_language,
        data.target_language,
        DirectionTranslator(texts),
        translator.text_search.count_tokens,
        bundle,
        texts.whole_lines,
        WordTranslator(texts),
        bundle.is_zero_shot,
        bool(languages_of(bundle)),
    )


def _with_alternatives(decoding: Decoding, alternatives: int) -> Decoding:
    """Settings that also return other hypotheses of the beam; they do not change the best one."""
    if decoding.sampling or decoding.mbr_samples:
        return decoding
    n_best = min(1 + alternatives, decoding.beam_size)
    return decoding.model_copy(update={"n_best": max(n_best, decoding.n_best)})
