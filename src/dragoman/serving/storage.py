"""What clients store in the server's directory: glossaries, each for the API key that created it, and corrections.

Only corrections that the operator approves answer requests.
"""

from __future__ import annotations

import logging
import re
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from dragoman.errors import UserError
from dragoman.serving.errors import RequestError
from dragoman.text.glossary import Glossary

GLOSSARIES_FILE = "glossaries.sqlite3"
CORRECTIONS_FILE = "corrections.sqlite3"

_LOG = logging.getLogger(__name__)
_SECONDS = 5.0  # how long to wait while another process writes


class Database:
    """A file with one table; the threads of several processes may use it at once.

    Args:
        path: The file.
        table: The statement that creates the table if there is none.
    """

    def __init__(self, path: Path, table: str) -> None:
        self._path, self._table = path, table

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored."""
        return self._path.exists()

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """A transaction; the file is created if it is missing.

        Raises:
            RequestError: The file cannot be read or written.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self.exists:
                self._path.touch(mode=0o600)
            with closing(sqlite3.connect(self._path, timeout=_SECONDS)) as connection, connection:
                connection.execute(self._table)
                yield connection
        except (OSError, sqlite3.Error) as error:
            _LOG.error("%s cannot be read or written: %s", self._path, error)
            raise RequestError(503, f"The server cannot read or write {self._path.name}.", 10) from error


# ---- Glossaries

