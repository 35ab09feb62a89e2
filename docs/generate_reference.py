"""Writes docs/command-line.md from the command line, and docs/python.md from signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import typer

import dragoman
from dragoman import doctor
from dragoman.cli import app

COMMANDS_PREFACE = """\
# Command line

<!-- Written by `make docs` from src/dragoman/cli; edit the help there. -->

`dragoman COMMAND --help` prints the same. `--version` prints the version, `--install-completion` enables tab completion
in your shell. The exit code is 0 if a command succeeds, 2 if it fails with a message, and 130 after Ctrl-C.
"""

PYTHON_PREFACE = """\
# Python

<!-- Written by `make docs` from signatures and docstrings; edit them there. -->

The classes and functions for programs. Shapes are in parentheses; errors of users are `UserError` with a readable
message.
"""

MODULES: dict[str, tuple[str, list[str]]] = {
    "Translate": ("dragoman", list(dragoman._LAZY)),
    "Documents": ("dragoman.documents", ["formats.open_document", "formats.html.HtmlText"]),
    "Examine": ("dragoman.doctor", doctor.__all__),
    "Explain": (
        "dragoman",
        [
            "explanation.attention_map.AttentionMap",
            "explanation.explain.Explanation",
            "explanation.switch_off.switch_off",
            "model.capture.capture",
        ],
    ),
    "Recipes": ("dragoman.recipe", ["load_recipe", "build_recipe", "save_recipe"]),
    "Train": ("dragoman.training.run.run", ["train"]),
    "Bundles": ("dragoman", ["bundle.Bundle", "export.run.export"]),
    "Kernels": ("dragoman.kernels", ["accelerate", "accelerated"]),
    "Errors": ("dragoman.errors", ["UserError"]),
}
"""What the page documents: the module, and names in it or below it, by heading."""


def command_line() -> str:
    """The page of all commands with their options."""
    return "\n".join([COMMANDS_PREFACE, *_commands(typer.main.get_command(app), "dragoman")])


def _commands(group: Any, name: str) -> Iterator[str]:
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{name} {word}")
        else:
            yield from _command(command, f"{name} {word}")


def _command(command: Any, name: str) -> Iterator[str]:
    about, _, example = inspect.cleandoc(command.help).partition("Example: ")
    context = command.context_class(command, info_name=name, terminal_width=10_000, max_content_width=10_000)
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    yield f"## {name}\n\n```text\n{usage}\n```\n\n{_plain(about)}\n"
    if example:
        yield f"```sh\n{' '.join(example.split())}\n```\n"
    records = [parameter.get_help_record(context) for parameter in command.params]
    rows = [
        f"| `{_cell(_with_kind(record[0]))}` | {_cell(_plain(_range(record[1])))} |" for record in records if record
    ]
    if rows:
        yield "\n".join(["| | |", "| --- | --- |", *rows]) + "\n"


KINDS = {
    "path": "PATH",
    "float range": "NUMBER",
    "int range": "NUMBER",
    "float": "NUMBER",
    "int": "NUMBER",
    "str": "TEXT",
}


def _with_kind(name: str) -> str:
    """An option with the kind of its value: PATH for <path>; an argument of several values with an ellipsis."""
    name = re.sub(r" <list\[\w+\]>", " …", name)
    return re.sub(r"<([\w ]+)>", lambda match: KINDS.get(match[1], match[0]), name)


def _range(text: str) -> str:
    return re.sub(r"([\d.]+)<=x<=([\d.]+)", r"\1 to \2", text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _plain(text: str) -> str:
    """Paragraphs, each on one line; what looks like HTML stays text."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))
    return "\n\n".join(paragraph.replace("<", "&lt;") for paragraph in paragraphs)


def python_page() -> str:
    """The page of classes and functions."""
    return "\n".join([PYTHON_PREFACE, *(line for heading in MODULES for line in _module(heading))])


def documented_names() -> set[str]:
    """The names of all classes and functions on the page."""
    return {name.rpartition(".")[2] for _, names in MODULES.values() for name in names}


