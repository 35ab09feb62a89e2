"""Message catalogs (PO): the missing translations are added and marked as fuzzy, for review by a translator."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from dragoman.corpus.po_messages import read_messages
from dragoman.documents.formats.characters import Characters, read_characters
from dragoman.documents.formats.file import DocumentFile
from dragoman.documents.plain_text import PlainText
from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.errors import UserError

_CHARSET = re.compile(rb"Content-Type:[^\n]*?charset=([\w.:-]+)", re.IGNORECASE)


class PoDocument:
    """The messages without a translation; their plural forms, comments and order are kept.

    Raises:
        UserError: It is not a PO file.
    """

    def __init__(self, file: DocumentFile) -> None:
        self._file = file
        self._texts = [
            PlainText(text, file.languages[0], file.whole_lines)
            for unit in _find_untranslated(_parse(file))
            for text in _sources(unit)
        ]
        self.segments: Sequence[Segment] = [segment for text in self._texts for segment in text.segments]

    def assemble(self, translations: Sequence[TranslatedSegment]) -> bytes:
        """The file with the translation of each segment."""
        remaining = iter(translations)
        texts = (text.assemble(list(islice(remaining, len(text.segments)))) for text in self._texts)
        store = _parse(self._file)
        forms = _count_forms(store)
        for unit in _find_untranslated(store):
            translated = [next(texts) for _ in _sources(unit)]
            unit.target = translated if len(translated) == 1 else _plural_forms(translated, forms)
            unit.markfuzzy()
        return bytes(store)
