"""Message catalogs (PO): the missing translations are added and marked as fuzzy, for review by a translator."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.documents.formats.characters import Characters, read_characters
from dragoman.documents.formats.file import DocumentFile
from dragoman.documents.formats.strings import string_parts
from dragoman.documents.passage import Part, find_segments, write_parts
from dragoman.documents.segment import Segment
from dragoman.errors import UserError
from dragoman.languages.codes import looks_like_tag, may_be_written_as, tag_of_locale
from dragoman.markup.po import (
    Message,
    PluralForms,
    declare_charset,
    declares_utf8,
    fill_message,
    find_charset,
    find_codec,
    parse_header,
    read_messages,
)
from dragoman.markup.units import State
from dragoman.text.translation import Translation


class PoDocument:
    """The messages without a translation, and the plural forms; everything else stays as it is.

    Raises:
        UserError: It is not a PO file, or its translations are in another language.
    """

    def __init__(self, file: DocumentFile) -> None:
        self._characters = _read(file)
        self._lines = self._characters.text.split("\n")
        messages = list(read_messages(self._lines, file.name))
        header = parse_header(messages[0].target) if messages and messages[0].is_header else {}
        _require_language(header.get("language", ""), file)
        forms = PluralForms.parse(header.get("plural-forms", ""))
        writing = file.writing(str)
        self._messages: list[tuple[Message, dict[str, str], dict[str, list[Part]]]] = []
        for message in messages:
            sources = _find_missing(message, forms)
            if sources:
                parts = {source: string_parts(source, writing) for source in dict.fromkeys(sources.values())}
                self._messages.append((message, sources, parts))
        self.segments: Sequence[Segment] = [
            segment for _, _, texts in self._messages for parts in texts.values() for segment in find_segments(parts)
        ]

    def assemble(self, translations: Sequence[Translation]) -> bytes:
        """The file with the translation of each segment."""
        remaining = iter(translations)
        lines = [[line] for line in self._lines]
        for message, sources, texts in self._messages:
            written = {source: write_parts(parts, remaining) for source, parts in texts.items()}
            fill_message(lines, message, {keyword: written[source] for keyword, source in sources.items()})
        return _encode("\n".join(line for each in lines for line in each), self._characters)


def _find_missing(message: Message, forms: PluralForms) -> dict[str, str]:
    """The texts that lack a translation, by the keyword of it."""
    segments = message.segments(forms) if message.source else []
    return {each.key: each.source for each in segments if each.state == State.MISSING and each.source}


def _require_language(stated: str, file: DocumentFile) -> None:
    """Check that a header states the target language, or none, or that of the messages, as templates do."""
    tag = tag_of_locale(stated)
    if looks_like_tag(tag) and not any(may_be_written_as(language, tag) for language in file.languages):
        raise UserError(
            f"{file.name}: its translations are in {stated}, but the translator is from {file.languages[0]} to "
            f"{file.languages[1]}; choose other languages or another translator, or correct the line Language in its "
            "header"
        )


def _read(file: DocumentFile) -> Characters:
    """The characters of a file, in the encoding that its header declares."""
    charset = find_charset(file.data)
    try:
        if find_codec(charset) in ("ascii", "utf-8"):
            return read_characters(file)
        return Characters(file.data.decode(charset), charset)
    except (LookupError, UnicodeError):
        raise UserError(f"{file.name}: is not {charset}, which its header declares; save it as UTF-8") from None


def _encode(text: str, characters: Characters) -> bytes:
    """The file in its encoding, or in UTF-8 if that, or the declared one, lacks a character."""
    try:
        content = characters.encode(text)
    except UnicodeEncodeError:
        return declare_charset(text.encode(), "UTF-8")
    is_new = characters.encoding == "utf-8" and characters.text.isascii() and not text.isascii()
    return declare_charset(content, "UTF-8") if is_new and not declares_utf8(content) else content
