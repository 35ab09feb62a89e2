"""SQLite databases in the server's directory."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from dragoman.serving.errors import RequestError

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
