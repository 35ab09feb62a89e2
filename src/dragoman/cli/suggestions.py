"""The command that a user probably meant, for error messages."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from dragoman.errors import UserError
from dragoman.system.run_paths import NoBundleError


class SuggestingCommand(TyperCommand):
    """A command that answers missing options, and texts that look like options, with the whole command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments as usual.

        Raises:
            UserError: Options are missing, or a text begins with a hyphen and a space.
        """
        given = list(args)
        if any(each.startswith("- ") for each in given):
            self._refuse_text_as_option(ctx, given)
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            missing = [option for option in self._required_options() if not _is_given(option, given)]
            if error.param not in missing:
                raise
            values = [part for option in missing for part in (option.opts[-1], option.name.upper())]
            names = " and ".join(option.opts[-1] for option in missing)
            command = shlex.join(["dragoman", *_names(ctx), *given, *values])
            raise UserError(f"missing {names}; expected: {command}") from None

    def _refuse_text_as_option(self, ctx: Any, given: list[str]) -> None:
        options: list[Any] = [each for each in self.params if each.param_type_name == "option"]
        need_value = {name for option in options if not option.is_flag for name in option.opts}
        end = given.index("--") if "--" in given else len(given)
        kept: list[str] = []
        texts: list[str] = []  # the first text that begins with a hyphen, and all that follow
        for before, argument in zip(["", *given], given[:end], strict=False):
            is_text = argument.startswith("- ") or (texts and not argument.startswith("-"))
            (texts if is_text and before not in need_value else kept).append(argument)
        if texts:
            command = shlex.join(["dragoman", *_names(ctx), *kept, "--", *texts, *given[end + 1 :]])
            raise UserError(f"{texts[0]!r} begins with a hyphen, as options do; write -- before such texts: {command}")

    def _required_options(self) -> list[Any]:
        return [each for each in self.params if each.required and each.param_type_name == "option"]


def _is_given(option: Any, arguments: Sequence[str]) -> bool:
    return any(argument.partition("=")[0] in option.opts for argument in arguments)


def _names(context: Any) -> list[str]:
    """The words that name the command, such as ``doctor output``."""
    return [*_names(context.parent), context.info_name] if context.parent else []


def corrected_command(arguments: Sequence[str], error: NoBundleError) -> str | None:
    """The command with the run that is meant, or None if that is not known.

    Args:
        arguments: The command line without the name of the program.
        error: Why there is no bundle at a path. If the path is a text or a file, the run was probably left out.
    """
    given = next((argument for argument in arguments if Path(argument) == error.path), None)
    if error.meant is None or given is None:
        return None
    kept: list[str] = []
    if not error.similar and arguments[0] == "translate":
        kept = ["--input", given] if os.path.isfile(given) else [given] * (" " in given)
    return command_with(arguments, {given: [str(error.meant), *kept]})


def command_with(arguments: Sequence[str], replaced: Mapping[str, Sequence[str]]) -> str:
    """A command for a shell: the arguments of a command line, some of them replaced.

    Args:
        arguments: The command line without the name of the program.
        replaced: What to write in place of an argument.
    """
    words = (word for argument in arguments for word in replaced.get(argument, [argument]))
    return shlex.join(["dragoman", *words])
