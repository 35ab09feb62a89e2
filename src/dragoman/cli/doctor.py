"""The verbs that find what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.options import AsJson, BundlePath, DataDirectory, Overrides, load_translator
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.doctor import Finding

doctor_app = typer.Typer(help="Find what is wrong with a model, data or translations.", no_args_is_help=True)


@doctor_app.command("model")
def doctor_model(
    model: Annotated[
        str, typer.Argument(metavar="BUNDLE|MODULE:FACTORY", help="A bundle, or a function that makes a model.")
    ],
    overfit: Annotated[bool, typer.Option("--overfit", help="Also let it learn a small batch by heart.")] = False,
    as_json: AsJson = False,
) -> None:
    """Examine a model: leaks of the future, padding and batch, an ignored source, numbers, gradients.

    MODULE:FACTORY names a function without arguments that returns a dictionary: forward, and the arguments of
    dragoman.doctor.examine. Exits with 1 if anything is found that spoils translations.

    Example: dragoman doctor model runs/quickstart
    """
    from dragoman.doctor.model.loading import examine_named

    _tell(examine_named(model, overfit=overfit), as_json)


@doctor_app.command("data")
def doctor_data(
    corpus: Annotated[
        list[Path], typer.Argument(metavar="RECIPE|SOURCE TARGET", help="A recipe, or two line-aligned files.")
    ],
    test: Annotated[
        tuple[Path, Path] | None, typer.Option(metavar="SOURCE TARGET", help="Two files that training must not see.")
    ] = None,
    write: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the training pairs without what is wrong, and a list.")
    ] = None,
    as_json: AsJson = False,
    data_dir: DataDirectory = None,
) -> None:
    """Check parallel text: misaligned, exchanged, copied, repeated, damaged; and test sentences in training.

    Exits with 1 if anything is found that spoils what is learnt or measured.

    Example: dragoman doctor data my/train.de my/train.en --test my/test.de my/test.en --write clean
    """
    from dragoman.doctor.data.diagnose import corpora_of, corpora_of_files, diagnose
    from dragoman.recipe import load_recipe

    if len(corpus) > 2:
        raise UserError(f"give a recipe or two files, not {len(corpus)}")
    if len(corpus) == 2:
        checked = corpora_of_files(corpus[0], corpus[1], test)
    elif test:
        raise UserError("--test is for two files; a recipe names its own")
    else:
        checked = corpora_of(load_recipe(corpus[0]).data, data_dir)
    _tell(diagnose(checked, write), as_json)


@doctor_app.command("output")
def doctor_output(
    bundle: BundlePath,
    source: Annotated[Path, typer.Option(help="File to translate, line by line (or .gz).")],
    reference: Annotated[Path, typer.Option(help="File with the right translation of each line.")],
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Check translations: collapse, loops, emptiness, copies, length, and a source that does not matter.

    Exits with 1 if anything is found that makes them useless.

    Example: dragoman doctor output runs/quickstart --source my/test.de --reference my/test.en
    """
    from dragoman.corpus.corpus import read_texts
    from dragoman.doctor.output.checks import diagnose_output

    _tell(diagnose_output(load_translator(bundle, overrides), *read_texts(source, reference)), as_json)


def _tell(findings: list[Finding], as_json: bool) -> None:
    """Print what was found; exit with 1 if an error is among it."""
    from dragoman.doctor.findings.finding import is_healthy

    if as_json:
        print(json.dumps([finding.to_dict() for finding in findings], ensure_ascii=False, indent=2))
    else:
        print("\n\n".join(map(str, findings)) or "healthy: nothing was found")
    if not is_healthy(findings):
        raise typer.Exit(1)
