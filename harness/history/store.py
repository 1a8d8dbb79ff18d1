"""A history in a database: an SQLite file, or any server that SQLAlchemy reaches.

A run is written in one transaction: all of it or nothing, whatever ends the writer. Two writers
wait for each other. A file that is damaged or something else is named and never overwritten.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
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

from harness.closing import Closing
from harness.errors import CannotWrite, EnvironmentMissing, HilError, UsageError
from harness.history import schema
from harness.history.gate import Key, Seen
from harness.history.run import ImageParts, Occasion, Run, image_parts

#: Seconds that a writer waits for another one.
_PATIENCE = 60.0
_TO_WRITE = {"writes": True}
_CHUNK = 500  # rows of one look-up; SQLite takes 32,766 variables


@dataclass(frozen=True)
class RunRow:
    """A run in the database."""

    id: int
    occasion: Occasion


@dataclass(frozen=True)
class Point:
    """A case in one run, with its figures by (name, source) and the number of its image."""

    run: RunRow
    seen: Seen
    image: int | None


class History(Closing):
    """An open history; a context manager."""

    def __init__(self, engine: Engine, where: str) -> None:
        self._engine = engine
        self._engine_to_write = engine.execution_options(**_TO_WRITE)
        self.where = where

    @classmethod
    def open(cls, url: str) -> History:
        """The history at ``url``: a file's path, or a database URL; made where there is none.

        Raises :class:`UsageError` for a damaged file, a database of something else or of a newer
        tflm-hil; :class:`EnvironmentMissing` if there is no driver or no server.
        """
        full = url if "://" in url else f"sqlite:///{Path(url).expanduser()}"
        try:
            parsed = make_url(full)
            engine = _engine(parsed)
        except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
            raise UsageError(
                f"{url} cannot be opened: {error}", hint="a file, or a URL of SQLAlchemy"
            ) from error
        history = cls(engine, parsed.render_as_string(hide_password=True) if "://" in url else url)
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
        except (IntegrityError, ProgrammingError):  # another one has just made the tables
            with self._writing() as connection:
                schema.prepare(connection, self.where)
        except DBAPIError as error:
            raise _in_words(error, self.where) from error

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with _named(self.where), self._engine_to_write.begin() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with _named(self.where), self._engine.connect() as connection:
            yield connection

    def record(self, run: Run) -> bool:
        """Keep ``run``; False if it is kept already.

        Images that are new here are read from their files first, for no writer waits for that.
        """
        run = replace(run, images=(*run.images, *self._read_images(run)))
        with self._writing() as connection:
            schema.hold(connection)
            known = sql.select(schema.runs.c.id).where(schema.runs.c.key == run.key)
            if connection.execute(known).first() is not None:
                return False
            occasion = vars(run.occasion)
            number = _inserted(connection, schema.runs, {"key": run.key, **occasion})
            images = self._images(connection, run)
            if run.cases:
                _write_cases(connection, run, number, images)
        return True

    def _read_images(self, run: Run) -> Iterator[ImageParts]:
        wanted = run.elves.keys() - {image.sha256 for image in run.images}
        with self._reading() as connection:
            known = _known_images(connection, wanted)
        for sha in sorted(wanted - known.keys()):
            parts = image_parts(run.elves[sha], sha)
            if parts is not None:
                yield parts

    def _images(self, connection: Connection, run: Run) -> dict[str, int]:
        """The number of each image of ``run``; those that are new are written."""
        wanted = {case.image for case in run.cases if case.image}
        parts = {image.sha256: image for image in run.images}
        found = _known_images(connection, wanted)
        table = schema.images
        for sha in sorted(wanted - found.keys()):
            image = parts.get(sha)
            compiler = image.compiler[:255] if image else ""
            found[sha] = _inserted(connection, table, {"sha256": sha, "compiler": compiler})
            if image and image.parts:
                columns = [column.name for column in schema.parts.columns]
                rows = [
                    dict(zip(columns, (found[sha], *part), strict=True)) for part in image.parts
                ]
                connection.execute(schema.parts.insert(), rows)
        return found

    def runs(self, *, branch: str | None = None, last: int | None = None) -> list[RunRow]:
        """The runs, oldest first: of one branch, the ``last`` ones."""
        table = schema.runs
        query = sql.select(table).order_by(table.c.started.desc(), table.c.id.desc())
        if branch is not None:
            query = query.where(table.c.branch == branch)
        if last is not None:
            query = query.limit(last)
        with self._reading() as connection:
            rows = connection.execute(query).mappings().all()
        return [_run_row(row) for row in reversed(rows)]

    def cases(self, runs: Sequence[RunRow]) -> dict[Key, list[Point]]:
        """What each case did in ``runs``, oldest first."""
        by_id = {run.id: run for run in runs}
        order = {run.id: number for number, run in enumerate(runs)}
        found: dict[Key, list[Point]] = defaultdict(list)
        with self._reading() as connection:
            for chunk in _chunks(list(by_id)):
                figures = _figures(connection, chunk)
                query = sql.select(schema.cases).where(schema.cases.c.run.in_(chunk))
                for row in connection.execute(query).mappings():
                    seen = Seen(row["verdict"], row["reason"], figures.get(row["id"], {}))
                    key = Key(row["name"], row["target"], row["builder"])
                    found[key].append(Point(by_id[row["run"]], seen, row["image"]))
        for points in found.values():
            points.sort(key=lambda point: order[point.run.id])
        return dict(found)

    def compiler(self, image: int | None) -> str:
        """What made an image, "" if nothing tells."""
        if image is None:
            return ""
        query = sql.select(schema.images.c.compiler).where(schema.images.c.id == image)
        with self._reading() as connection:
            return str(connection.execute(query).scalar_one())

    def parts(self, image: int, kind: str) -> dict[tuple[str, str], int]:
        """Bytes by (region, name) of one image: of its symbols, or of its operators."""
        table = schema.parts
        query = sql.select(table.c.region, table.c.name, table.c.bytes).where(
            table.c.image == image, table.c.kind == kind
        )
        with self._reading() as connection:
            return {(region, name): size for region, name, size in connection.execute(query)}


def _engine(url: sql.URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return sql.create_engine(url, pool_pre_ping=True)
    engine = sql.create_engine(url, connect_args={"timeout": _PATIENCE})

    # The driver begins a transaction at the first write, so that two readers that both mean to
    # write would each hold what the other needs. Here who means to write locks at once.
    @sql.event.listens_for(engine, "connect")
    def _manual(connection: Any, _: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")

    @sql.event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


@contextmanager
def _named(where: str) -> Iterator[None]:
    """A database's errors in the package's own words."""
    try:
        yield
    except DBAPIError as error:
        raise _in_words(error, where) from error
    except OSError as error:  # a driver in Python, without its server
        raise EnvironmentMissing(f"the history {where} cannot be used: {error}") from error


def _in_words(error: DBAPIError, where: str) -> HilError:
    told = str(error.orig).strip().partition("\n")[0]
    words = told.lower()
    if "not a database" in words or "malformed" in words:
        return UsageError(
            f"{where} is no history, or damaged: {told}",
            hint="nothing was changed; restore the file, or name another one",
        )
    if "full" in words or "readonly" in words or "read-only" in words or "i/o" in words:
        return CannotWrite(f"cannot write {where}: {told}; the run was not recorded")
    if "locked" in words:
        return CannotWrite(
            f"cannot write {where}: another writer holds it for more than {_PATIENCE:.0f} s"
        )
    return EnvironmentMissing(f"the history {where} cannot be used: {told}")


def _write_cases(connection: Connection, run: Run, number: int, images: Mapping[str, int]) -> None:
    columns = {column.name for column in schema.cases.columns} - {"id", "run", "image"}
    rows = [
        {**{name: getattr(case, name) for name in columns},
         "run": number, "image": images.get(case.image)}
        for case in run.cases
    ]  # fmt: skip
    statement = schema.cases.insert().returning(schema.cases.c.id, sort_by_parameter_order=True)
    ids = connection.execute(statement, rows).scalars().all()
    figures = [
        {"case": case_id, **vars(figure)}
        for case_id, case in zip(ids, run.cases, strict=True)
        for figure in case.figures
    ]
    if figures:
        connection.execute(schema.measures.insert(), figures)


def _known_images(connection: Connection, wanted: Collection[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    table = schema.images
    for chunk in _chunks(sorted(wanted)):
        query = sql.select(table.c.sha256, table.c.id).where(table.c.sha256.in_(chunk))
        found.update((row.sha256, row.id) for row in connection.execute(query))
    return found


def _inserted(connection: Connection, table: sql.Table, row: Mapping[str, object]) -> int:
    key = connection.execute(table.insert().values(**row)).inserted_primary_key
    assert key is not None
    return int(key[0])


_ByCase = dict[int, dict[tuple[str, str], float]]


def _figures(connection: Connection, runs: Sequence[int]) -> _ByCase:
    table = schema.measures
    query = (
        sql.select(table.c.case, table.c.name, table.c.source, table.c.value)
        .join(schema.cases, schema.cases.c.id == table.c.case)
        .where(schema.cases.c.run.in_(runs))
    )
    found: dict[int, dict[tuple[str, str], float]] = defaultdict(dict)
    for case, name, source, value in connection.execute(query):
        found[case][name, source] = value
    return found


def _run_row(row: sql.RowMapping) -> RunRow:
    names = ("started", "commit", "branch", "machine", "tool", "command")
    return RunRow(row["id"], Occasion(**{name: row[name] for name in names}))


def _chunks(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(rows), _CHUNK):
        yield rows[start : start + _CHUNK]
