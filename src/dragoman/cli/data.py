"""Commands for the corpora in the catalog."""

from __future__ import annotations

import typer

from dragoman.cli.options import DataDirectory

data_app = typer.Typer(help="List, download and show corpora.", no_args_is_help=True)


@data_app.command("list")
def data_list() -> None:
    """List the corpora in the catalog.

    Example: dragoman data list
    """
    from dragoman.corpus.catalog import CATALOG

    for entry in CATALOG.values():
        print(f"{entry.name:28} {' '.join(entry.languages):12} {entry.description}")


@data_app.command("fetch")
def data_fetch(name: str, data_dir: DataDirectory = None) -> None:
    """Download a corpus.

    Verifies the checksums of its files. Files that are already on this machine are not downloaded again.

    Example: dragoman data fetch multi30k
    """
    from dragoman.corpus.download import fetch

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
