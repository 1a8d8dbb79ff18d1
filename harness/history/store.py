"""A history in a database: an SQLite file, or any server that SQLAlchemy reaches.

A run is written in one transaction, as a whole or not at all. Writers wait for each other. A
damaged file, or one that is not a history, is refused and never overwritten.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Engine, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    ProgrammingError,
)

from harness.base.closing import Closing
from harness.base.errors import CannotWrite, EnvironmentMissing, HilError, UsageError
from harness.base.secrets import redacted
from harness.history import schema
from harness.history.regression import CaseKey, CaseOutcome
from harness.history.run import ImageParts, Occasion, Run, image_parts
from harness.history.selection import Selection

#: Seconds that a writer waits for another one.
_PATIENCE = 60.0
#: Execution option of connections that write.
_TO_WRITE = {"writes": True}
#: Identifiers in the condition of one query.
_CHUNK = 500
#: Variables in one statement: SQLite's limit (PostgreSQL's is 65,535).
_VARIABLES = 32_766
#: Seconds of waiting before each further attempt at a transaction.
_PAUSES = (0.2, 1.0)


@dataclass(frozen=True)
class RunRow:
    """A run in the database."""

    id: int
    occasion: Occasion


@dataclass(frozen=True)
class RecordedCase:
    """A case in one run."""

    run: RunRow
    outcome: CaseOutcome
    image: int | None  # id of its image
    sample: str = ""  # "": an image that is not of a sample
    resolver: str = ""


class History(Closing):
    """An open history; a context manager."""

    def __init__(self, engine: Engine, where: str) -> None:
        self._engine = engine
        self._engine_to_write = engine.execution_options(**_TO_WRITE)
        self.where = where

    @classmethod
    def open(cls, url: str, *, make: bool = True) -> History:
        """Open the history at ``url``, a file's path or a database URL; create it if needed.

        Raises :class:`UsageError` for a damaged file, a database of another program or of a newer
        tflm-hil, or, without ``make``, a missing file; :class:`EnvironmentMissing` if there is no
        driver or no server.
        """
        path = Path(url).expanduser()
        if not make and "://" not in url and not path.exists():
            raise UsageError(f"there is no history {url}", hint="tflm-hil history record FILE")
        full = url if "://" in url else f"sqlite:///{path}"
        try:
            parsed = make_url(full)
            engine = _engine(parsed)
        except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValueError) as error:
            raise UsageError(
                f"{redacted(url)} cannot be opened: {error}", hint="a file, or a URL of SQLAlchemy"
            ) from error
        shown = parsed.render_as_string(hide_password=True) if "://" in url else url
        history = cls(engine, redacted(shown))
        try:
            history._prepare()
        except HilError:
            history.close()
            raise
        return history

    def _prepare(self) -> None:
        with self._reading() as connection:
            if schema.version(connection, self.where) == schema.VERSION:
                return
        try:
            with self._engine_to_write.begin() as connection:
                schema.prepare(connection, self.where)
        except (IntegrityError, ProgrammingError):  # another process has just created the tables
            with self._writing() as connection:
                schema.prepare(connection, self.where)
        except DBAPIError as error:
            raise _own_error(error, self.where) from error

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with _own_errors(self.where), self._engine_to_write.begin() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with _own_errors(self.where), self._engine.connect() as connection:
            yield connection

    def record(self, run: Run) -> bool:
        """Write ``run``; return False if the history has it already.

        New images are read from their files before the transaction, so that no other writer waits.
        The transaction is repeated if another writer or a lost connection prevents it.
        """
        run = replace(run, images=(*run.images, *self._read_images(run)))
        for pause in _PAUSES:
            with suppress(OSError):  # a driver in Python, whose connection was reset
                try:
                    return self._record(run)
                except DBAPIError as error:
                    if not _is_transient(error):
                        raise _own_error(error, self.where) from error
            time.sleep(pause)
        with _own_errors(self.where):
            return self._record(run)

    def _record(self, run: Run) -> bool:
        with self._engine_to_write.begin() as connection:
            schema.hold(connection)
            known = sql.select(schema.runs.c.id).where(schema.runs.c.key == run.key)
            if connection.execute(known).first() is not None:
                return False
            selection = run.occasion.selection
            row = {**vars(run.occasion), "selection": selection.to_text() if selection else ""}
            (run_id,) = _insert(connection, schema.runs, [{"key": run.key, **row}])
            images = self._write_images(connection, run)
            _write_cases(connection, run, run_id, images)
        return True

    def _read_images(self, run: Run) -> Iterator[ImageParts]:
        """Read the images of ``run`` whose parts neither it nor the database has."""
        needed = run.elves.keys() - {image.sha256 for image in run.images}
        with self._reading() as connection:
            known = _known_images(connection, needed)
        for sha in sorted(needed - known.keys()):
            parts = image_parts(run.elves[sha], sha)
            if parts is not None:
                yield parts

    def _write_images(self, connection: Connection, run: Run) -> dict[str, int]:
        """Write the new images of ``run``; return SHA-256 -> id of all of its images."""
        hashes = {case.image for case in run.cases if case.image}
        ids = _known_images(connection, hashes)
        known = {image.sha256: image for image in run.images}
        new = [known.get(sha, ImageParts(sha, "", ())) for sha in sorted(hashes - ids.keys())]
        rows = [{"sha256": image.sha256, "compiler": image.compiler,
                 "parts": json.dumps(image.parts)} for image in new]  # fmt: skip
        new_ids = _insert(connection, schema.images, rows)
        return ids | dict(zip((image.sha256 for image in new), new_ids, strict=True))

    def id_of(self, run: Run) -> int | None:
        """The id of ``run``; None if it is not in the history."""
        query = sql.select(schema.runs.c.id).where(schema.runs.c.key == run.key)
        with self._reading() as connection:
            return connection.execute(query).scalar_one_or_none()

    def runs(self, *, branch: str | None = None, last: int | None = None) -> list[RunRow]:
        """The runs, oldest first: all, those of ``branch``, or the ``last`` of them."""
        table = schema.runs
        query = sql.select(table).order_by(table.c.started.desc(), table.c.id.desc())
        if branch is not None:
            query = query.where(table.c.branch == branch)
        if last is not None:
            query = query.limit(last)
        with self._reading() as connection:
            rows = connection.execute(query).mappings().all()
        return [_run_row(row) for row in reversed(rows)]

    def case_names(self, runs: Sequence[RunRow]) -> list[str]:
        """The names of all cases in ``runs``, sorted."""
        names: set[str] = set()
        with self._reading() as connection:
            for chunk in _chunks([run.id for run in runs]):
                query = sql.select(schema.cases.c.name).where(schema.cases.c.run.in_(chunk))
                names.update(connection.execute(query.distinct()).scalars())
        return sorted(names)

    def cases(
        self, runs: Sequence[RunRow], names: Collection[str] | None = None
    ) -> dict[CaseKey, list[RecordedCase]]:
        """The results of each case (None: of all) in ``runs``, oldest first."""
        by_id = {run.id: run for run in runs}
        order = {run.id: number for number, run in enumerate(runs)}
        cases: dict[CaseKey, list[RecordedCase]] = defaultdict(list)
        with self._reading() as connection:
            for chunk in _chunks(list(by_id)):
                condition: sql.ColumnElement[bool] = schema.cases.c.run.in_(chunk)
                if names is not None:
                    condition &= schema.cases.c.name.in_(names)
                figures = _figures(connection, condition)
                query = sql.select(schema.cases).where(condition)
                for row in connection.execute(query).mappings():
                    outcome = CaseOutcome(row["verdict"], row["reason"], figures.get(row["id"], {}))
                    run = by_id[row["run"]]
                    key = CaseKey(row["name"], row["target"], row["builder"], row["compiler"],
                                  run.occasion.machine, row["chip"])  # fmt: skip
                    cases[key].append(
                        RecordedCase(run, outcome, row["image"], row["sample"], row["resolver"])
                    )
        for points in cases.values():
            points.sort(key=lambda point: order[point.run.id])
        return dict(cases)

    def parts(self, image: int, kind: str) -> dict[tuple[str, str], int]:
        """(region, name) -> bytes of an image's parts of ``kind``: symbol or operator."""
        query = sql.select(schema.images.c.parts).where(schema.images.c.id == image)
        with self._reading() as connection:
            parts = json.loads(connection.execute(query).scalar_one())
        return {(region, name): size for own, region, name, size in parts if own == kind}


