"""Bundles on disk that translate together, such as teachers of another translator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dragoman.bundle import Bundle, choose_direction, find_bundle, languages_of, same_languages
from dragoman.corpus.pair import Languages
from dragoman.engines import EngineRequest, choose
from dragoman.engines.choose import ComputeType
from dragoman.engines.torch_engine import check_tokenizers
from dragoman.errors import UserError
from dragoman.settings import Text
from dragoman.text.tokenizer import Tokenizer
from dragoman.translator import Translator, choose_decoding


@dataclass(frozen=True)
class BundleEnsemble:
    """One or several bundles on disk; several are an ensemble.

    Attributes:
        bundles: The bundles, in the wanted direction.
        paths: Their directories.
    """

    bundles: Sequence[Bundle]
    paths: Sequence[Path]

    @classmethod
    def load(cls, paths: Sequence[str], languages: Languages) -> BundleEnsemble:
        """Load bundles or the bundles of run directories.

        Raises:
            UserError: One is missing or damaged, translates other languages, or has other tokenizers.
        """
        bundles = [_load_in_direction(path, languages) for path in paths]
        check_tokenizers(bundles[0], bundles[1:])
        return cls(bundles, [find_bundle(path) for path in paths])

    def open(self, device: torch.device, compute_type: ComputeType = "auto", **search: Any) -> Translator:
        """The translator on a device.

        Args:
            device: Where to compute.
            compute_type: Data type of the engine.
            search: Changes to the settings of the search of the first bundle, by name.
        """
        return Translator.open(self._request(device, compute_type, search))

    def open_in_int8_if_possible(self, device: torch.device, **search: Any) -> Translator:
        """The translator; on a CPU in int8, if an engine computes with it there, and otherwise in float32.

        In int8, a few translations depend on the texts that are translated together with a text.

        Args:
            device: Where to compute.
            search: As for `open`.
        """
        try:
            choose(self._request(device, "int8", search))
        except UserError:  # no engine supports it
            return self.open(device, **search)
        return self.open(device, "int8", **search)

    def _request(self, device: torch.device, compute_type: ComputeType, search: dict[str, Any]) -> EngineRequest:
        """The request for an engine of the first bundle."""
        first = self.bundles[0]
        return EngineRequest(
            bundle=first,
            decoding=choose_decoding(first, search),
            device=device,
            path=self.paths[0],
            compute_type=compute_type,
            token_scores=False,
            ensemble=self.bundles[1:],
        )

    def tokenizers_for(self, text: Text) -> tuple[Tokenizer, Tokenizer] | None:
        """Those of source and target, if a translator with this section `text` can have them."""
        first = self.bundles[0]
        changes = {
            "vocabulary_size": largest_vocabulary(first),
            "bpe_dropout": text.bpe_dropout,  # only training has it
        }
        own = first.recipe.text.model_copy(update=changes)
        return (first.source, first.target) if own == text and not languages_of(first) else None


def largest_vocabulary(bundle: Bundle) -> int:
    """The setting `text.vocabulary_size` that fits a bundle; imported vocabularies can be larger than their setting."""
    sizes = (len(side.vocabulary) for side in (bundle.source, bundle.target))
    return max(bundle.recipe.text.vocabulary_size, *sizes)


def _load_in_direction(path: str, languages: Languages) -> Bundle:
    """A bundle for these languages, apart from regions; raises UserError if it is not for them."""
    bundle = Bundle.load(path)
    _ = bundle.model  # read now: the work can take hours, and the bundle may be replaced
    if languages_of(bundle):
        return choose_direction(bundle, *languages)
    own = bundle.recipe.data.languages
    if not same_languages(own, languages):
        raise UserError(f"{path}: translates from {own[0]} to {own[1]}, not from {languages[0]} to {languages[1]}")
    return bundle
