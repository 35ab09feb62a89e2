"""Export to CTranslate2: the model in its format, the tokenizers, and a README with a complete program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dragoman.bundle import Bundle, languages_of
from dragoman.engines import EngineRequest
from dragoman.engines.ctranslate2.convert import COMPUTE_TYPES, unsupported_settings, write_model
from dragoman.engines.ctranslate2.engine import CTranslate2Engine
from dragoman.export.protocol import (
    ExportedModel,
    OutputKind,
    Outputs,
    describe_masking,
    list_other_settings,
    select_settings,
    write_readme,
)
from dragoman.text.subword import SubwordTokenizer
from dragoman.translator import Translator

__all__ = ["COMPUTE_TYPES", "DECODING_SETTINGS", "load", "unsupported", "write"]

README = Path(__file__).with_name("README.md.j2")

DECODING_SETTINGS = (
    "beam_size",
    "length_penalty",
    "max_length",
    "max_length_ratio",
    "max_length_offset",
    "min_length",
    "no_repeat_ngram",
)
"""The decoding settings that the program in the README follows."""


def unsupported(bundle: Bundle) -> list[str]:
    """What CTranslate2 cannot express, see `Exporter.unsupported`."""
    return unsupported_settings(bundle)


def write(bundle: Bundle, directory: Path, compute_type: str) -> None:
    """Write model, vocabularies, tokenizers and README into an existing directory."""
    write_model(bundle, directory, compute_type)
    decoding = bundle.recipe.decoding
    values = {
        "name": bundle.recipe.name,
        "compute_type": compute_type,
        "decoding": decoding,
        "max_length": bundle.model.settings.max_length,
        "eos": json.dumps(bundle.target.vocabulary.specials.eos, ensure_ascii=False),
        "direction": bundle.recipe.data.languages if languages_of(bundle) else None,
        "languages": ", ".join(languages_of(bundle)),
        "start": [bundle.target.vocabulary.tokens[index] for index in bundle.target.language_ids],
        "needs_dragoman": not _tokenizers_suffice(bundle),
        "other_settings": list_other_settings(decoding, DECODING_SETTINGS),
        "placeholders": describe_masking(bundle),
    }
    write_readme(directory, README, values)


def load(bundle: Bundle, directory: Path, compute_type: str) -> ExportedModel:
    """Load what `write` wrote with CTranslate2."""
    return _CTranslate2Model(bundle, directory, compute_type)


def _tokenizers_suffice(bundle: Bundle) -> bool:
    """Whether the library `tokenizers` can encode the source and decode the target."""
    source, target = bundle.source, bundle.target
    return (
        isinstance(source, SubwordTokenizer)
        and isinstance(target, SubwordTokenizer)
        and target.pre_tokenizer == "metaspace"  # the library cannot put words and punctuation together
    )


class _CTranslate2Model:
    """An exported model in CTranslate2, searched by the engine of `dragoman translate`."""

    output_kind: OutputKind = "log-probabilities"

    def __init__(self, bundle: Bundle, directory: Path, compute_type: str) -> None:
        self.decoding = select_settings(bundle.recipe.decoding, DECODING_SETTINGS)
        # CTranslate2 scores given tokens without min_length and no_repeat_ngram, so hypotheses keep their first scores
        request = EngineRequest(
            bundle, self.decoding, compute_type="int8" if compute_type == "int8" else "float32", token_scores=False
        )
        self._engine = CTranslate2Engine(request, directory)
        self._translator = Translator(bundle, self.decoding, engine=self._engine)

    def outputs(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[Outputs]:
        """Log-probabilities of the target tokens and eos."""
        return [np.asarray(scores, np.float32) for scores in self._engine.score_as_converted(sources, targets)]

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Translations, with the bundle's tokenizers."""
        return [str(translation) for translation in self._translator.stream(texts)]
