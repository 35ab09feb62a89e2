"""Options that several commands have, and how they become a translator."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.bundle import Bundle
    from dragoman.settings import Decoding
    from dragoman.translator import Translator

BundlePath = Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle, or a run directory that contains one.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change a setting; can be repeated."),
]
DataDirectory = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Directory with datasets, read before downloading (default: $DRAGOMAN_DATA)."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print JSON instead of text, one object per line.")]
ComputeType = Annotated[
    Literal["auto", "float32", "bfloat16", "int8"],
    typer.Option(
        help="Data type of the engine; int8 (on a CPU) and bfloat16 (on a GPU) are faster, smaller and slightly "
        "less exact; auto is bfloat16 on a GPU that supports it, otherwise float32."
    ),
]
SourceLanguage = Annotated[
    str | None,
    typer.Option(
        "--source-language",
        metavar="CODE",
        help="Language of the text, for a model with several (default: translate and inspect recognize it; otherwise, "
        "names of files state it).",
    ),
]
TargetLanguage = Annotated[
    str | None,
    typer.Option("--target-language", metavar="CODE", help="Language to translate into, for a model with several."),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine", metavar="ENGINE", help="ctranslate2 or torch (default: the first that supports the settings)."
    ),
]
Device = Annotated[
    str, typer.Option("--device", metavar="DEVICE", help="cpu, cuda, cuda:1, … (auto: a GPU if there is one).")
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print which engine is used, and why, to standard error.")]


def minutes_option(description: str) -> Any:
    """The option for the time that a training may take."""
    return typer.Option("--minutes", min=0.1, max=1_000_000, help=description)


@dataclass(frozen=True)
class EngineOptions:
    """What the command line says about engines, and about the direction of a model with several languages."""

    name: str | None = None
    device: str = "auto"
    compute_type: Literal["auto", "float32", "bfloat16", "int8"] = "auto"
    verbose: bool = False
    token_scores: bool = True
    languages: tuple[str | None, str | None] = (None, None)


def open_translator(
    bundle: Path,
    overrides: list[str] | None,
    options: EngineOptions,
    ensemble: Sequence[Path] = (),
    *,
    recognize: Callable[[Bundle], str] | None = None,
    files: tuple[Path, Path] | None = None,
) -> Translator:
    """The translator of a bundle, with the settings that --set changes and the engine that the options choose.

    Args:
        bundle: A bundle, a run directory, or a checkpoint of a run.
        overrides: What --set says.
        options: What other options say.
        ensemble: More bundles, whose predictions are averaged.
        recognize: Returns the language of the text, if a model with several does not know the source language.
        files: Line-aligned files, whose names may say the languages.

    Raises:
        UserError: There is no bundle, no engine can do what is asked, or the direction is not known.
    """
    from dragoman.bundle import Bundle, choose_direction, find_bundle
    from dragoman.engines import Choice, EngineRequest
    from dragoman.system.cpu import default_threads
    from dragoman.system.device import find_device
    from dragoman.system.memory import exempt_from_collection
    from dragoman.translator import Translator

    directory: Path | None = None  # of a checkpoint, no engine reads the files
    if bundle.parent.name == "checkpoints":
        from dragoman.training.run.open_checkpoint import open_checkpoint

        opened = open_checkpoint(bundle)
    else:
        directory = find_bundle(bundle)
        opened = Bundle.load(directory)
    loaded = in_direction(opened, options.languages, recognize, files)
    warn_of_zero_shot(loaded)
    languages = loaded.stated if any(loaded.stated) else options.languages
    request = EngineRequest(
        bundle=loaded,
        decoding=decoding_of(loaded.recipe, overrides) if overrides else loaded.recipe.decoding,
        device=find_device(options.device),
        path=directory,
        compute_type=options.compute_type,
        token_scores=options.token_scores,
        ensemble=[choose_direction(Bundle.load(path), *languages) for path in ensemble],
        threads=default_threads(),
    )

    def print_choice(choice: Choice) -> None:
        bundles = ", ".join(map(str, (bundle, *ensemble)))
        print(f"dragoman: engine: {choice}, device: {request.device}, bundle: {bundles}", file=sys.stderr)

    translator = Translator.open(request, options.name, print_choice if options.verbose else None)
    exempt_from_collection()
    return translator


def warn_of_zero_shot(bundle: Bundle) -> None:
    """Say that a bundle was never trained for its direction, if that is so."""
    if bundle.is_zero_shot:
        source, target = bundle.recipe.data.languages
        print(
            f"dragoman: warning: {bundle.recipe.name} was not trained to translate from {source} into {target}, so "
            "translations may be bad, or in another language; dragoman serve uses a third language in between",
            file=sys.stderr,
        )


def in_direction(
    bundle: Bundle,
    languages: tuple[str | None, str | None],
    recognize: Callable[[Bundle], str] | None,
    files: tuple[Path, Path] | None,
) -> Bundle:
    """The bundle in the direction that the options, the names of files or a text say.

    Raises:
        UserError: It does not have one of the languages, or one is not known.
    """
    from dragoman.bundle import choose_direction, require_direction, require_target
    from dragoman.languages.codes import find_language

    if files and None in languages and (named := named_languages(bundle, files)):
        languages = (languages[0] or named[0], languages[1] or named[1])
        for code, name, file in zip(choose_direction(bundle, *languages).given, named, files, strict=True):
            if code is not None and find_language(code, (name,)) is None:
                raise UserError(f"{file}: is named after {name}, not {code}; state both languages with options")
    chosen = choose_direction(bundle, *languages)
    if recognize and chosen.recognizes_source:
        require_target(chosen)
        chosen = choose_direction(chosen, recognize(chosen), None)
    require_direction(chosen)
    return choose_direction(chosen, *chosen.stated)


def named_languages(bundle: Bundle, files: tuple[Path, Path]) -> tuple[str, str] | None:
    """The languages of a model with several that the names of a source and a target file end with; None if not so."""
    from dragoman.bundle import languages_of
    from dragoman.corpus.corpus import languages_of_names
    from dragoman.languages.codes import find_language

    known = tuple(languages_of(bundle))
    named = languages_of_names(*map(str, files)) if known else None
    return named if named and all(find_language(code, known) for code in named) else None


def decoding_of(recipe: Any, overrides: list[str]) -> Decoding:
    """The decoding settings of a recipe, as --set changes them.

    Raises:
        UserError: --set names a setting of training, or an invalid value.
    """
    from dragoman.recipe import build_recipe

    if foreign := [override for override in overrides if not override.startswith("decoding.")]:
        raise UserError(f"--set {foreign[0]}: only decoding.* can be changed for a trained model")
    decoding: Decoding = build_recipe(recipe.to_dict(), overrides, origin="--set").decoding
    return decoding
