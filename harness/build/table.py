"""The checked table of samples and configurations, and what each variant is expected to do.

The table is ``zephyr_samples/resolvers.toml``. Errors in it are UsageErrors that name the entry.
:mod:`harness.build.generated` has its meaning.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from harness.base import numbers, paths, tables
from harness.base.errors import UsageError
from harness.base.expected import Expected
from harness.base.findings import Kind
from harness.base.text import short
from harness.build import generated
from harness.build.generated import (
    RUNTIMES,
    Addition,
    BuiltinInputs,
    Configuration,
    Sample,
    TableError,
    Variant,
)

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_FORMULA = re.compile(r"\d+|[a-z]+([+-]\d+)?")
#: Findings of an arena that is too small.
_OF_ARENA = (Kind.ARENA_TOO_SMALL, Kind.ALLOCATION_FAILED)


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


@dataclass(frozen=True)
class Table(generated.PlainTable):
    """The table in the file ``path``. Its errors are UsageErrors."""

    path: Path = Path()

    def sample(self, name: str) -> Sample:
        """The sample called ``name``; raises UsageError with the known names."""
        with usage_errors():
            return super().sample(name)

    def configuration(self, name: str, sample: Sample) -> Configuration:
        """The configuration called ``name``; raises UsageError if ``sample`` has no such one."""
        with usage_errors():
            return super().configuration(name, sample)

    def variant(
        self, sample: str, configuration: str, runtime: str = "standalone", revision: str = ""
    ) -> Variant:
        """``sample`` in ``configuration`` on ``runtime``; raises UsageError for unknown names.

        ``revision`` of tflite-micro is one of :meth:`minima`, "" the last of them.
        """
        with usage_errors():
            return super().variant(sample, configuration, runtime, revision)

    def expected(self, variant: Variant) -> Expected:
        """What an image of ``variant`` must show: the configuration's row, for this sample."""
        findings: list[tuple[str, str]] = []
        values: list[tuple[str, str, str, int]] = []
        for entry in variant.configuration.expect.get("findings", ()):
            word = entry["subject"]
            subjects = self.operators(word, variant.sample, variant.runtime) if word else ("",)
            for subject in subjects:
                findings.append((entry["kind"], subject))
                if entry.get("declared") == "slots":
                    values.append((entry["kind"], subject, "declared", variant.slots))
        if variant.refused:
            findings = [(kind, subject) for kind, subject in findings if kind not in _OF_ARENA]
            findings += [(Kind.PREPARE_FAILED, variant.refused), (Kind.ALLOCATION_FAILED, "")]
        kept, left = register(variant.additions, variant.slots, checked=variant.checked)
        return Expected(
            variant.configuration.expect["outputs"] and not variant.refused,
            tuple(findings),
            declared=tuple(values),
            registered=len(kept),
            refused=len(left),
        )


@contextmanager
def usage_errors(where: str = "", hint: str = "") -> Iterator[None]:
    """Makes errors of the table, its models and its inputs UsageErrors."""
    try:
        yield
    except TableError as error:
        raise UsageError(f"{where}{error}", hint=error.hint or hint) from error


def register(
    additions: Sequence[Addition], slots: int, *, checked: bool
) -> tuple[list[str], list[tuple[Kind, str]]]:
    """The registrations that MicroMutableOpResolver<slots> accepts and refuses.

    For builtins it first checks for a duplicate, for custom operators for a free slot. A
    ``checked`` application stops at the first refusal.
    """
    kept: list[str] = []
    refused: list[tuple[Kind, str]] = []
    for addition in additions:
        full, twice = len(kept) >= slots, addition.operator in kept
        if not full and not twice:
            kept.append(addition.operator)
            continue
        duplicate = twice and not (addition.custom and full)
        kind = Kind.DUPLICATE_OPERATOR if duplicate else Kind.RESOLVER_TOO_SMALL
        refused.append((kind, addition.operator))
        if checked:
            break
    return kept, refused


def inputs_of(sample: Sample) -> BuiltinInputs | None:
    """The built-in inputs of ``sample``; None if the application generates its inputs.

    Raises UsageError for a file that cannot be used.
    """
    with usage_errors():
        return generated.inputs_of(sample, paths.models())


def load(path: Path | None = None) -> Table:
    """The table at ``path`` (default: that of the samples). Raises UsageError for a wrong entry."""
    path = path or paths.samples() / "resolvers.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read the resolver table {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _broken(path, str(error)) from error
    return _parse(path, text)


@functools.lru_cache(maxsize=4)  # checking all variants is slow
def _parse(path: Path, text: str) -> Table:
    try:
        document = tomllib.loads(text)
        tables.read(_Document, document, path.name)
    except tomllib.TOMLDecodeError as error:
        raise _broken(path, str(error)) from error
    except UsageError as error:
        raise UsageError(error.message, hint=error.hint or _explained(path)) from error
    table = Table(**Table.fields(document), path=path)
    with usage_errors(f"{path.name}: ", _explained(path)):
        _check(table)
    return table


def _check(table: Table) -> None:
    """Checks that all operators exist, and that all variants on all runtimes are valid."""
    wrong = [name for name in (*table.samples, *table.configurations) if not _NAME.fullmatch(name)]
    if wrong:
        raise TableError(f"{wrong[0]!r} is not a name: lower case, digits, underscores")
    lists = {
        "spare": table.spare,
        **{f"runtime {name}": operators for name, operators in table.runtimes.items()},
        **{f"sample {sample.name}": sample.operators for sample in table.samples.values()},
    }
    for where, operators in lists.items():
        for name in operators:
            if name not in table.methods:
                raise TableError(f"{where}: no Add* method for {name!r}")
    for sample in table.samples.values():
        for name in sample.arena_minimum.keys() | sample.refused.keys():
            if name != "standalone" and name.partition("@")[2] not in table.tflite_micro:
                raise TableError(f"sample {sample.name}: no date of tflite-micro {name!r}")
        for operator in (*sample.refused.values(), *filter(None, [sample.override])):
            if operator not in sample.operators:
                raise TableError(f"sample {sample.name}: it does not need {operator!r}")
    for sample, row in table.pairs():
        for runtime in RUNTIMES:
            measured = {name.partition("@")[0] for name in sample.arena_minimum}
            if not row.arena.startswith("minimum") or runtime in measured:
                variant = generated.PlainTable.variant(table, sample.name, row.name, runtime)
                table.expected(variant)


def _broken(path: Path, message: str) -> UsageError:
    return UsageError(f"{path.name}: {message}", hint=_explained(path))


def _explained(path: Path) -> str:
    return f"the comment at its head explains the keys: {path}"
