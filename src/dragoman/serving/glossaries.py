"""Glossaries that clients store, each for the API key that created it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from dragoman.serving.database import Database
from dragoman.serving.errors import RequestError
from dragoman.text.glossary import Glossary

GLOSSARIES_FILE = "glossaries.sqlite3"

_TABLE = """CREATE TABLE IF NOT EXISTS glossaries (
    number TEXT PRIMARY KEY, owner TEXT, name TEXT, source TEXT, target TEXT, created TEXT, terms INTEGER, lines TEXT
)"""
_LINE_END = re.compile(r"\r\n|\r|\n")
_READ = "SELECT number, name, source, target, created, terms, lines FROM glossaries WHERE owner = ?"


@dataclass(frozen=True)
class StoredGlossary:
    """A glossary of a client.

    Args:
        number: Its id.
        name: The name that its client chose.
        source: The language of the terms.
        target: The language of their translations.
        created: When it was created, in ISO format.
        terms: The number of terms.
        lines: A term, a tab and its translation in each line.
    """

    number: str
    name: str
    source: str
    target: str
    created: str
    terms: int
    lines: str

    def glossary(self) -> Glossary:
        """The terms; they are kept in memory for the next request."""
        return _parse(self.lines)


class GlossaryStore:
    """The glossaries of all clients.

    Args:
        path: The file, which is created for the first glossary.
        most: Maximum number of glossaries of all owners.
    """

    def __init__(self, path: Path, most: int) -> None:
        self._database, self._most = Database(path, _TABLE), most

    def add(self, owner: str, name: str, languages: tuple[str, str], glossary: Glossary) -> StoredGlossary:
        """Store a glossary.

        Raises:
            RequestError: There are too many glossaries, or it cannot be written.
        """
        created, lines = (
            datetime.now(UTC).isoformat(),
            "\n".join(f"{one.source}\t{one.target}" for one in glossary.terms),
        )
        stored = StoredGlossary(secrets.token_hex(16), name, *languages, created, len(glossary.terms), lines)
        with self._database.open() as database:
            (count,) = database.execute("SELECT count(*) FROM glossaries").fetchone()
            if count >= self._most:
                raise RequestError(400, f"There are too many glossaries (at most {self._most}); delete one.")
            row = (stored.number, owner, name, *languages, created, stored.terms, lines)
            database.execute("INSERT INTO glossaries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        return stored

    def all(self, owner: str) -> list[StoredGlossary]:
        """The glossaries of an owner, the oldest first."""
        return self._read(f"{_READ} ORDER BY created", (owner,))

    def find(self, owner: str, number: str) -> StoredGlossary:
        """A glossary of an owner.

        Raises:
            RequestError: The owner has no such glossary.
        """
        found = self._read(f"{_READ} AND number = ?", (owner, number))
        if not found:
            raise RequestError(404, "Glossary not found")
        return found[0]

    def remove(self, owner: str, number: str) -> None:
        """Delete a glossary.

        Raises:
            RequestError: The owner has no such glossary, or it cannot be deleted.
        """
        self.find(owner, number)
        with self._database.open() as database:
            database.execute("DELETE FROM glossaries WHERE owner = ? AND number = ?", (owner, number))

    def _read(self, query: str, values: Sequence[str]) -> list[StoredGlossary]:
        if not self._database.exists:
            return []
        with self._database.open() as database:
            return [StoredGlossary(*row) for row in database.execute(query, values)]


def split_lines(text: str) -> list[str]:
    """The lines of a text; terms may contain other separators, such as U+2028."""
    return _LINE_END.split(text)


@lru_cache(maxsize=32)
def _parse(lines: str) -> Glossary:
    return Glossary.parse(lines.split("\n"))
