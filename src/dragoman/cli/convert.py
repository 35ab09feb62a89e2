"""dragoman convert."""

from __future__ import annotations

from typing import Annotated

import typer

from dragoman.cli.options import DataDirectory
from dragoman.cli.text_files import (
    ColumnsOption,
    DelimiterOption,
    EncodingOption,
    FileOptions,
    HeaderOption,
    LanguagesOption,
    QuotesOption,
    find_references,
    refuse_meaningless_options,
)
from dragoman.errors import UserError, counted


def convert(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT... OUTPUT",
            help="Files in any format, or two line-aligned files; then the file to write: .tsv, .jsonl or .tmx, plain "
            "or .gz, or a name with {lang} for two line-aligned files.",
        ),
    ],
    languages: LanguagesOption = None,
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

    Example: dragoman convert memory.tmx pairs.tsv --languages de-en
    """
    from dragoman.corpus.corpus import find_corpora
    from dragoman.corpus.references import has_suffix
    from dragoman.corpus.writers import check_output, write_corpus

    if len(files) < 2:
        raise UserError(f"expected files to read and a file to write, but only {files[0]} was given")
    *inputs, output = files
    options = FileOptions(languages, encoding, delimiter, columns, header, quotes)
    names_languages = not has_suffix(output, ".tsv")
    references, codes = find_references(inputs, options, languages_needed=names_languages)
    refuse_meaningless_options(inputs, options)
    check_output(output, codes)
    corpora = find_corpora(references, source_language=codes[0], target_language=codes[1], data_directory=data_dir)
    pairs = (pair for corpus in corpora for pair in corpus.read())
    if clean:
        from dragoman.doctor.data.cleaned_pairs import cleaned_pairs
        from dragoman.doctor.data.corpora import Corpora

        total = sum(1 for _ in pairs)  # also reports damage that the doctor would skip
        with cleaned_pairs(Corpora(*codes, references, data_directory=data_dir)) as kept:
            written, _ = write_corpus(kept, output, codes)
        left_out = total - written
    else:
        written, left_out = write_corpus(pairs, output, codes)
    print(f"{output}: {counted(written, 'pair')}" + (f"; left out {counted(left_out, 'pair')}" if left_out else ""))