def _module(heading: str) -> Iterator[str]:
    base, names = MODULES[heading]
    yield f"## {heading}\n"
    for name in names:
        below, _, short = f"{base}.{name}".rpartition(".")
        value = getattr(importlib.import_module(below), short)
        yield from _object(value, f"{below}.{short}")


def _object(value: Any, name: str) -> Iterator[str]:
    yield f"### {name}\n"
    yield _signature(value, name.rpartition(".")[2])
    yield _docstring(value)
    if inspect.isclass(value):
        for method, member in vars(value).items():
            if method == "__call__" or not method.startswith("_"):
                yield from _member(value, method, member)


def _member(owner: type, name: str, member: Any) -> Iterator[str]:
    """A method or property that has a docstring."""
    if isinstance(member, property | cached_property):
        about = inspect.getdoc(member)
        if about:
            yield f"**`{name}`** (property): {_docstring(member)}"
    elif isinstance(member, classmethod | staticmethod) or inspect.isfunction(member):
        function = getattr(owner, name)
        yield _signature(function, f"{owner.__name__}.{name}")
        yield _docstring(function)


def _signature(value: Callable[..., Any], name: str) -> str:
    """The call with its types; of a protocol or an exception, its name."""
    try:
        parameters = inspect.signature(value)
    except ValueError:
        return f"```py\n{name}\n```\n"
    shown = [parameter for parameter in parameters.parameters.values() if parameter.name != "self"]
    returned = "" if inspect.isclass(value) else f" -> {_type(parameters.return_annotation)}"
    arguments = [_argument(parameter) for parameter in shown]
    marks = [each.kind is inspect.Parameter.KEYWORD_ONLY for each in shown]
    if True in marks:
        arguments.insert(marks.index(True), "*")
    line = f"{name}({', '.join(arguments)}){returned}"
    if len(line) > 110:
        line = f"{name}(\n    " + ",\n    ".join(arguments) + f",\n){returned}"
    return f"```py\n{line}\n```\n"


def _argument(parameter: inspect.Parameter) -> str:
    stars_of: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    stars = stars_of.get(parameter.kind, "")
    empty = inspect.Parameter.empty
    kind = "" if parameter.annotation is empty else f": {_type(parameter.annotation)}"
    if parameter.default is empty:
        return f"{stars}{parameter.name}{kind}"
    default = repr(parameter.default)
    shown = "..." if "<" in default or len(default) > 60 else default  # an object without a short form
    return f"{stars}{parameter.name}{kind}{' = ' if kind else '='}{shown}"


def _type(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


SECTIONS = {
    "Args": "Arguments",
    "Returns": "Returns",
    "Yields": "Yields",
    "Raises": "Raises",
    "Attributes": "Attributes",
}


def _docstring(value: Any) -> str:
    """A Google docstring as Markdown; that of a dataclass without one would only repeat its fields."""
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value) and is_dataclass(value) and text.startswith(f"{value.__name__}("):
        return ""
    lines: list[str] = []
    section = ""
    for block in re.split(r"\n\n+", text):
        heading, _, rest = block.partition("\n")
        if heading.removesuffix(":") in SECTIONS and heading.endswith(":"):
            section = SECTIONS[heading.removesuffix(":")]
            lines.append(f"{section}:\n\n{_items(rest)}")
        elif block.startswith(">>>"):
            lines.append(f"```pycon\n{block}\n```")
        else:
            lines.append(_plain(block))
    return "\n\n".join(lines) + "\n"


def _items(text: str) -> str:
    """The entries of a section as a list."""
    items: list[str] = []
    for line in inspect.cleandoc("\n" + text).splitlines():
        if line.startswith(" ") and items:
            items[-1] += " " + line.strip()
        else:
            items.append(line.strip())
    return "\n".join(f"- {_entry(item)}" for item in items)


def _entry(item: str) -> str:
    """``name: meaning`` with the name as code."""
    name, colon, meaning = item.partition(": ")
    return f"`{name}`: {_plain(meaning)}" if colon and re.fullmatch(r"[\w, ]+", name) else _plain(item)


if __name__ == "__main__":
    docs = Path(__file__).parent
    (docs / "command-line.md").write_text(command_line(), encoding="utf-8", newline="\n")
    (docs / "python.md").write_text(python_page(), encoding="utf-8", newline="\n")
