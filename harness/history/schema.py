"""The tables of a history, and the migration from older ones.

Rows are facts with their source. Each image (SHA-256) is stored once, because most nights build the
same images as the night before.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    inspect,
    select,
)

from harness.base.errors import UsageError
from harness.base.secrets import redacted

VERSION = 6

metadata = MetaData()

#: One row: the version of the tables in the database.
about = Table("tflm_hil", metadata, Column("version", Integer, nullable=False))

#: One run of many cases. ``key`` is the hash of its content, so that a run is stored once.
runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", String(64), nullable=False, unique=True),
    Column("started", Float, nullable=False),  # seconds since 1970, UTC
    Column("commit", String(64), nullable=False),  # "" if unknown
    Column("branch", String(255), nullable=False),
    Column("machine", String(255), nullable=False),
    Column("tool", String(64), nullable=False),  # version of tflm-hil
    Column("command", String(4096), nullable=False),
    Column("selection", Text, nullable=False),  # Selection.to_text; "" if only the command is known
)

#: ``parts`` is a JSON list of the image's symbols and operators: [kind, region, name, bytes], where
#: kind is symbol or operator (exclusive bytes of flash). They are written and read together.
images = Table(
    "images",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("compiler", String(255), nullable=False),
    Column("parts", Text, nullable=False),
)

cases = Table(
    "cases",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run", ForeignKey("runs.id"), nullable=False),
    Column("image", ForeignKey("images.id")),
    Column("name", String(255), nullable=False),
    Column("sample", String(255), nullable=False),
    Column("resolver", String(255), nullable=False),
    Column("builder", String(64), nullable=False),
    Column("compiler", String(255), nullable=False),
    Column("target", String(64), nullable=False),
    Column("verdict", String(16), nullable=False),
    Column("reason", String(4096), nullable=False),
    Column("chip", String(64), nullable=False),
    Index("cases_by_name", "name", "target", "builder"),
    Index("cases_by_run", "run"),
)

measures = Table(
    "measures",
    metadata,
    Column("case", ForeignKey("cases.id"), nullable=False, index=True),
    Column("name", String(64), nullable=False),
    Column("source", String(16), nullable=False),  # elf, uart, simulator, renode, dwt, host
    Column("value", Float, nullable=False),
)


def fitting(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """Convert ``row`` to values that every database accepts.

    Text is truncated to the length of its column; NUL and lone surrogates, which PostgreSQL
    refuses and SQLite does not, become U+FFFD.
    """
    fitted: dict[str, Any] = {}
    for name, value in row.items():
        kind = table.c[name].type
        if isinstance(value, str) and isinstance(kind, String):
            fitted[name] = _text(value)[: kind.length]
        else:
            fitted[name] = value
    return fitted


def _text(value: str) -> str:
    return value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def version(connection: Connection, where: str) -> int:
    """The version of the tables in the database; 0 if it has none.

    Raises :class:`UsageError` for a database of a newer tflm-hil or of another program.
    """
    tables = set(inspect(connection).get_table_names())
    if about.name not in tables:
        foreign = tables & {table.name for table in metadata.sorted_tables}
        if foreign:
            raise UsageError(
                f"{where} is a database of something else: it has a table {min(foreign)!r}"
            )
        return 0
    version = int(connection.execute(select(about.c.version)).scalar_one())
    if version > VERSION:
        raise UsageError(
            f"{where} is a history of version {version}, this tflm-hil knows {VERSION}",
            hint="pip install --upgrade tflm-hil",
        )
    return version


def prepare(connection: Connection, where: str) -> None:
    """Create the tables, or migrate older ones, in the caller's transaction.

    Raises the errors of :func:`version`.
    """
    if not version(connection, where):
        # Fails if another process has created them meanwhile: the version must be inserted once.
        metadata.create_all(connection, checkfirst=False)
        connection.execute(about.insert().values(version=VERSION))
        return
    hold(connection)  # another process may be migrating: the version is read again
    for step in range(version(connection, where), VERSION):
        _STEPS[step](connection)
    connection.execute(about.update().values(version=VERSION))


def hold(connection: Connection) -> None:
    """Wait for other writers, and lock them out until the end of the transaction.

    A server locks the one row of ``tflm_hil``; SQLite has locked the file already.
    """
    connection.execute(select(about.c.version).with_for_update())


def _add_command(connection: Connection) -> None:
    """1 -> 2: a run has the command that made it."""
    connection.exec_driver_sql(
        "ALTER TABLE runs ADD COLUMN command VARCHAR(4096) NOT NULL DEFAULT ''"
    )


def _add_selection(connection: Connection) -> None:
    """2 -> 3: a run has the selection of its cases."""
    connection.exec_driver_sql("ALTER TABLE runs ADD COLUMN selection TEXT NOT NULL DEFAULT ''")


def _join_parts(connection: Connection) -> None:
    """3 -> 4: an image has its parts in one column, a case its compiler."""
    for change in (
        "ALTER TABLE images ADD COLUMN parts TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE cases ADD COLUMN compiler VARCHAR(255) NOT NULL DEFAULT ''",
        "UPDATE cases SET compiler = (SELECT compiler FROM images WHERE images.id = cases.image)"
        " WHERE image IS NOT NULL",
    ):
        connection.exec_driver_sql(change)
    rows = connection.exec_driver_sql("SELECT image, kind, region, name, bytes FROM parts")
    parts: defaultdict[int, list[list[Any]]] = defaultdict(list)
    for image, *part in rows:
        parts[image].append(part)
    for image, own in parts.items():
        statement = images.update().where(images.c.id == image)
        connection.execute(statement.values(parts=json.dumps(own)))
    connection.exec_driver_sql("DROP TABLE parts")


def _add_chip(connection: Connection) -> None:
    """4 -> 5: a case has the chip of its image, which had always been the nRF9160."""
    connection.exec_driver_sql("ALTER TABLE cases ADD COLUMN chip VARCHAR(64) NOT NULL DEFAULT ''")
    connection.exec_driver_sql("UPDATE cases SET chip = 'nrf9160' WHERE image IS NOT NULL")


def _redact(connection: Connection) -> None:
    """5 -> 6: no text holds a password or a token; commands did."""
    for table, columns in ((runs, ("command", "selection")), (cases, ("reason",))):
        for name in columns:
            column = table.c[name]
            for (text,) in connection.execute(select(column).distinct()).all():
                if (clean := redacted(text)) != text:
                    connection.execute(table.update().where(column == text).values({name: clean}))


#: Version -> the migration to the next one.
_STEPS: dict[int, Callable[[Connection], None]] = {
    1: _add_command,
    2: _add_selection,
    3: _join_parts,
    4: _add_chip,
    5: _redact,
}
