"""Reads and checks ``zephyr_samples/resolvers.toml``, the table of samples and configurations.

Errors in the table are UsageErrors that name the entry. CMake runs this module as well, with a
Python that has the standard library only.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from harness.base import numbers, tables
from harness.base.errors import UsageError
from harness.base.findings import Kind
from harness.base.text import short
from harness.build.variants import (
    RUNTIMES,
    Configuration,
    Sample,
    Table,
    broken,
    explained,
)

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_FORMULA = re.compile(r"\d+|[a-z]+([+-]\d+)?")
_SOURCES = (".c", ".cc", ".cpp")


#: The name that stands for all configurations of a sample.
ALL = "all-configurations"


@tables.check("a whole number, or a word such as added-1", raw=True)
def _formula(value: object) -> str:
    if isinstance(value, bool) or not _FORMULA.fullmatch(str(value)):
        raise ValueError(f"{short(value)} is neither a number nor a word like added-1")
    return str(value)


@tables.check("a kind of finding")
def _kind(value: str) -> str:
    if value not in set(Kind):
        raise ValueError(f"{value!r} is not a kind of finding")
    return value


@tables.check("a date", raw=True)
def _date(value: object) -> date:
    if type(value) is not date:
        raise ValueError(f"{short(value)} is not a date")
    return value


@tables.check("bytes >= 1, or the unsupported operator", raw=True)
def _size_or_operator(value: object) -> int | str:
    if isinstance(value, str):
        return value
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{short(value)} is neither a size nor an operator")
    return value


@tables.check("a list; at least one text")
def _not_empty(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise ValueError("at least one builtin is needed")
    return names


_Kind = TypeVar("_Kind", int, str)
_Count = Annotated[int, numbers.count]
_Formula = Annotated[str, _formula]
_Names = tuple[str, ...]


@dataclass(frozen=True)
class _Minimum:
    standalone: Annotated[int | None, numbers.count] = None
    tflm: Mapping[str, Annotated[Any, _size_or_operator]] = field(default_factory=dict)


@dataclass(frozen=True)
class _SampleRow:
    title: str
    model: str
    arena: _Count
    operators: Annotated[_Names, _not_empty]
    inferences: _Count
    application: str = ""
    arena_minimum: _Minimum = _Minimum()
    custom_operators: _Names = ()
    inputs: str = ""
    vectors: str = ""
    rows: int = 0
    override: str = ""


@dataclass(frozen=True)
class _FindingRow:
    kind: Annotated[str, _kind]
    subject: str
    declared: Literal["slots"] | None = None


@dataclass(frozen=True)
class _ExpectRow:
    outputs: bool
    findings: tuple[_FindingRow, ...] = ()


@dataclass(frozen=True)
class _ConfigurationRow:
    title: str
    add: _Names
    slots: _Formula
    expect: _ExpectRow
    requires: tuple[Literal["custom", "override", "arena_minimum"], ...] = ()
    arena: _Formula = "declared"
    repeat: bool = False
    replace: _Names = ()
    checked: bool = False
    console: bool = False


@dataclass(frozen=True)
class _Document:
    """The content of the file; the comment at its head explains the keys."""

    samples: Mapping[str, _SampleRow]
    configurations: Mapping[str, _ConfigurationRow]
    spare: _Names
    runtimes: Mapping[str, _Names]
    tflite_micro: Mapping[str, Annotated[date, _date]] = field(default_factory=dict)
    methods: Mapping[str, str] = field(default_factory=dict)


def load(path: Path | None = None) -> Table:
    """The table at ``path`` (default: that of the samples). Raises UsageError for a wrong entry."""
    if path is None:
        # Imported here because CMake's Python, which passes a path, has no platformdirs.
        from harness.base import paths  # noqa: PLC0415

        path = paths.samples() / "resolvers.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read the resolver table {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise broken(path, str(error)) from error
    return _parse(path, text)


@functools.lru_cache(maxsize=4)  # checking all variants is slow
def _parse(path: Path, text: str) -> Table:
    try:
        document = tables.read(_Document, tomllib.loads(text), path.name)
    except tomllib.TOMLDecodeError as error:
        raise broken(path, str(error)) from error
    except UsageError as error:
        raise UsageError(error.message, hint=error.hint or explained(path)) from error
    table = Table(
        path=path,
        samples={name: _sample(path, name, row) for name, row in document.samples.items()},
        configurations={
            name: _configuration(path, name, row) for name, row in document.configurations.items()
        },
        spare=document.spare,
        runtimes={name: document.runtimes.get(name, ()) for name in RUNTIMES},
        tflite_micro=dict(sorted(document.tflite_micro.items(), key=lambda one: one[1])),
        methods=document.methods,
    )
    _check(table)
    return table


def _sample(path: Path, name: str, row: _SampleRow) -> Sample:
    application = row.application or name
    return Sample(
        name=_checked_name(path, name),
        title=row.title,
        application=application,
        model=row.model,
        arena=row.arena,
        operators=row.operators,
        custom_operators=row.custom_operators,
        inferences=row.inferences,
        inputs=row.inputs,
        vectors=row.vectors,
        rows=row.rows,
        override=row.override,
        arena_minimum=_minima(row.arena_minimum, int),
        refused=_minima(row.arena_minimum, str),
        sources=_sources(path.parent, application),
    )


def _minima(row: _Minimum, kind: type[_Kind]) -> dict[str, _Kind]:
    """The values of type ``kind`` by runtime, or ``runtime@revision``.

    Integers are bytes, texts the unsupported operator.
    """
    named = {"standalone": row.standalone, **{f"tflm@{one}": row.tflm[one] for one in row.tflm}}
    return {name: value for name, value in named.items() if isinstance(value, kind)}


def _configuration(path: Path, name: str, row: _ConfigurationRow) -> Configuration:
    return Configuration(
        name=_checked_name(path, name),
        title=row.title,
        add=row.add,
        slots=row.slots,
        arena=row.arena,
        repeat=row.repeat,
        replace=row.replace,
        checked=row.checked,
        console=row.console,
        requires=row.requires,
        outputs=row.expect.outputs,
        findings=tuple(
            {key: value for key, value in vars(finding).items() if value is not None}
            for finding in row.expect.findings
        ),
    )


def _checked_name(path: Path, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise broken(path, f"{name!r} is not a name: lower case, digits, underscores")
    return name


def _check(table: Table) -> None:
    """Checks that all operators exist, and that all variants on all runtimes are valid."""
    lists = {
        "spare": table.spare,
        **{f"runtime {name}": operators for name, operators in table.runtimes.items()},
        **{f"sample {sample.name}": sample.operators for sample in table.samples.values()},
    }
    for where, operators in lists.items():
        for name in operators:
            if name not in table.methods:
                raise broken(table.path, f"{where}: no Add* method for {name!r}")
    for sample in table.samples.values():
        for name in sample.arena_minimum.keys() | sample.refused.keys():
            if name != "standalone" and name.partition("@")[2] not in table.tflite_micro:
                raise broken(table.path, f"sample {sample.name}: no date of tflite-micro {name!r}")
        for operator in sample.refused.values():
            if operator not in sample.operators:
                raise broken(table.path, f"sample {sample.name}: it does not need {operator!r}")
        if sample.override and sample.override not in sample.operators:
            raise broken(table.path, f"sample {sample.name}: it does not need {sample.override!r}")
    for sample, row in table.pairs():
        for runtime in RUNTIMES:
            measured = {name.partition("@")[0] for name in sample.arena_minimum}
            if row.arena.startswith("minimum") and runtime not in measured:
                continue
            table.variant(sample.name, row.name, runtime)


def _sources(samples: Path, application: str) -> tuple[str, ...]:
    """The C and C++ files of the application and of ``common``, relative to ``samples``."""
    folders = (samples / application / "src", samples / "common" / "src")
    paths = (path for folder in folders for path in sorted(folder.glob("*")))
    return tuple(path.relative_to(samples).as_posix() for path in paths if path.suffix in _SOURCES)
