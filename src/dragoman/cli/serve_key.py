"""dragoman serve-key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.options import Overrides
from dragoman.cli.serve import ServingFile

if TYPE_CHECKING:
    from dragoman.serving.keys import KeyFile

serve_key_app = typer.Typer(help="Manage the API keys of dragoman serve.", no_args_is_help=True)
KeyName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the key, such as that of its user.")]


@serve_key_app.command("add")
def add_key(name: KeyName, config: ServingFile = None, overrides: Overrides = None) -> None:
    """Create an API key and print it once; only its hash is stored.

    Example: dragoman serve-key add alice
    """
    print(_key_file(config, overrides).add(name))


@serve_key_app.command("list")
def list_keys(config: ServingFile = None, overrides: Overrides = None) -> None:
    """Print the names of the API keys.

    Example: dragoman serve-key list
    """
    for name in _key_file(config, overrides).names():
        print(name)


@serve_key_app.command("remove")
def remove_key(name: KeyName, config: ServingFile = None, overrides: Overrides = None) -> None:
    """Delete an API key; running servers refuse it at once.

    Example: dragoman serve-key remove alice
    """
    _key_file(config, overrides).remove(name)


def _key_file(config: ServingFile, overrides: Overrides) -> KeyFile:
    from dragoman.serving.config import load_serving
    from dragoman.serving.keys import KEYS_FILE, KeyFile, state_directory

    return KeyFile(state_directory(load_serving(config, overrides or [])) / KEYS_FILE)
