"""``sweep.toml``: axes, filters, and the points that they span."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from harness.base import files, numbers, tables
from harness.base.errors import UsageError
from harness.build.builders import runtime_of
from harness.build.table import load as load_table
from harness.case.case import builder_name, target_name
from harness.case.subject import find_model
from harness.targets.registry import DEFAULT

#: Points of a sweep: more are refused, since an axis is probably too long by mistake.
MOST_POINTS = 100_000

Optimize = Literal["0", "1", "2", "3", "s", "g", "z", "fast"]


@tables.check("a model's file or name")
def _model(name: str) -> str:
    if name:
        find_model(name)  # raises UsageError for an unknown one
    return name


@dataclass(frozen=True)
class SweepPoint:
    """One variant: sample, build options, target. ``arena`` is in bytes; 0: as in the table."""

    sample: str
    resolver: str = "exact"
    model: str = ""
    builder: str = "standalone"
    optimize: str = "s"
    lto: bool = False
    fpu: bool = True
    arena: int = 0
    defines: str = ""
    target: str = DEFAULT

    def to_json(self) -> dict[str, Any]:
        """The ``parameters`` of a row."""
        return asdict(self)


@dataclass(frozen=True)
class Sweep:
    """A ``sweep.toml``: every axis is a list of values; a missing axis has its default value only.

    ``skip`` and ``only`` are lists of filters: tables from an axis' name (in the singular) to a
    value or a list of values of that axis. A point that matches a filter of ``skip``, or none of
    ``only`` if there are any, is left out.
    """

    samples: tuple[str, ...]
    resolvers: tuple[str, ...] = ("exact",)
    models: tuple[Annotated[str, _model], ...] = ("",)
    builders: tuple[Annotated[str, builder_name], ...] = ("standalone",)
    optimize: tuple[Optimize, ...] = ("s",)
    lto: tuple[bool, ...] = (False,)
    fpu: tuple[bool, ...] = (True,)
    arena: tuple[Annotated[int, numbers.count_or_zero], ...] = (0,)
    defines: tuple[str, ...] = ("",)
    targets: tuple[Annotated[str, target_name], ...] = (DEFAULT,)
    skip: tuple[Mapping[str, object], ...] = ()
    only: tuple[Mapping[str, object], ...] = ()

    @property
    def points(self) -> tuple[SweepPoint, ...]:
        """All points that pass the filters, in the order of the axes."""
        points = (SweepPoint(*values) for values in product(*self.axes.values()))
        return tuple(point for point in points if self._passes_filters(point))

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """Parameter of a point -> values of its axis, in the order of the parameters."""
        values = (
            self.samples, self.resolvers, self.models, self.builders, self.optimize, self.lto,
            self.fpu, self.arena, self.defines, self.targets,
        )  # fmt: skip
        return dict(zip((axis.name for axis in fields(SweepPoint)), values, strict=True))

    def _passes_filters(self, point: SweepPoint) -> bool:
        if any(_matches(point, row) for row in self.skip):
            return False
        return not self.only or any(_matches(point, row) for row in self.only)


def schema() -> dict[str, Any]:
    """The JSON Schema of a ``sweep.toml``."""
    return tables.json_schema(Sweep)


def load(path: Path) -> Sweep:
    """Read a sweep; raise :class:`UsageError` for the first mistake in it."""
    document = files.read_toml(path)
    if "case" in document or "defaults" in document:
        raise UsageError(f"{path} is a case file, not a sweep", hint=f"tflm-hil run {path}")
    sweep = tables.read(Sweep, document, str(path))
    where = str(path)
    for row in (*sweep.skip, *sweep.only):
        _check_filter(row, sweep.axes, where)
    points = sweep.points
    if not points or len(points) > MOST_POINTS:
        raise UsageError(
            f"{where} spans {len(points):,} points",
            hint=f"from 1 to {MOST_POINTS:,} can be swept: do axes and filters leave any?",
        )
    table = load_table()
    for point in points:
        runtime = runtime_of(point.builder)
        table.variant(point.sample, point.resolver, runtime)
        if runtime != "standalone" and _flags(point) != _flags(SweepPoint("")):
            raise UsageError(
                f"{where}: builder {point.builder!r} takes its flags from the application's own "
                "configuration",
                hint='leave such points out: [[skip]] with builder = "zephyr" and the flag',
            )
    return sweep


def _check_filter(
    row: Mapping[str, object], axes: Mapping[str, tuple[Any, ...]], where: str
) -> None:
    """Refuse a filter of unknown names or values: it would silently test less, or more."""
    tables.only(row, dict.fromkeys(axes), f"{where}, a filter")
    for name, values in row.items():
        for value in values if isinstance(values, list) else [values]:
            if not any(value == one and type(value) is type(one) for one in axes[name]):
                known = ", ".join(repr(one) for one in axes[name])
                raise UsageError(
                    f"{where}: a filter names {name} {value!r}, which its axis does not have",
                    hint=f"it has {known}",
                )


def _flags(point: SweepPoint) -> tuple[object, ...]:
    """The options of a point that only standalone builders take."""
    return point.optimize, point.lto, point.fpu, point.arena, point.defines, point.model


def _matches(point: SweepPoint, row: Mapping[str, object]) -> bool:
    for name, values in row.items():
        value = getattr(point, name, None)
        if not (value in values if isinstance(values, list) else value == values):
            return False
    return True
