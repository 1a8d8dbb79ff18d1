"""The tables of a history, and the migration from older ones.

Rows are facts with their source. The parts of an image (symbols, operators) are kept once for each
SHA-256, because most nights build the same images as the night before.
"""

from __future__ import annotations

from collections.abc import Callable

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

VERSION = 3

metadata = MetaData()

#: One row: which version of these tables the database has.
about = Table("tflm_hil", metadata, Column("version", Integer, nullable=False))

#: One run of many cases. ``key`` is the hash of its content: the same run is kept once.
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

images = Table(
    "images",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("compiler", String(255), nullable=False),
)

#: The bytes of an image's symbols, and of its operators (exclusive bytes of flash).
parts = Table(
    "parts",
    metadata,
    Column("image", ForeignKey("images.id"), nullable=False, index=True),
    Column("kind", String(16), nullable=False),  # symbol, operator
    Column("region", String(64), nullable=False),
    Column("name", String(1024), nullable=False),
    Column("bytes", Integer, nullable=False),
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
    Column("target", String(64), nullable=False),
    Column("verdict", String(16), nullable=False),
    Column("reason", String(4096), nullable=False),
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


def version(connection: Connection, where: str) -> int:
    """The version of the tables in the database; 0 if it has none.

    Raises :class:`UsageError` for a database of a newer tflm-hil, or of something else.
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
    """Make the tables, or migrate older ones, in the caller's transaction.

    Raises the errors of :func:`version`.
    """
    if not version(connection, where):
        # That tables are here now is an error: another process has made them, and its one row.
        metadata.create_all(connection, checkfirst=False)
        connection.execute(about.insert().values(version=VERSION))
        return
    hold(connection)  # another process may be migrating: the version is read again
    for step in range(version(connection, where), VERSION):
        _STEPS[step](connection)
    connection.execute(about.update().values(version=VERSION))


def hold(connection: Connection) -> None:
    """Wait until no one else writes, and make others wait to the end of the transaction.

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


#: Version -> the migration to the next one.
_STEPS: dict[int, Callable[[Connection], None]] = {1: _add_command, 2: _add_selection}
