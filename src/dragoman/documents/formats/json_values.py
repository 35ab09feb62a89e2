"""JSON files with the texts of a program: the values are translated, and the keys are kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from dragoman.documents.formats.characters import read_characters
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.formats.strings import is_code, string_parts
from dragoman.documents.passage import FileString, Part
from dragoman.errors import UserError

_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*"|[{}\[\]]|[^"{}\[\]]++')
_PAIR = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rf"\\(?:{_PAIR}|u[0-9a-fA-F]{{4}}|[^u])")


def open_json(file: DocumentFile) -> PassageDocument:
    """The strings of a JSON file.

    Keys that start with @ contain notes (ARB), and so does all but "message" in files of browser extensions.

    Raises:
        UserError: It is not valid JSON.
    """
    characters = read_characters(file)
    try:
        content = json.loads(characters.text)
    except ValueError as error:
        raise UserError(f"{file.name}: not valid JSON ({error}); correct it, or export it again") from None
    except RecursionError:
        raise UserError(f"{file.name}: nested too deeply; simplify it") from None
    only_ascii = characters.text.isascii() and "\\u" in characters.text
    writing = file.writing(lambda text: text)
    parts: list[Part] = []
    for token, is_text in _find_texts(characters.text, _is_extension(content)):
        inside = string_parts(json.loads(token), writing) if is_text else ()
        parts.append(FileString(token, inside, partial(_encode, token, only_ascii)) if inside else token)
    return PassageDocument(parts, characters.encode)


def _encode(original: str, only_ascii: bool, text: str) -> str:
    """Another string, in which the characters that the original escapes are escaped in the same way."""
    written: dict[str, str] = {}
    for escape in _ESCAPE.findall(original):
        character = json.loads(f'"{escape}"')
        if not (character.isascii() and character.isalnum()):
            written.setdefault(character, escape)
    for character in set(text):
        written.setdefault(character, json.dumps(character, ensure_ascii=only_ascii)[1:-1])
    return '"' + "".join(written[character] for character in text) + '"'


def _is_extension(content: Any) -> bool:
    """Whether this is messages.json of a browser extension."""
    return (
        isinstance(content, dict)
        and bool(content)
        and all(isinstance(value, dict) and isinstance(value.get("message"), str) for value in content.values())
    )


def _find_texts(text: str, is_extension: bool) -> Iterator[tuple[str, bool]]:
    """The tokens of a JSON text, and whether each is a string to translate."""
    keys: list[str] = [""]  # of the values around this one
    tokens = _TOKEN.findall(text)
    for index, token in enumerate(tokens):
        following = tokens[index + 1].lstrip() if index + 1 < len(tokens) else ""
        if token in "{[":
            keys.append("")
        elif token in "}]":
            keys.pop()
        elif token.startswith('"') and following.startswith(":"):
            keys[-1] = json.loads(token)
        elif token.startswith('"'):
            noted = any(key.startswith("@") for key in keys) or (is_extension and keys[2:] != ["message"])
            yield token, not noted and not is_code(json.loads(token))
            continue
        yield token, False
