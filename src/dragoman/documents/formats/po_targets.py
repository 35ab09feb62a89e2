"""Message catalogs (PO): the missing translations are added and marked as fuzzy, for review by a translator."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from dragoman.corpus.language_tags import looks_like_tag
from dragoman.corpus.po_messages import find_byte_escape, read_messages, singular_form
from dragoman.documents.formats.characters import Characters, read_characters
from dragoman.documents.formats.file import DocumentFile
from dragoman.documents.formats.po_header import declare_charset, find_charset, find_codec
from dragoman.documents.formats.strings import string_parts
from dragoman.documents.passage import find_segments, write_parts
from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.errors import UserError
from dragoman.text.world_languages import primary_language

_DECLARED = re.compile(r"charset=\s*+(\S++)")


class PoDocument:
    """The messages without a translation; their plural forms, comments and order are kept.

    Raises:
        UserError: It is not a PO file, or its translations are in another language.
    """

    def __init__(self, file: DocumentFile) -> None:
        self._file = file
        store = _parse(file)
        _require_language(store.parseheader().get("Language", ""), file)
        writing = file.writing(lambda text: text)
        self._texts = [string_parts(text, writing) for unit in _find_untranslated(store) for text in _sources(unit)]
        self.segments: Sequence[Segment] = [segment for parts in self._texts for segment in find_segments(parts)]

    def assemble(self, translations: Sequence[TranslatedSegment]) -> bytes:
        """The file with the translation of each segment."""
        remaining, characters = iter(translations), _read(self._file)
        texts = (write_parts(parts, remaining) for parts in self._texts)
        store = _parse(self._file)
        forms, singular = _count_forms(store), singular_form(store.parseheader().get("Plural-Forms", ""))
        for unit in _find_untranslated(store):
            translated = [next(texts) for _ in _sources(unit)]
            unit.target = translated if len(translated) == 1 else _plural_forms(translated, forms, singular)
            unit.markfuzzy()
        return _in_charset(bytes(store), characters.encoding)


def _require_language(stated: str, file: DocumentFile) -> None:
    """Check that a header states the target language, or none, or that of the messages, as templates do."""
    if looks_like_tag(stated) and primary_language(stated) not in map(primary_language, file.languages):
        raise UserError(
            f"{file.name}: its translations are in {stated}, but the translator is from {file.languages[0]} to "
            f"{file.languages[1]}; choose another translator, or correct the line Language in its header"
        )


def _in_charset(content: bytes, charset: str) -> bytes:
    """A file in UTF-8 in another encoding, unless that lacks a character."""
    if charset.startswith("utf"):
        return content
    try:
        return declare_charset(content, charset).decode().encode(charset)
    except UnicodeEncodeError:
        return content


def _parse(file: DocumentFile) -> Any:
    """The file as translate-toolkit reads it, which is less strict than we are."""
    from translate.storage.pypo import pofile

    characters = _read(file)
    if escape := find_byte_escape(characters.text):  # which the library would read as digits
        raise UserError(
            f"{file.name}: contains {escape}, the number of a byte; convert it: msgcat {file.name} -o NEW.po"
        )
    messages = list(read_messages(characters.text.split("\n"), file.name))
    declared = _DECLARED.search(messages[0].target) if messages else None
    if declared and declared[1] not in ("CHARSET", find_charset(file.data)):  # which the library would believe
        raise UserError(f"{file.name}: its header is not valid; check it with: msgfmt -c {file.name}")
    try:
        is_unicode = characters.encoding.startswith("utf")
        data = file.data if is_unicode else declare_charset(characters.text.encode(), "UTF-8")
        store: Any = pofile.parsestring(data)  # type: ignore[no-untyped-call]
        same = sum(not unit.isobsolete() for unit in store.units) == len(messages)
    except Exception as error:  # the library raises errors of many types
        raise UserError(f"{file.name}: not a valid PO file ({error}); export it again") from None
    if not same:
        raise UserError(f"{file.name}: not a valid PO file; check it with: msgfmt -c {file.name}")
    return store


def _read(file: DocumentFile) -> Characters:
    """The characters of a file, in the encoding that its header declares."""
    charset = find_charset(file.data)
    try:
        if find_codec(charset) in ("ascii", "utf-8"):
            return read_characters(file)
        return Characters(file.data.decode(charset), charset)
    except (LookupError, UnicodeError):
        raise UserError(f"{file.name}: is not {charset}, which its header declares; save it as UTF-8") from None


def _find_untranslated(store: Any) -> Iterator[Any]:
    for unit in store.units:
        if unit.istranslatable() and unit.source and not any(map(str, _targets(unit))):
            yield unit


def _targets(unit: Any) -> Sequence[Any]:
    return unit.target.strings if unit.hasplural() else [unit.target]


def _sources(unit: Any) -> list[str]:
    """The message, and its plural form if it has one."""
    return [str(text) for text in (unit.source.strings if unit.hasplural() else [unit.source])]


def _count_forms(store: Any) -> int:
    """The number of plural forms of the target language."""
    count, _ = store.getheaderplural()
    if count and str(count).isdecimal() and 1 <= int(count) <= 6:
        return int(count)
    return max((len(_targets(unit)) for unit in store.units if unit.hasplural()), default=2)


def _plural_forms(translated: Sequence[str], count: int, singular: int) -> list[str]:
    """The forms of a message: that for one is the translation of the singular, unless there is only one form."""
    return [translated[0 if number == singular and count > 1 else -1] for number in range(count)]
