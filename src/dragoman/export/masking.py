"""Exports of bundles that mask spans: other programs see reserved tokens as ordinary characters."""

from __future__ import annotations

from dataclasses import replace

from dragoman.bundle import Bundle
from dragoman.text.masked_text import masking_of
from dragoman.text.masking import RESERVED
from dragoman.text.subword import SubwordTokenizer

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
`mask = Masking(frozenset({as_text}), None, frozenset({with_exchange})).mask(text)`. Encode `mask.text`, and call
`mask.restore(translation)`. A translation can lack a character, or contain one that the source does not have: then
`dragoman translate` searches again. It also copies symbols and letters that the training text lacks, and writes
sentences in capital letters as usual; this mask does not.
"""


def without_masking(bundle: Bundle) -> Bundle:
    """The bundle as other programs use it: reserved characters are encoded and decoded like any others."""
    source, target = bundle.source, bundle.target
    if not isinstance(source, SubwordTokenizer) or not isinstance(target, SubwordTokenizer) or not source.masking:
        return bundle
    plain = source.with_masking(None)
    return replace(bundle, source=plain, target=plain if target is source else target.with_masking(None))


def describe_masking(bundle: Bundle) -> str:
    """The section about placeholders for the README of an export; empty if the bundle masks nothing."""
    masking = masking_of(bundle.source)
    if masking is None:
        return ""
    rows = "\n".join(
        f"| {kind} | U+{ord(characters[0]):04X} to U+{ord(characters[-1]):04X} |"
        for kind, characters in RESERVED.items()
    )
    return _SECTION.format(
        rows=rows, as_text=sorted(masking.numbers_as_text), with_exchange=sorted(masking.numbers_with_exchange)
    )
