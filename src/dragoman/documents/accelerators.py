"""Keyboard accelerators in the texts of menus: the letter after ``&``, ``_`` or ``~``."""

from __future__ import annotations

from dataclasses import replace

import regex

from dragoman.text.translation import Translation

_MARK = regex.compile(r"(?<!\S)[&_~](?=\p{L})")


def attach_accelerator(source: str, translation: Translation) -> Translation:
    """The translation with the mark of an accelerator directly before its letter, as in its source.

    Models learn the mark as a word: "&Öffnen" would become "& Open", in which the space is the accelerator.
    """
    if len(marks := _MARK.findall(source)) != 1:
        return translation
    text = regex.sub(rf"(?<!\S){regex.escape(marks[0])} (?=\p{{L}})", marks[0], translation.text, count=1)
    return replace(translation, text=text)
