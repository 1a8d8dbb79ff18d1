"""The store of a study: a SQLite file with the rows so far, from which a killed study resumes.

Each unit is written in one transaction: as a whole or not at all.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from harness.base.code_identity import CodeIdentity, code_identity
from harness.base.errors import CannotWrite, UsageError
from harness.studies.study import Study, unpacked

_TABLES = """
CREATE TABLE IF NOT EXISTS study (fingerprint TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS code (identity TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS parts (number INTEGER PRIMARY KEY, items INTEGER, rows BLOB NOT NULL);
"""


class ResultStore:
    """The finished units of one study, in ``path`` or (None) a temporary file; a context manager.

    Raises :class:`UsageError` for a file that is not a store, or has another study or results of
    other code, and :class:`CannotWrite` if it cannot be written.
    """

    def __init__(self, path: Path | None, study: Study) -> None:
        self.path = path
        try:
            self._connection = sqlite3.connect(path or "")  # "": SQLite makes a temporary file
        except sqlite3.Error as error:
            raise CannotWrite(f"cannot write {path}: {error}") from error
        try:
            self._open(study)
        except sqlite3.OperationalError as error:
            self._connection.close()
            raise CannotWrite(f"cannot write {path}: {error}") from error
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise UsageError(f"{path} is not the store of a study: {error}") from error
        except BaseException:
            self._connection.close()
            raise

    def _open(self, study: Study) -> None:
        self._connection.executescript(_TABLES)
        row = self._connection.execute("SELECT fingerprint FROM study").fetchone()
        if row is None:
            self._connection.execute("INSERT INTO study VALUES (?)", (study.fingerprint,))
            identity = json.dumps(asdict(code_identity()))
            self._connection.execute("INSERT INTO code VALUES (?)", (identity,))
            self._connection.commit()
        elif row[0] != study.fingerprint:
            raise UsageError(
                f"{self.path} holds the results of another study",
                hint="its image, model, seed or options were different: name another file, or "
                "delete this one",
            )
        else:
            self._check_code()

    def _check_code(self) -> None:
        row = self._connection.execute("SELECT identity FROM code").fetchone()
        stored = CodeIdentity(**json.loads(row[0])) if row else None
        if stored == code_identity():
            return
        other = code_identity().differences(stored) if stored else "an older tflm-hil made them"
        raise UsageError(
            f"{self.path} holds results of other code: {other}",
            hint="delete it to start anew, or continue it with the code that began it",
        )

    def done(self) -> dict[int, int]:
        """The stored units: number -> number of items."""
        return dict(self._connection.execute("SELECT number, items FROM parts"))

    def put(self, number: int, items: int, rows: bytes) -> None:
        """Store the packed rows of a unit."""
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
        """The rows of a stored unit."""
        query = "SELECT rows FROM parts WHERE number = ?"
        (data,) = self._connection.execute(query, (number,)).fetchone()
        return unpacked(data)

    def all_rows(self, units: int) -> Iterator[Any]:
        """Yield the rows of the first ``units`` units, in order."""
        with closing(self._connection.cursor()) as cursor:
            query = "SELECT rows FROM parts WHERE number < ? ORDER BY number"
            for (data,) in cursor.execute(query, (units,)):
                yield from unpacked(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
