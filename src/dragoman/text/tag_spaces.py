"""Spaces next to tags in translations of models that have learned from few tags."""

from __future__ import annotations

from collections.abc import Mapping

import regex


def place_tag_spaces(source: str, translation: str, spans: Mapping[str, str]) -> str:
    """A translation whose tags enclose no space where those of the source enclose none: it is moved out of them.

    It is dropped if no word follows outside, or if the source joins the tag to a word there, as in ``<b>un</b>like``.

    Args:
        source: The sentence, with a character in place of each span.
        translation: Its translation, with the same characters.
        spans: What each character stands for.
    """
    tags = {character: span for character, span in spans.items() if span.startswith("<") and span.endswith(">")}
    word = rf"[\p{{L}}\p{{M}}\p{{N}}{''.join(spans.keys() - tags.keys())}]"
    for tag, span in tags.items():
        if span.startswith("</"):
            inside, moved, before, after = f" {tag}", f"{tag} ", "", f"(?={word})"
        else:
            inside, moved, before, after = f"{tag} ", f" {tag}", f"(?<={word})", ""
        if inside not in translation or inside in source or span.endswith("/>"):
            continue
        if not regex.search(f"{before}{tag}{after}", source):
            translation = regex.sub(f"{before}{inside}{after}", moved, translation)
        translation = translation.replace(inside, tag)
    return translation
