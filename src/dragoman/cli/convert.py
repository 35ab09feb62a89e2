"""dragoman convert."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.options import DataDirectory
from dragoman.cli.output import file_for_standard_input, file_for_standard_output
from dragoman.cli.text_files import (
    ColumnsOption,
    DelimiterOption,
    EncodingOption,
    HeaderOption,
    QuotesOption,
    TwoLanguagesOption,
)
from dragoman.cli.text_references import FileOptions, find_references, refuse_meaningless_options
from dragoman.errors import UserError, counted, escape_controls

if TYPE_CHECKING:
    from dragoman.corpus.pair import Corpus, Languages


def convert(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT... OUTPUT",
            help="Files in any format, or two line-aligned files; then the file to write: .tsv, .jsonl or .tmx, plain "
            "or .gz, or a name with {lang} for two line-aligned files.",
        ),
    ],
    languages: TwoLanguagesOption = None,
    encoding: EncodingOption = None,
    delimiter: DelimiterOption = None,
    columns: ColumnsOption = None,
    header: HeaderOption = None,
    quotes: QuotesOption = None,
    clean: Annotated[bool, typer.Option("--clean", help="Leave out pairs in which the doctor finds problems.")] = False,
    data_dir: DataDirectory = None,
) -> None:
    """Convert parallel text to another format.

    Reads TMX, XLIFF, PO, CSV, TSV, XLSX, JSONL, ZIP and line-aligned files. Pairs with an empty side are left out.
    The name - means standard input or output, as TSV.

    Example: dragoman convert memory.tmx pairs.tsv --languages de-en
    """
    if len(files) < 2:
        raise UserError(f"expected files to read and a file to write, but only {files[0]} was given")
    *inputs, output = files
    options = FileOptions(languages, encoding, delimiter, columns, header, quotes)
    with ExitStack() as streams:
        paths = [_path_of_input(each, streams) for each in inputs]
        path = streams.enter_context(file_for_standard_output("pairs.tsv")) if output == "-" else output
        summary = _convert(paths, str(path), options, data_dir, clean)
    print(f"{output}: {summary}", file=sys.stderr if output == "-" else sys.stdout)


def _path_of_input(name: str, streams: ExitStack) -> str:
    return str(streams.enter_context(file_for_standard_input("pairs.tsv"))) if name == "-" else name


def _convert(inputs: Sequence[str], output: str, options: FileOptions, data_directory: Path | None, clean: bool) -> str:
    """Convert files; describes how many pairs were written and left out."""
    from dragoman.corpus.corpus import find_corpora
    from dragoman.corpus.references import has_suffix
    from dragoman.corpus.writers import check_output, write_corpus
    from dragoman.doctor.data.cleaned_text import clean_corpora
    from dragoman.doctor.data.corpora import Corpora
    from dragoman.system.files import temporary_directory
    from dragoman.system.progress import no_log

    references, (source, target) = find_references(inputs, options, languages_needed=not has_suffix(output, ".tsv"))
    refuse_meaningless_options(inputs, options)
    check_output(output, (source, target))
    found = find_corpora(references, source_language=source, target_language=target, data_directory=data_directory)
    stated = _stated_languages(found, (source, target))
    if stated != (source, target) and not has_suffix(output, ".tsv"):
        print(
            f"{output}: cannot state that {' and '.join(each.name for each in found)} is machine-translated, as .tsv "
            "files do; in a recipe, write tagged = true",
            file=sys.stderr,
        )
    left_out = ""
    with temporary_directory() as directory:
        if clean:
            corpora = Corpora(source, target, references, data_directory=data_directory)
            cleaned = clean_corpora(corpora, no_log, directory)  # not in the cache: the result is a file
            if cleaned.is_mostly_left_out:
                raise UserError(f"most of the text has problems; {cleaned}; correct it, or convert without --clean")
            for finding in (*cleaned.errors, *cleaned.warnings):
                print(escape_controls(finding), file=sys.stderr)
            left_out = f"; {cleaned}"
            found = find_corpora([cleaned.files], source_language=source, target_language=target)
        languages = stated if has_suffix(output, ".tsv") else (source, target)
        written, blank = write_corpus((pair for corpus in found for pair in corpus.read()), output, languages)
    if blank:
        left_out = f"; left out {counted(blank, 'pair')} with an empty side"
    return f"{counted(written, 'pair')}{left_out}"


def _stated_languages(corpora: Sequence[Corpus], languages: Languages) -> Languages:
    """The languages, with the mark of the text that a machine has translated.

    Raises:
        UserError: The mark holds for some corpora, and not for others.
    """
    from dragoman.languages.codes import plain_tag, same_language

    def state(corpus: Corpus) -> Languages:
        source, target = (
            next((tag for tag in corpus.machine_tags if same_language(plain_tag(tag), language)), language)
            for language in languages
        )
        return source, target

    found = [state(corpus) for corpus in corpora]
    if len(set(found)) > 1:
        one, other = next((a.name, b.name) for a, b in pairwise(corpora) if state(a) != state(b))
        raise UserError(
            f"{one} and {other}: of one, other text is machine-translated than of the other, but a file has one header "
            "row for all; convert them one by one"
        )
    return found[0]
