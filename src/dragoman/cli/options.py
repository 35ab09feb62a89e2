"""What several verbs take, and what becomes of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.settings import Decoding
    from dragoman.translator import Translator

BundlePath = Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle, or a run directory that holds one.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change a setting; may be given again for others."),
]
DataDirectory = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Directory of datasets to read before downloading (default: $DRAGOMAN_DATA)."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ComputeType = Annotated[
    Literal["float32", "int8"] | None,
    typer.Option(help="Arithmetic of CTranslate2 (default: float32); int8 is smaller, and a little less exact."),
]


def load_translator(bundle: Path, overrides: list[str] | None) -> Translator:
    """The translator of a bundle with the settings that --set changes."""
    from dragoman.bundle import Bundle
    from dragoman.translator import Translator

    loaded = Bundle.load(bundle)
    return Translator(loaded, decoding_of(loaded.recipe, overrides or []))


def decoding_of(recipe: Any, overrides: list[str]) -> Decoding:
    """The settings of the search of a recipe, as --set changes them.

    Raises:
        UserError: What was trained cannot be set anew.
    """
    from dragoman.recipe import build_recipe

    if foreign := [override for override in overrides if not override.startswith("decoding.")]:
        raise UserError(f"--set {foreign[0]}: only decoding.* can be set for a trained model")
    decoding: Decoding = build_recipe(recipe.to_dict(), overrides, origin="--set").decoding
    return decoding
