"""Commands for the corrections that clients of the server suggest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.options import Overrides
from dragoman.cli.output import open_output
from dragoman.cli.serve import ServingFile
from dragoman.cli.text_references import parse_languages
from dragoman.errors import UserError, escape_controls

if TYPE_CHECKING:
    from dragoman.serving.storage import CorrectionStore

Numbers = Annotated[list[int], typer.Argument(metavar="NUMBER...", help="Numbers that `data list-corrections` prints.")]


def list_corrections(config: ServingFile = None, overrides: Overrides = None) -> None:
    """List the corrections that clients of the server suggested.

    Prints the number of each, whether it is approved, the languages, the text and its translation, separated by tabs.

    Example: dragoman data list-corrections
    """
    with _open_store(config, overrides) as store:
        for each in store.all():
            state = "approved" if each.approved else "new"
            languages = f"{each.source}-{each.target}"
            texts = (escape_controls(_one_line(text)) for text in (each.text, each.translation))
            print(each.number, state, languages, *texts, sep="\t")


def approve_corrections(numbers: Numbers, config: ServingFile = None, overrides: Overrides = None) -> None:
    """Let the server answer with these corrections when a text is exactly the corrected one.

    Example: dragoman data approve-corrections 1 2 5
    """
    with _open_store(config, overrides) as store:
        store.approve(numbers)


def remove_corrections(numbers: Numbers, config: ServingFile = None, overrides: Overrides = None) -> None:
    """Delete corrections.

    Example: dragoman data remove-corrections 3
    """
    with _open_store(config, overrides) as store:
        store.remove(numbers)


def export_corrections(
    languages: Annotated[str, typer.Option(metavar="SOURCE-TARGET", help="Language codes, such as de-en.")],
    output: Annotated[Path | None, typer.Option(help="TSV file to write (default, and -: standard output).")] = None,
    config: ServingFile = None,
    overrides: Overrides = None,
) -> None:
    """Write the approved corrections as training pairs.

    Example: dragoman data export-corrections --languages de-en --output corrections.tsv
    """
    pair = parse_languages(languages)
    with _open_store(config, overrides) as store, open_output(output) as file:
        for each in store.all():
            if each.approved and (each.source, each.target) == tuple(pair):
                file.write(f"{_one_line(each.text)}\t{_one_line(each.translation)}\n")


def _one_line(text: str) -> str:
    from dragoman.text.normalization import replace_forbidden

    return " ".join(replace_forbidden(text).split())


@contextmanager
def _open_store(config: Path | None, overrides: Sequence[str] | None) -> Iterator[CorrectionStore]:
    from dragoman.serving.config import load_serving
    from dragoman.serving.errors import RequestError
    from dragoman.serving.keys import state_directory
    from dragoman.serving.storage import CORRECTIONS_FILE, CorrectionStore

    settings = load_serving(config, overrides or [])
    path = state_directory(settings) / CORRECTIONS_FILE
    try:
        yield CorrectionStore(path, settings.corrections)
    except RequestError as error:
        raise UserError(f"{path}: {error.message}") from None
