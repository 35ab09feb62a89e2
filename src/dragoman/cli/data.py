"""The verbs of named datasets."""

from __future__ import annotations

import typer

from dragoman.cli.options import DataDirectory

data_app = typer.Typer(help="Named datasets: what there is, and where it lies.", no_args_is_help=True)


@data_app.command("list")
def data_list() -> None:
    """List the named datasets.

    Example: dragoman data list
    """
    from dragoman.corpus.catalog import catalog

    for dataset in catalog():
        print(f"{dataset.name:28} {' '.join(dataset.languages):12} {dataset.description}")


@data_app.command("fetch")
def data_fetch(name: str, data_dir: DataDirectory = None) -> None:
    """Bring a dataset onto this machine, with its checksums verified.

    Example: dragoman data fetch multi30k
    """
    from dragoman.corpus.download import fetch

    for path in fetch(name, data_directory=data_dir):
        print(path)


@data_app.command("show")
def data_show(name: str, data_dir: DataDirectory = None) -> None:
    """Show a dataset: languages, splits, licence, where its files are, and its first pairs.

    Example: dragoman data show multi30k
    """
    from dragoman.corpus.find import describe

    found = describe(name, data_directory=data_dir)
    dataset = found.dataset
    print(f"{dataset.name}: {dataset.description}")
    print(f"languages: {' '.join(dataset.languages)}\nsplits: {' '.join(dataset.splits)}")
    print(f"licence: {dataset.licence}\nhomepage: {dataset.homepage}")
    for file, path in found.files:
        print(f"  {file.path}: {path or 'not on this machine' + (', at ' + file.url if file.url else '')}")
    for pair in found.examples:
        print(f"\n  {pair.source}\n  {pair.target}")
