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
    from dragoman.system.progress import no_log

    if len(files) < 2:
        raise UserError(f"expected files to read and a file to write, but only {files[0]} was given")
    *inputs, output = files
    options = FileOptions(languages, encoding, delimiter, columns, header, quotes)
    names_languages = not has_suffix(output, ".tsv")
    references, codes = find_references(inputs, options, languages_needed=names_languages)
    refuse_meaningless_options(inputs, options)
    check_output(output, codes)
    left_out_by = ""
    if clean:
        from dragoman.doctor.data.cleaned_text import clean_corpora
        from dragoman.doctor.data.corpora import Corpora

        cleaned = clean_corpora(Corpora(*codes, references, data_directory=data_dir), no_log)
        references, left_out_by = [cleaned.files], f"; {cleaned}"
    corpora = find_corpora(references, source_language=codes[0], target_language=codes[1], data_directory=data_dir)
    written, blank = write_corpus((pair for corpus in corpora for pair in corpus.read()), output, codes)
    if blank:
        left_out_by = f"; left out {counted(blank, 'pair')} with an empty side"
    print(f"{output}: {counted(written, 'pair')}{left_out_by}")
