"""Corrections that clients suggest. Only those that the operator approves answer requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dragoman.errors import UserError
from dragoman.serving.database import Database
from dragoman.serving.errors import RequestError

CORRECTIONS_FILE = "corrections.sqlite3"

# AUTOINCREMENT: an operator may approve numbers of an old list, so those of removed corrections are not used again.
# Files of older versions do not have it.
_TABLE = """CREATE TABLE IF NOT EXISTS corrections (
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
        self._database, self._most = Database(path, _TABLE), most

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
