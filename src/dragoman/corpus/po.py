"""Translated messages in PO files (GNU gettext)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from dragoman.corpus.checks import existing_file, warn_of_unused
from dragoman.corpus.lines import open_binary, read_lines
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.pair_text import make_pair
from dragoman.corpus.references import as_corpus_file, file_name
from dragoman.corpus.rows import open_without_columns
from dragoman.errors import OtherLanguagesError, UserError, counted
from dragoman.languages.codes import find_language, same_language, tag_of_locale
from dragoman.markup.po import PluralForms, find_charset, parse_header, read_messages
from dragoman.markup.units import State
from dragoman.settings import CorpusReference

SYNTAX = "a .po file"
SUFFIXES = (".po",)

_HEADER_BYTES = 10_000
_LOCALE = re.compile(r"[A-Za-z]{2,3}(?:[-_.@][A-Za-z0-9-]+)*")


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The translated messages in this file, and each plural form; UserError if it is missing."""
    return open_without_columns(reference, languages, _read)


def stated_languages(reference: CorpusReference) -> list[str]:
    """The language of the translations, if the header states it; a PO file does not state that of the messages."""
    path = existing_file(file_name(reference))
    with closing(read_lines(path, as_corpus_file(reference).encoding or _find_encoding(path))) as lines:
        first = next(read_messages(lines, str(path)), None)
    header = parse_header(first.target) if first and first.is_header else {}
    return [tag_of_locale(locale)] if (locale := header.get("language", "")) else []


def named_languages(reference: CorpusReference, languages: Languages) -> list[str]:
    """That of the translations, if it is one of two languages, and English, in which messages usually are."""
    path = existing_file(file_name(reference))
    stated = _find_locales(path, next(iter(stated_languages(reference)), ""))
    found = next(filter(None, (find_language(tag_of_locale(locale), languages) for locale in stated)), None)
    return [each for each in languages if each == found or same_language(each, "en")]


def _read(path: Path, encoding: str | None, languages: Languages) -> Iterator[Pair]:
    header: dict[str, str] = {}
    forms = PluralForms()
    forward: bool | None = None
    messages = translated = 0
    with closing(read_lines(path, encoding or _find_encoding(path))) as lines:
        for message in read_messages(lines, str(path)):
            if message.is_header:
                header = parse_header(message.target)
                forms = PluralForms.parse(header.get("plural-forms", ""))
                continue
            if forward is None:
                forward = _find_direction(path, header.get("language", ""), languages)
            messages += 1
            segments = message.segments(forms)
            pairs = {(each.source, each.target): None for each in segments if each.state == State.FINISHED}
            translated += bool(pairs)
            for source, target in pairs:
                texts = (source, target or "") if forward else (target or "", source)
                yield make_pair(*texts, f"{path} line {message.line}")
    if messages and not translated:
        raise UserError(f"{path}: no translations in {counted(messages, 'message')}, apart from fuzzy ones")
    what = "messages are fuzzy or not translated, and not used"
    warn_of_unused(str(path), messages - translated, messages, what)


def _find_encoding(path: Path) -> str | None:
    """The encoding that the header declares, if it is not UTF-8."""
    try:
        with open_binary(path) as stream:
            charset = find_charset(stream.read(_HEADER_BYTES)).lower()
    except (EOFError, OSError, zlib.error):  # reading the lines reports this
        return None
    return None if charset in ("utf-8", "utf8", "us-ascii", "ascii") else charset


def _find_locales(path: Path, declared: str) -> list[str]:
    """The locale in the header, or else the parts of the path that may be one, the last one first."""
    parts = re.split(r"[./]", path.as_posix().removesuffix(".gz").removesuffix(".po"))
    return [tag for tag in ([declared] if declared else reversed(parts)) if _LOCALE.fullmatch(tag)]


def _find_direction(path: Path, declared: str, languages: Languages) -> bool:
    """Whether the translations are in the target language: the header decides, or else the path.

    Raises:
        UserError: They are in neither language, or in an unknown one.
    """
    for tag in _find_locales(path, declared):
        if find_language(languages[1], (tag_of_locale(tag),)):
            return True
        if find_language(languages[0], (tag_of_locale(tag),)):
            return False
    if declared:
        raise OtherLanguagesError(
            f"{path}: its translations are in {declared}, not in {languages[0]} or {languages[1]}"
        )
    raise OtherLanguagesError(
        f"{path}: the language of its translations is not known; if it is {languages[1]}, add "
        f"'Language: {languages[1]}\\n' to its header, or name the file {languages[1]}.po; if it is {languages[0]}, do "
        f"the same with {languages[0]}"
    )