def _engine(url: sql.URL) -> Engine:
    # The pool logs a traceback for a lost connection, before this module raises its own error.
    logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)
    if url.get_backend_name() != "sqlite":
        return _server_engine(url)
    engine = sql.create_engine(url, connect_args={"timeout": _PATIENCE})

    # By default a transaction gets its write lock at the first write, and two readers that both
    # begin to write are in a deadlock. Here a writer locks the file when the transaction begins.
    @sql.event.listens_for(engine, "connect")
    def _manual(connection: Any, _: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # a redacted text leaves the file, too

    @sql.event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _server_engine(url: sql.URL) -> Engine:
    engine = sql.create_engine(url)
    if url.get_backend_name() == "postgresql":

        @sql.event.listens_for(engine, "connect")
        def _limit(connection: Any, _: object) -> None:
            cursor = connection.cursor()
            cursor.execute(f"SET lock_timeout = '{_PATIENCE:.0f}s'")
            cursor.close()
            connection.commit()

    return engine


def _is_transient(error: DBAPIError) -> bool:
    """Whether another attempt may succeed (PostgreSQL, appendix A, classes 40 and 57)."""
    state = _details(error).get("C") or getattr(error.orig, "sqlstate", None) or ""
    return error.connection_invalidated or str(state)[:2] in ("40", "57")


def _details(error: DBAPIError) -> Mapping[str, str]:
    """The fields of a server's message; pg8000 alone gives them."""
    argument = error.orig.args[0] if error.orig is not None and error.orig.args else None
    return argument if isinstance(argument, Mapping) else {}


@contextmanager
def _own_errors(where: str) -> Iterator[None]:
    """Convert a database's errors to those of this package."""
    try:
        yield
    except DBAPIError as error:
        raise _own_error(error, where) from error
    except OSError as error:  # a driver in Python cannot reach its server
        raise EnvironmentMissing(f"the history {where} cannot be used: {error}") from error


def _own_error(error: DBAPIError, where: str) -> HilError:
    message = _details(error).get("M") or str(error.orig).strip().partition("\n")[0]
    words = message.lower()
    if "not a database" in words or "malformed" in words:
        return UsageError(
            f"{where} is not a history, or damaged: {message}",
            hint="nothing was changed; restore the file, or name another one",
        )
    if "full" in words or "readonly" in words or "read-only" in words or "i/o" in words:
        return CannotWrite(f"cannot write {where}: {message}; the run was not recorded")
    if "locked" in words or "lock timeout" in words:
        return CannotWrite(
            f"cannot write {where}: another writer holds it for more than {_PATIENCE:.0f} s"
        )
    return EnvironmentMissing(f"the history {where} cannot be used: {message}")


def _write_cases(connection: Connection, run: Run, run_id: int, images: Mapping[str, int]) -> None:
    columns = {column.name for column in schema.cases.columns} - {"id", "run", "image"}
    rows = [
        {**{name: getattr(case, name) for name in columns},
         "run": run_id, "image": images.get(case.image)}
        for case in run.cases
    ]  # fmt: skip
    ids = _insert(connection, schema.cases, rows)
    figures = [
        schema.fitting(schema.measures, {"case": case_id, **vars(figure)})
        for case_id, case in zip(ids, run.cases, strict=True)
        for figure in case.figures
        if math.isfinite(figure.value)
    ]
    each = _VARIABLES // len(schema.measures.columns)
    for start in range(0, len(figures), each):
        connection.execute(schema.measures.insert().values(figures[start : start + each]))


def _known_images(connection: Connection, hashes: Collection[str]) -> dict[str, int]:
    """SHA-256 -> id of the images that the database has."""
    ids: dict[str, int] = {}
    table = schema.images
    for chunk in _chunks(sorted(hashes)):
        query = sql.select(table.c.sha256, table.c.id).where(table.c.sha256.in_(chunk))
        ids.update((row.sha256, row.id) for row in connection.execute(query))
    return ids


def _insert(
    connection: Connection, table: sql.Table, rows: Sequence[Mapping[str, object]]
) -> list[int]:
    """Write rows in as few statements as possible; return their ids, in order."""
    fitted = [schema.fitting(table, row) for row in rows]
    if not fitted:
        return []
    statement = table.insert().returning(table.c.id, sort_by_parameter_order=True)
    return list(connection.execute(statement, fitted).scalars())


_ByCase = dict[int, dict[tuple[str, str], float]]


def _figures(connection: Connection, condition: sql.ColumnElement[bool]) -> _ByCase:
    """The figures of the cases that meet ``condition``: id -> (name, source) -> value."""
    table = schema.measures
    query = (
        sql.select(table.c.case, table.c.name, table.c.source, table.c.value)
        .join(schema.cases, schema.cases.c.id == table.c.case)
        .where(condition)
    )
    figures: _ByCase = defaultdict(dict)
    for case, name, source, value in connection.execute(query):
        figures[case][name, source] = value
    return figures


def _run_row(row: sql.RowMapping) -> RunRow:
    names = ("started", "commit", "branch", "machine", "tool", "command")
    selection = Selection.from_text(row["selection"])
    return RunRow(row["id"], Occasion(**{name: row[name] for name in names}, selection=selection))


def _chunks(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(rows), _CHUNK):
        yield rows[start : start + _CHUNK]
