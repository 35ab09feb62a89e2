"""Commands for the corpora in the catalog, and for corrections."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from dragoman.cli.corrections import (
    approve_corrections,
    export_corrections,
    list_corrections,
    remove_corrections,
)
from dragoman.cli.options import DataDirectory
from dragoman.cli.text_files import LanguagesOption
from dragoman.cli.text_references import parse_languages
from dragoman.errors import UserError, counted

data_app = typer.Typer(help="List, download and show corpora, and corrections of translations.", no_args_is_help=True)
for command in (list_corrections, approve_corrections, remove_corrections, export_corrections):
    data_app.command()(command)


@data_app.command("list")
def data_list() -> None:
    """List the corpora in the catalog.

    Example: dragoman data list
    """
    from dragoman.corpus.catalog import CATALOG

    for entry in CATALOG.values():
        print(f"{entry.name:28} {' '.join(entry.languages):12} {entry.description}")


@data_app.command("fetch")
def data_fetch(
    name: Annotated[str, typer.Argument(metavar="NAME|opus:NAME", help="A corpus of the catalog, or of OPUS.")],
    languages: LanguagesOption = None,
    data_dir: DataDirectory = None,
) -> None:
    """Download a corpus.

    Verifies the checksums of the files of the catalog. Files that are already on this machine are not downloaded again.
    Corpora of OPUS (https://opus.nlpl.eu) need --languages.

    Example: dragoman data fetch opus:Books --languages de-en
    """
    from dragoman.corpus.download import fetch
    from dragoman.corpus.opus import PREFIX, fetch_opus

    if name.startswith(PREFIX):
        if languages is None:
            raise UserError(f"{name}: add --languages, such as --languages de-en")
        found = fetch_opus(name.removeprefix(PREFIX), parse_languages(languages))
        print(found.path)
        print(f"version {found.version}, {counted(found.pairs, 'pair')}", file=sys.stderr)
        command = ["dragoman", "train", str(found.path), "--languages", languages, "--minutes", "20"]
        print(f"train with: {shlex.join(command)}", file=sys.stderr)
        return
    if languages is not None:
        raise UserError(f"--languages is for corpora of OPUS, such as {PREFIX}{name}")
    for path in fetch(name, data_directory=data_dir):
        print(path)


@data_app.command("show")
def data_show(name: str, data_dir: DataDirectory = None) -> None:
    """Show a corpus.

    Prints languages, splits, license, the paths of the files, and the first sentence pairs.

    Example: dragoman data show multi30k
    """
    from dragoman.corpus.describe import describe_corpus

    found = describe_corpus(name, data_directory=data_dir)
    entry = found.entry
    print(f"{entry.name}: {entry.description}")
    print(f"languages: {' '.join(entry.languages)}\nsplits: {' '.join(entry.splits)}")
    print(f"license: {entry.license}\nhomepage: {entry.homepage}")
    for file, path in found.files:
        print(f"  {file.path}: {path or 'not on this machine' + (', at ' + file.url if file.url else '')}")
    for pair in found.examples:
        print(f"\n  {pair.source}\n  {pair.target}")
