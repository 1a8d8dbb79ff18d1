"""Where the rows of a study are kept as they come: a SQLite file that a killed study resumes from.

One transaction a unit: a unit is there as a whole or not at all.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Self

from harness.errors import CannotWrite, UsageError
from harness.studies.unit import Study, unpacked

_TABLES = """
CREATE TABLE IF NOT EXISTS study (fingerprint TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS parts (number INTEGER PRIMARY KEY, items INTEGER, rows BLOB NOT NULL);
"""


class Store:
    """The parts of one study; a context manager. ``path`` None: kept in memory only.

    Raises :class:`UsageError` for a file that is no store or holds another study, and
    :class:`CannotWrite` if it cannot be written.
    """

    def __init__(self, path: Path | None, study: Study) -> None:
        self.path = path
        try:
            self._connection = sqlite3.connect(path or ":memory:")
        except sqlite3.Error as error:
            raise CannotWrite(f"cannot write {path}: {error}") from error
        try:
            self._open(study)
        except sqlite3.OperationalError as error:
            self._connection.close()
            raise CannotWrite(f"cannot write {path}: {error}") from error
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise UsageError(f"{path} is no store of a study: {error}") from error
        except BaseException:
            self._connection.close()
            raise

    def _open(self, study: Study) -> None:
        self._connection.executescript(_TABLES)
        found = self._connection.execute("SELECT fingerprint FROM study").fetchone()
        if found is None:
            self._connection.execute("INSERT INTO study VALUES (?)", (study.fingerprint,))
            self._connection.commit()
        elif found[0] != study.fingerprint:
            raise UsageError(
                f"{self.path} holds the results of another study",
                hint="its image, model, seed or options were others: name another file, or "
                "delete this one",
            )

    def done(self) -> dict[int, int]:
        """Units that are there: how many items each had."""
        return dict(self._connection.execute("SELECT number, items FROM parts"))

    def put(self, number: int, items: int, rows: bytes) -> None:
        """Keep the packed rows of a unit."""
        try:
            with self._connection:
                self._connection.execute(
                    "INSERT OR REPLACE INTO parts VALUES (?, ?, ?)", (number, items, rows)
                )
        except sqlite3.Error as error:
            raise CannotWrite(
                f"cannot write {self.path}: {error}", hint="is the disk full, the folder writable?"
            ) from error

    def rows(self, number: int) -> list[Any]:
        """The rows of a unit that is there."""
        found = self._connection.execute("SELECT rows FROM parts WHERE number = ?", (number,))
        return unpacked(found.fetchone()[0])

    def all_rows(self, units: int) -> Iterator[Any]:
        """The rows of the first ``units`` units, in order."""
        with closing(self._connection.cursor()) as cursor:
            query = "SELECT rows FROM parts WHERE number < ? ORDER BY number"
            for (data,) in cursor.execute(query, (units,)):
                yield from unpacked(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
