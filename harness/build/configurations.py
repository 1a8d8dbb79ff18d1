"""Reads and checks ``zephyr_samples/resolvers.toml``, the table of samples and configurations.

A broken table is a UsageError that names the entry. CMake runs this module too, with a bare
Python: standard library only.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from harness.build.variants import (
    RUNTIMES,
    Addition,
    Configuration,
    Expectation,
    Sample,
    Table,
    Variant,
    broken,
)
from harness.errors import UsageError
from harness.findings import Kind

__all__ = [
    "RUNTIMES",
    "Addition",
    "Configuration",
    "Expectation",
    "Sample",
    "Table",
    "Variant",
    "load",
]

_REQUIRES = ("custom", "override", "arena_minimum")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_FORMULA = re.compile(r"\d+|[a-z]+([+-]\d+)?")
_SOURCES = (".c", ".cc", ".cpp")

Row = TypeVar("Row")


def load(path: Path | None = None) -> Table:
    """Read and check the table; raises UsageError saying which entry is wrong and why."""
    if path is None:
        # Only here: CMake's Python calls with a path and has no platformdirs, which this needs.
        from harness import paths  # noqa: PLC0415

        path = paths.samples() / "resolvers.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read the resolver table {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise broken(path, str(error)) from error
    return _parse(path, text)


@functools.lru_cache(maxsize=4)  # checking each variant takes longer than many a case
def _parse(path: Path, text: str) -> Table:
    try:
        return _Reader(path).table(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise broken(path, str(error)) from error


class _Reader:
    """Checks the document's shape, entry by entry, and builds the table's rows."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def table(self, document: Mapping[str, object]) -> Table:
        expected = ("spare", "samples", "configurations", "runtimes", "methods")
        self._only(document, expected, "the table")
        table = Table(
            path=self.path,
            samples=self._rows(document, "samples", self._sample),
            configurations=self._rows(document, "configurations", self._configuration),
            spare=self._names(document, "spare", "the table"),
            runtimes={
                name: self._names(self._mapping(document, "runtimes"), name, "runtimes")
                for name in RUNTIMES
            },
            methods={
                name: str(method) for name, method in self._mapping(document, "methods").items()
            },
        )
        self._check(table)
        return table

    def _check(self, table: Table) -> None:
        """Every sample's operators exist and every pair can be worked out on every runtime."""
        named = {
            "spare": table.spare,
            **{f"runtime {name}": operators for name, operators in table.runtimes.items()},
            **{f"sample {one.name}": one.operators for one in table.samples.values()},
        }
        for where, operators in named.items():
            for name in operators:
                if name not in table.methods:
                    raise self._wrong(where, f"there is no Add* method for {name!r}")
        for one in table.samples.values():
            if one.override and one.override not in one.operators:
                raise self._wrong(f"sample {one.name}", f"it does not need {one.override!r}")
        for sample, row in table.pairs():
            for runtime in RUNTIMES:
                if row.arena.startswith("minimum") and runtime not in sample.arena_minimum:
                    continue
                table.variant(sample.name, row.name, runtime)

    def _sample(self, name: str, row: Mapping[str, object]) -> Sample:
        where = f"sample {name}"
        self._only(
            row,
            (
                "title", "application", "model", "arena", "arena_minimum", "operators",
                "custom_operators", "inferences", "inputs", "rows", "override",
            ),
            where,
        )  # fmt: skip
        minimum = self._mapping(row, "arena_minimum") if "arena_minimum" in row else {}
        self._only(minimum, RUNTIMES, f"{where}, arena_minimum")
        application = self._text(row, "application", where, default=name)
        operators = self._names(row, "operators", where)
        if not operators:
            raise self._wrong(where, "operators must name at least one builtin")
        return Sample(
            name=name,
            title=self._text(row, "title", where),
            application=application,
            model=self._text(row, "model", where),
            arena=self._count(row, "arena", where),
            operators=operators,
            custom_operators=self._names(row, "custom_operators", where, default=()),
            inferences=self._count(row, "inferences", where),
            inputs=self._text(row, "inputs", where, default=""),
            rows=self._count(row, "rows", where) if "rows" in row else 0,
            override=self._text(row, "override", where, default=""),
            arena_minimum={key: self._count(minimum, key, where) for key in minimum},
            sources=_sources(self.path.parent, application),
        )

    def _configuration(self, name: str, row: Mapping[str, object]) -> Configuration:
        where = f"configuration {name}"
        self._only(
            row,
            (
                "title", "requires", "add", "repeat", "replace", "slots", "checked", "arena",
                "console", "expect",
            ),
            where,
        )  # fmt: skip
        requires = self._names(row, "requires", where, default=())
        for requirement in requires:
            if requirement not in _REQUIRES:
                raise self._wrong(where, f"requires {requirement!r}, not one of {_REQUIRES}")
        expect = self._mapping(row, "expect", where)
        self._only(expect, ("outputs", "findings"), f"{where}, expect")
        return Configuration(
            name=name,
            title=self._text(row, "title", where),
            add=self._names(row, "add", where),
            slots=self._formula(row, "slots", where),
            arena=self._formula(row, "arena", where, default="declared"),
            repeat=self._flag(row, "repeat", where),
            replace=self._names(row, "replace", where, default=()),
            checked=self._flag(row, "checked", where),
            console=self._flag(row, "console", where),
            requires=requires,
            outputs=self._flag(expect, "outputs", f"{where}, expect", required=True),
            findings=self._findings(expect, f"{where}, expect"),
        )

    def _findings(self, expect: Mapping[str, object], where: str) -> tuple[Mapping[str, str], ...]:
        entries = expect.get("findings", [])
        if not isinstance(entries, list):
            raise self._wrong(where, "findings must be a list of tables")
        for entry in entries:
            if not isinstance(entry, dict) or not {"kind", "subject"} <= entry.keys():
                raise self._wrong(where, f"a finding has a kind and a subject, not {entry!r}")
            self._only(entry, ("kind", "subject", "declared"), where)
            if entry["kind"] not in set(Kind):
                raise self._wrong(where, f"{entry['kind']!r} is no kind of finding")
        return tuple(entries)

    def _rows(
        self,
        document: Mapping[str, object],
        key: str,
        make: Callable[[str, Mapping[str, object]], Row],
    ) -> dict[str, Row]:
        rows = self._mapping(document, key)
        for name in rows:
            if not _NAME.fullmatch(name):
                raise self._wrong(key, f"{name!r} is no name: lower case, digits, underscores")
        return {name: make(name, self._mapping(rows, name, key)) for name in rows}

    def _mapping(
        self, row: Mapping[str, object], key: str, where: str = "the table"
    ) -> Mapping[str, object]:
        value = row.get(key)
        if not isinstance(value, dict):
            raise self._wrong(where, f"there is no table {key!r}")
        return value

    def _names(
        self,
        row: Mapping[str, object],
        key: str,
        where: str = "the table",
        *,
        default: tuple[str, ...] | None = None,
    ) -> tuple[str, ...]:
        value = row.get(key, default)
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise self._wrong(where, f"{key} must be a list of names")
        return tuple(value)

    def _text(
        self, row: Mapping[str, object], key: str, where: str, *, default: str | None = None
    ) -> str:
        value = row.get(key, default)
        if not isinstance(value, str):
            raise self._wrong(where, f"{key} must be a text")
        return value

    def _count(self, row: Mapping[str, object], key: str, where: str) -> int:
        value = row.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self._wrong(where, f"{key} must be a whole number above 0, not {value!r}")
        return value

    def _flag(
        self, row: Mapping[str, object], key: str, where: str, *, required: bool = False
    ) -> bool:
        value = row.get(key, None if required else False)
        if not isinstance(value, bool):
            raise self._wrong(where, f"{key} must be true or false")
        return value

    def _formula(
        self, row: Mapping[str, object], key: str, where: str, *, default: str | None = None
    ) -> str:
        value = row.get(key, default)
        text = str(value)
        if isinstance(value, bool) or not _FORMULA.fullmatch(text):
            raise self._wrong(where, f"{key} must be a number or a word like added-1")
        return text

    def _only(self, row: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
        for key in row:
            if key not in known:
                raise self._wrong(where, f"{key!r} means nothing here; known: {', '.join(known)}")

    def _wrong(self, where: str, message: str) -> UsageError:
        return broken(self.path, f"{where}: {message}")


def _sources(samples: Path, application: str) -> tuple[str, ...]:
    """The application's and the shared C and C++ files, relative to ``samples``."""
    folders = (samples / application / "src", samples / "common" / "src")
    found = (path for folder in folders for path in sorted(folder.glob("*")))
    return tuple(path.relative_to(samples).as_posix() for path in found if path.suffix in _SOURCES)