# Files of older versions do not have the column client.
_GLOSSARIES = """CREATE TABLE IF NOT EXISTS glossaries (
    number TEXT PRIMARY KEY, owner TEXT, name TEXT, source TEXT, target TEXT, created TEXT, terms INTEGER, lines TEXT,
    client TEXT
)"""
_LINE_END = re.compile(r"\r\n|\r|\n")
_READ_GLOSSARIES = "SELECT number, name, source, target, created, terms, lines FROM glossaries WHERE owner = ?"


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
        most: Maximum number of glossaries of all clients.
        most_of_client: Maximum number of glossaries of one client, and of one key.
    """

    def __init__(self, path: Path, most: int, most_of_client: int) -> None:
        self._database, self._most, self._most_of_client = Database(path, _GLOSSARIES), most, most_of_client

    def add(self, owner: str, client: str, name: str, languages: tuple[str, str], glossary: Glossary) -> StoredGlossary:
        """Store a glossary.

        Args:
            owner: The hash of the key with which it is found.
            client: Who stores it. If the server requires no keys, a client may have any number of keys.
            name: The name that the client chose.
            languages: Those of the terms and of their translations.
            glossary: The terms.

        Raises:
            RequestError: There are too many glossaries, or it cannot be written.
        """
        created = datetime.now(UTC).isoformat()
        lines = "\n".join(f"{one.source}\t{one.target}" for one in glossary.terms)
        stored = StoredGlossary(secrets.token_hex(16), name, *languages, created, len(glossary.terms), lines)
        with self._database.open() as database:
            database.execute("BEGIN IMMEDIATE")  # so that no other request is counted between these statements
            columns = [name for _, name, *_ in database.execute("PRAGMA table_info(glossaries)")]
            if "client" not in columns:
                database.execute("ALTER TABLE glossaries ADD COLUMN client TEXT")
            same = "SELECT count(*) FROM glossaries WHERE owner = ? OR client = ?"
            (own,) = database.execute(same, (owner, client)).fetchone()
            if own >= self._most_of_client:
                raise RequestError(400, f"You have too many glossaries (at most {self._most_of_client}); delete one.")
            (count,) = database.execute("SELECT count(*) FROM glossaries").fetchone()
            if count >= self._most:
                raise RequestError(400, f"There are too many glossaries (at most {self._most}); delete one.")
            row = (stored.number, owner, name, *languages, created, stored.terms, lines, client)
            database.execute("INSERT INTO glossaries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        return stored

    def all(self, owner: str) -> list[StoredGlossary]:
        """The glossaries of an owner, the oldest first."""
        return self._read(f"{_READ_GLOSSARIES} ORDER BY created", (owner,))

    def find(self, owner: str, number: str) -> StoredGlossary:
        """A glossary of an owner.

        Raises:
            RequestError: The owner has no such glossary.
        """
        found = self._read(f"{_READ_GLOSSARIES} AND number = ?", (owner, number))
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


# ---- Corrections

# AUTOINCREMENT: an operator may approve numbers of an old list, so those of removed corrections are not used again.
# Files of older versions do not have it.
_CORRECTIONS = """CREATE TABLE IF NOT EXISTS corrections (
    number INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT, target TEXT, text TEXT, translation TEXT, created TEXT,
    approved INTEGER DEFAULT 0, UNIQUE (source, target, text, translation)
)"""


@dataclass(frozen=True)
class Correction:
    """A translation that a client suggests.

    Args:
        number: Its number for the operator.
        source: The language of the text.
        target: The language of the translation.
        text: The text.
        translation: How it should be translated.
        approved: 1 if the operator approved it, otherwise 0.
    """

    number: int
    source: str
    target: str
    text: str
    translation: str
    approved: int


class CorrectionStore:
    """The corrections of all clients.

    Args:
        path: The file, which is created for the first correction.
        most: Maximum number of corrections that wait for approval.
    """

    def __init__(self, path: Path, most: int) -> None:
        self._database, self._most = Database(path, _CORRECTIONS), most

    @property
    def exist(self) -> bool:
        """Whether there may be corrections."""
        return self._database.exists

    def add(self, languages: tuple[str, str], text: str, translation: str) -> None:
        """Store a correction; equal ones are stored once.

        Raises:
            RequestError: There are too many, or the file cannot be written.
        """
        equal = "SELECT 1 FROM corrections WHERE source = ? AND target = ? AND text = ? AND translation = ?"
        with self._database.open() as database:
            database.execute("BEGIN IMMEDIATE")  # so that no other request is counted between these statements
            if database.execute(equal, (*languages, text, translation)).fetchone():
                return
            (count,) = database.execute("SELECT count(*) FROM corrections WHERE NOT approved").fetchone()
            if count >= self._most:
                raise RequestError(503, "Too many suggestions wait for approval; try again later.", 3600)
            row = (*languages, text, translation, datetime.now(UTC).isoformat())
            database.execute(
                "INSERT OR IGNORE INTO corrections (source, target, text, translation, created) VALUES (?, ?, ?, ?, ?)",
                row,
            )

    def all(self) -> list[Correction]:
        """All corrections, the oldest first.

        Raises:
            RequestError: The file cannot be read.
        """
        if not self._database.exists:
            return []
        query = "SELECT number, source, target, text, translation, approved FROM corrections ORDER BY number"
        with self._database.open() as database:
            return [Correction(*row) for row in database.execute(query)]

    def approve(self, numbers: Sequence[int]) -> None:
        """Approve corrections.

        Raises:
            UserError: A number is unknown.
        """
        self._change("UPDATE corrections SET approved = 1 WHERE number = ?", numbers)

    def remove(self, numbers: Sequence[int]) -> None:
        """Delete corrections.

        Raises:
            UserError: A number is unknown.
        """
        self._change("DELETE FROM corrections WHERE number = ?", numbers)

    def _change(self, statement: str, numbers: Sequence[int]) -> None:
        if unknown := sorted(set(numbers) - {each.number for each in self.all()}):
            raise UserError(f"there is no correction with the number {', '.join(map(str, unknown))}")
        with self._database.open() as database:
            database.executemany(statement, [(number,) for number in numbers])

    def find(self, languages: tuple[str, str], texts: Sequence[str]) -> dict[str, str]:
        """The approved translations of those texts that have one; the newest counts.

        Raises:
            RequestError: The file cannot be read.
        """
        query = (
            "SELECT translation FROM corrections WHERE approved AND source = ? AND target = ? AND text = ? "
            "ORDER BY number DESC"
        )
        with self._database.open() as database:
            found = {text: database.execute(query, (*languages, text)).fetchone() for text in dict.fromkeys(texts)}
        return {text: row[0] for text, row in found.items() if row}
