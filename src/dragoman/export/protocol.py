"""What an exporter implements, and how the parity check uses an exported model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.settings import Decoding
from dragoman.system.templates import template_environment
from dragoman.text.masking import RESERVED, Masking
from dragoman.text.multilingual import MultilingualTokenizer

OutputKind = Literal["logits", "log-probabilities"]
Outputs = NDArray[np.float32]


class ExportedModel(Protocol):
    """An exported model, loaded by the library that computes with it."""

    output_kind: OutputKind
    decoding: Decoding  # settings of `translate`: those that the export contains, the defaults for all others

    def outputs(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[Outputs]:
        """The model's outputs at each target position and after the last one, for pairs of ids without bos and eos.

        Returns:
            For each pair, the logits, (target + 1, vocabulary), or the log-probabilities of the target tokens and eos,
            (target + 1,), normalized over the tokens that a translation can contain.
        """
        ...

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Translations, with the tokenizers in the export if it contains any that the program can use."""
        ...


class Exporter(Protocol):
    """The module of an export format."""

    COMPUTE_TYPES: tuple[str, ...]
    """Data types of the weights; the first is the default."""

    def unsupported(self, bundle: Bundle) -> list[str]:
        """What the format cannot express, by the setting that causes it."""
        ...

    def write(self, bundle: Bundle, directory: Path, compute_type: str) -> None:
        """Write the files of the format into an existing directory."""
        ...

    def load(self, bundle: Bundle, directory: Path, compute_type: str) -> ExportedModel:
        """Load what `write` wrote."""
        ...


def write_readme(directory: Path, template: Path, values: Mapping[str, Any]) -> None:
    """Fill in a template and write it as README.md into a directory."""
    text = template_environment(template.parent, html=False).get_template(template.name).render(values)
    (directory / "README.md").write_text(text, encoding="utf-8")


_SPEED_ONLY = ("batch_tokens", "cache")  # no effect on translations


def select_settings(decoding: Decoding, names: Collection[str]) -> Decoding:
    """The settings with these names; all others have their defaults."""
    return Decoding.model_validate({name: getattr(decoding, name) for name in names})


def list_other_settings(decoding: Decoding, names: Collection[str]) -> str:
    """The settings except those with these names, as Markdown: "`n_best = 1`, `min_length = 0`, …"."""
    others = [name for name in Decoding.model_fields if name not in (*names, *_SPEED_ONLY)]
    return ", ".join(f"`{name} = {_show(getattr(decoding, name))}`" for name in others)


def _show(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return repr(value)
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"


_SECTION = """
## Placeholders

This model was trained with `text.placeholders = true`: in its training text, reserved characters stand for placeholders
such as `%s` and `{{name}}`, tags, URLs, e-mail addresses, file names, emoji and numbers. `dragoman translate` replaces
them in the source, and restores them in the translation. A program that does not do this passes them on as text, which
the model has hardly seen. To copy them exactly, replace each one by a character before encoding, different ones by
different characters, and replace the characters in the translation:

| what | characters |
| --- | --- |
{rows}

In Python, after `from dragoman.text.masking import Masking`, this does it:
{masks} Encode `mask.text`, and call
`mask.restore(translation)`. A translation can lack a character, or contain one that the source does not have: then
`dragoman translate` searches again. It also copies symbols and letters that the training text lacks, and writes
sentences in capital letters as usual; this mask does not.
"""


def without_masking(bundle: Bundle) -> Bundle:
    """The bundle as other programs use it: reserved characters are encoded and decoded like any others."""
    source, target = bundle.source, bundle.target
    if source.masking is None:
        return bundle
    plain = source.with_masking(None)
    return replace(bundle, source=plain, target=plain if target is source else target.with_masking(None))


def describe_masking(bundle: Bundle) -> str:
    """The section about placeholders for the README of an export; empty if the bundle masks nothing."""
    masking = bundle.source.masking
    if masking is None:
        return ""
    rows = "\n".join(
        f"| {kind} | U+{ord(characters[0]):04X} to U+{ord(characters[-1]):04X} |"
        for kind, characters in RESERVED.items()
    )
    maskings = bundle.source.maskings if isinstance(bundle.source, MultilingualTokenizer) else {}
    masks = "".join(f"\n- {name}: {_mask_with(each)}" for name, each in maskings.items())
    return _SECTION.format(rows=rows, masks=f"{masks}\n\n" if maskings else f"{_mask_with(masking)}.")


def _mask_with(masking: Masking) -> str:
    as_text, with_exchange = sorted(masking.numbers_as_text), sorted(masking.numbers_with_exchange)
    return f"`mask = Masking(frozenset({as_text}), None, frozenset({with_exchange})).mask(text)`"
