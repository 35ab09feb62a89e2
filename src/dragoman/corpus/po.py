"""Translated messages in PO files (GNU gettext).

Our own reader instead of a library: those load the whole file, and skip the rest of a damaged one without an error.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from dragoman.corpus.checks import existing_file, warn_of_unused
from dragoman.corpus.lines import open_binary, read_lines
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.pair_text import make_pair
from dragoman.corpus.po_messages import read_messages, singular_form
from dragoman.corpus.references import as_corpus_file, file_name, has_suffix, refuse_settings
from dragoman.corpus.rows import open_single_file
from dragoman.errors import UserError, counted
from dragoman.languages.codes import find_language, tag_of_locale
from dragoman.settings import CorpusReference

SYNTAX = "a .po file"

_CHARSET = re.compile(rb"charset=([\w.:-]+)")
_LOCALE = re.compile(r"[A-Za-z]{2,3}(?:[-_.@][A-Za-z0-9-]+)*")


def recognizes(reference: CorpusReference) -> bool:
    """Whether this is a path that ends in ``.po`` or ``.po.gz``."""
    return has_suffix(reference, ".po")


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The translated messages in this file, of plural forms the singular; UserError if it is missing."""
    refuse_settings(reference, "delimiter", "columns", "header", "quotes")
    return open_single_file(reference, partial(_read, encoding=as_corpus_file(reference).encoding, languages=languages))


def stated_languages(reference: CorpusReference) -> list[str]:
    """The language of the translations, if the header states it; a PO file does not state that of the messages."""
    path = existing_file(file_name(reference))
    with closing(read_lines(path, as_corpus_file(reference).encoding or _find_charset(path))) as lines:
        first = next(read_messages(lines, str(path)), None)
    header = _parse_header(first.target) if first and not first.source else {}
    return [tag_of_locale(locale)] if (locale := header.get("language", "")) else []


def _read(path: Path, encoding: str | None, languages: Languages) -> Iterator[Pair]:
    header: dict[str, str] = {}
    forward: bool | None = None
    messages = translated = singular = 0
    with closing(read_lines(path, encoding or _find_charset(path))) as lines:
        for message in read_messages(lines, str(path)):
            if not message.source and not message.context:
                header = _parse_header(message.target)
                singular = singular_form(header.get("plural-forms", ""))
                continue
            if forward is None:
                forward = _find_direction(path, header.get("language", ""), languages)
            messages += 1
            target = message.target_for_one(singular)
            if target and not message.fuzzy:
                translated += 1
                texts = (message.source, target) if forward else (target, message.source)
                yield make_pair(*texts, f"{path} line {message.line}")
    if messages and not translated:
        raise UserError(f"{path}: no translations in {counted(messages, 'message')}, apart from fuzzy ones")
    what = "messages are fuzzy or not translated, and not used"
    warn_of_unused(str(path), messages - translated, messages, what)


def _parse_header(text: str) -> dict[str, str]:
    fields = (line.partition(":") for line in text.split("\n"))
    return {key.strip().lower(): value.strip() for key, colon, value in fields if colon}


def _find_charset(path: Path) -> str | None:
    """The encoding that the header declares, if it is not UTF-8."""
    try:
        with open_binary(path) as stream:
            match = _CHARSET.search(stream.read(10_000))
    except (EOFError, OSError, zlib.error):  # reading the lines reports this
        return None
    charset = match[1].decode().lower() if match else "utf-8"
    return None if charset in ("utf-8", "utf8", "us-ascii", "ascii", "charset") else charset


def _find_direction(path: Path, declared: str, languages: Languages) -> bool:
    """Whether the translations are in the target language: the header decides, or else the path.

    Raises:
        UserError: They are in neither language, or in an unknown one.
    """
    parts = re.split(r"[./]", path.as_posix().removesuffix(".gz").removesuffix(".po"))
    for tag in [declared] if declared else reversed(parts):
        if _LOCALE.fullmatch(tag):
            if find_language(languages[1], (tag_of_locale(tag),)):
                return True
            if find_language(languages[0], (tag_of_locale(tag),)):
                return False
    if declared:
        raise UserError(f"{path}: its translations are in {declared}, not in {languages[0]} or {languages[1]}")
    raise UserError(
        f"{path}: the language of its translations is not known; if it is {languages[1]}, add "
        f"'Language: {languages[1]}\\n' to its header, or name the file {languages[1]}.po; if it is {languages[0]}, do "
        f"the same with {languages[0]}"
    )
