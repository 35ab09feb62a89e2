"""Writing sentence pairs to files: TSV, JSONL, TMX and line-aligned text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from typing import IO
from xml.sax.saxutils import escape, quoteattr

from dragoman.corpus.delimited import is_quoted, looks_quoted
from dragoman.corpus.pair import Languages, Pair
from dragoman.errors import UserError
from dragoman.languages.codes import is_machine_translated
from dragoman.system.files import atomic_text_file
from dragoman.system.version import __version__

Writer = Callable[[Pair], None]

_TMX_START = """\
<?xml version="1.0" encoding="utf-8"?>
<tmx version="1.4">
<header creationtool="dragoman" creationtoolversion="{version}" o-tmf="dragoman" datatype="plaintext" \
segtype="sentence" adminlang="en" srclang={language}/>
<body>
"""
_NOT_XML = re.compile("[\ufffe\uffff]")  # the only text that readers accept and XML does not allow


def write_corpus(pairs: Iterable[Pair], output: str, languages: Languages) -> tuple[int, int]:
    """Write the pairs that have text on both sides. Files appear only once they are complete.

    Args:
        pairs: The pairs, which are not kept in memory.
        output: A path with one of the suffixes of `WRITERS`, perhaps followed by ``.gz``, or a pattern with ``{lang}``.
        languages: Source and target. A .tsv file states them in a header row if a machine has translated one side, see
            `machine_translated`; files of other formats do not.

    Returns:
        The number of pairs that were written, and of those that were left out.

    Raises:
        UserError: The format is unknown, or a file exists or cannot be written.
    """
    check_output(output, languages)
    written = left_out = 0
    with _find_writer(output)(output, languages) as write:
        for pair in pairs:
            if pair.complete:
                write(pair)
                written += 1
            else:
                left_out += 1
        check_output(output, languages)  # another process may have written it in the meantime
    return written, left_out


def check_output(output: str, languages: Languages) -> None:
    """Check that a corpus can be written there.

    Raises:
        UserError: The format is unknown or does not suit the languages, or a file exists.
    """
    _find_writer(output)
    if languages[0] == languages[1] and ("{lang}" in output or ".jsonl" in Path(output).suffixes):
        raise UserError(f"{output}: both sides are {languages[0]}, and would replace each other; write a .tsv file")
    paths = written_files(output, languages)
    existing = [path for path in paths if path.is_file() or path.is_dir()]  # a named pipe is written to
    if existing:
        killed = " if an interrupted command has left it" if len(existing) < len(paths) else ""
        names = " and ".join(map(str, existing))
        raise UserError(f"{names}: already exists; choose another name, or delete it{killed}")
    for path in paths:
        if not path.parent.is_dir():
            raise UserError(f"{path}: there is no directory {path.parent}")


def written_files(output: str, languages: Languages) -> list[Path]:
    """The files that `write_corpus` writes: one, or two if the output is a pattern."""
    return list(dict.fromkeys(Path(output.replace("{lang}", language)) for language in languages))


def _find_writer(output: str) -> Callable[[str, Languages], AbstractContextManager[Writer]]:
    suffix = "{lang}" if "{lang}" in output else Path(output.lower().removesuffix(".gz")).suffix
    if suffix not in WRITERS:
        formats = ", ".join(key for key in WRITERS if key != "{lang}")
        raise UserError(f"{output}: expected a name that ends in {formats}, or a pattern such as corpus.{{lang}}")
    return WRITERS[suffix]


@contextmanager
def _open_aligned(output: str, languages: Languages) -> Iterator[Writer]:
    source_path, target_path = written_files(output, languages)
    with atomic_text_file(source_path) as source, atomic_text_file(target_path) as target:

        def write(pair: Pair) -> None:
            source.write(f"{pair.source}\n")
            target.write(f"{pair.target}\n")

        yield write
        source.flush()  # so that a full disk is noticed before the target appears


@contextmanager
def _open_tsv(output: str, languages: Languages) -> Iterator[Writer]:
    with atomic_text_file(Path(output)) as file:
        if any(map(is_machine_translated, languages)):
            _write_line(file, "\t".join(languages))
        numbers = count(1)
        yield lambda pair: _write_line(file, tsv_line(pair, next(numbers)))


def tsv_line(pair: Pair, number: int) -> str:
    """The line of a pair in a TSV file, without its end.

    A space is added before a text whose quotation marks could be read as those of Excel.

    Args:
        pair: The pair.
        number: The number of the line, from 1.
    """
    texts = [text.replace("\t", " ") for text in (pair.source, pair.target)]
    all_quoted = number <= 2 and all(map(is_quoted, texts))  # a file that begins with quoted rows is refused
    return "\t".join(f" {text}" if all_quoted or looks_quoted(text) else text for text in texts)


@contextmanager
def _open_jsonl(output: str, languages: Languages) -> Iterator[Writer]:
    source, target = languages
    with atomic_text_file(Path(output)) as file:
        yield lambda pair: _write_line(file, json.dumps({source: pair.source, target: pair.target}, ensure_ascii=False))


@contextmanager
def _open_tmx(output: str, languages: Languages) -> Iterator[Writer]:
    source, target = map(quoteattr, languages)
    with atomic_text_file(Path(output)) as file:
        file.write(_TMX_START.format(language=source, version=__version__))
        yield lambda pair: _write_line(
            file,
            f"<tu><tuv xml:lang={source}><seg>{_escape(pair.source)}</seg></tuv>"
            f"<tuv xml:lang={target}><seg>{_escape(pair.target)}</seg></tuv></tu>",
        )
        file.write("</body>\n</tmx>\n")


def _write_line(file: IO[str], line: str) -> None:
    file.write(f"{line}\n")


def _escape(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))


WRITERS = {"{lang}": _open_aligned, ".tsv": _open_tsv, ".jsonl": _open_jsonl, ".tmx": _open_tmx}
"""By the suffix of the output."""
