"""The layers of a case: built-in < sample < file < environment < door.

Each layer holds values as they were written, and the folder from which its paths start. They are
merged, and then decoded once, so that every error names who wrote the value.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

from harness.base import files, numbers, tables
from harness.base.errors import UsageError
from harness.base.removed import renamed
from harness.base.text import short
from harness.case.case import Case
from harness.case.contradictions import refuse_contradictions
from harness.case.samples import sample_values
from harness.case.schema import ARGUMENTS, KEYS, OLD_KEYS, DoorKey, renewed
from harness.case.subject import find_model
from harness.elf import combined
from harness.targets.registry import all_options
from harness.uart.scrapers import TensorRegex

#: What to try if a file is missing.
_PATHS = "paths are relative to the case file; is the firmware built?"


class LayerKind(IntEnum):
    """Who wrote a layer; a later one replaces values of an earlier one."""

    SAMPLE = 0
    BOARD = 1  # of a case file, for whichever target takes it
    DEFAULTS = 2  # of a case file, for all of its cases
    FILE = 3
    ENVIRONMENT = 4
    DOOR = 5


@dataclass(frozen=True)
class CaseLayer:
    """Values as they were written; ``spelled`` names who wrote a value if not all of the layer."""

    source: LayerKind
    origin: str
    values: Mapping[str, object]
    folder: Path = Path()
    spelled: Mapping[str, str] = field(default_factory=dict)

    def origin_of(self, name: str) -> str:
        """Who wrote the value of ``name``."""
        return self.spelled.get(name) or self.spelled.get(name.partition(".")[0]) or self.origin


@dataclass(frozen=True)
class NamedLayers:
    """The layers of one case, and its place for messages, "" outside of a file."""

    name: str
    place: str
    layers: tuple[CaseLayer, ...]


@dataclass(frozen=True)
class Written:
    """A value as it was written, and the layer in which it stands."""

    name: str
    value: object
    layer: CaseLayer

    @property
    def origin(self) -> str:
        """Who wrote it."""
        return self.layer.origin_of(self.name)


def environment() -> CaseLayer:
    """The options of targets that are environment variables."""
    variables = {name: row.variable for name, (row, _) in all_options().items() if row.variable}
    given = {name: value for name, word in variables.items() if (value := os.environ.get(word))}
    spelled = {f"options.{name}": f"${variables[name]}" for name in given}
    return CaseLayer(LayerKind.ENVIRONMENT, "the environment", {"options": given}, spelled=spelled)


class Overlay:
    """Merged layers. ``written`` is by key; entries of tables are ``options.power_on``."""

    def __init__(self, layers: Iterable[CaseLayer]) -> None:
        self.notes: list[str] = []
        self._replaced: dict[str, str] = {}  # key -> the note that a door replaces its value
        layers = list(layers)
        self.written = self._merged(layers)
        if "sample" in self.written:
            self.written = self._merged([self._sample(), *layers])

    def _sample(self) -> CaseLayer:
        """The layer below the others: what the table says of the sample."""
        sample, resolver, builder = (
            str(self._decoded(KEYS[name], default))
            for name, default in (("sample", ""), ("resolver", "exact"), ("builder", "standalone"))
        )
        return CaseLayer(
            LayerKind.SAMPLE, f"sample {sample}", sample_values(sample, resolver, builder)
        )

    def _merged(self, layers: list[CaseLayer]) -> dict[str, Written]:
        self.notes.clear()
        merged: dict[str, Written] = {}
        for layer in layers:
            self.notes += [
                renamed(f"key {old}", layer.origin_of(old))
                for old in OLD_KEYS
                if old in layer.values
            ]
            for one in _entries(layer):
                for part in [path for path in merged if path.startswith(f"{one.name}.")]:
                    del merged[part]
                earlier = _earlier(merged, one)
                if (
                    earlier
                    and LayerKind.BOARD <= earlier.layer.source <= LayerKind.FILE
                    and layer.source > LayerKind.FILE
                ):
                    self._note_replaced(earlier, one)
                merged.pop(one.name, None)  # the last one stands last
                merged[one.name] = one
        return merged

    def _note_replaced(self, earlier: Written, later: Written) -> None:
        old, new = tables.plain(earlier.value), tables.plain(later.value)
        if old != new:
            what = f"{earlier.name} = {short(old)} of {earlier.origin}"
            self._replaced[later.name] = f"{later.origin} replaces {what}"
            self.notes.append(self._replaced[later.name])

    def case(self, place: str = "", *, alone: bool = True) -> Case:
        """The case, decoded. Raises :class:`UsageError` that names who wrote what is wrong.

        ``place`` stands before messages about keys that contradict each other. ``alone``: the door
        runs no other case, so that its keys are for this one.
        """
        tops = {name.partition(".")[0] for name in self.written}
        values = {name: self._decoded(key) for name, key in KEYS.items() if name in tops}
        if "elf" in values:  # [defaults] may have them for samples
            values.pop("resolver", None)
            values.pop("builder", None)
        own = (LayerKind.FILE, LayerKind.DOOR) if alone else (LayerKind.FILE,)
        names = (name for name, one in self.written.items() if one.layer.source in own)
        values["count_replaced"] = self._replaced.get("inferences", "")
        case = Case(**values, given=frozenset(name.partition(".")[0] for name in names))
        given = {name for name, one in self.written.items() if one.layer.source > LayerKind.SAMPLE}
        try:
            refuse_contradictions(case, given)
        except UsageError as error:
            message = f"{place}: {error.message}" if place else error.message
            raise UsageError(message, hint=error.hint) from error
        return case

    def origins(self, case: Case) -> dict[str, tuple[object, str]]:
        """Each given value of ``case``, and who wrote it, by key; options only if they count."""
        shown: dict[str, tuple[object, str]] = {}
        order = list(KEYS)
        for name, one in sorted(
            self.written.items(), key=lambda pair: order.index(pair[0].partition(".")[0])
        ):
            table, _, entry = name.partition(".")
            if table != "options" or entry in case.target_options:
                shown[name] = (one.value, one.origin)
        return shown

    def _parts(self, key: DoorKey) -> Iterator[tuple[str, Written]]:
        """The entries of a table that were written one by one."""
        for name, one in self.written.items():
            table, dot, entry = name.partition(".")
            if dot and table == key.name:
                yield entry, one

    def _decoded(self, key: DoorKey, default: object = None) -> Any:
        base, parts = self.written.get(key.name), dict(self._parts(key))
        if key.merged:
            return {entry: _found(key.name, one, entry) for entry, one in parts.items()}
        if base is None and not parts:
            return default
        last = base or next(iter(parts.values()))
        value: Any = base.value if base else {}
        if parts and is_dataclass(value):
            return _with_parts(value, parts, key.name)
        if parts and isinstance(value, Mapping):
            last = list(parts.values())[-1]
            value = {**value, **{entry: one.value for entry, one in parts.items()}}
        typed = tables.value_of(key.annotation, value, key.name, last.origin)
        return _found(key.name, replace(last, value=typed))


def _with_parts(base: Any, parts: Mapping[str, Written], table: str) -> Any:
    """``base``, an instance, with the entries that were written over it."""
    for entry, one in parts.items():
        known = {each.name: None for each in tables.key_fields(type(base))}
        tables.only({entry: one.value}, known, f"{one.origin}, {table}")
        annotation = tables.annotation_of(type(base), entry)
        value = tables.value_of(annotation, one.value, f"{table}.{entry}", one.origin)
        base = replace(base, **{entry: value})
    return base


def _entries(layer: CaseLayer) -> Iterator[Written]:
    """The values of a layer, tables that are merged by entry, under today's names."""
    values = renewed(layer.values, layer.origin)
    options = values.get("options", {})
    for name in ("peripherals", "start"):  # options of targets that are keys of their own
        if not isinstance(options, Mapping) or name not in options:
            continue
        if name in values:
            raise UsageError(f"{layer.origin}: {name} stands twice: among options, too")
        values[name] = options[name]
        options = values["options"] = {key: one for key, one in options.items() if key != name}
    for name, value in values.items():
        if name not in KEYS and name.partition(".")[0] not in KEYS:
            tables.only({name: value}, KEYS, layer.origin_of(name))
        if name not in KEYS or not KEYS[name].merged:
            yield Written(name, value, layer)
            continue
        for entry, one in _table(name, value, layer).items():
            yield Written(f"{name}.{entry}", one, layer)


def _table(name: str, value: object, layer: CaseLayer) -> Mapping[str, object]:
    if name == "peripherals" and isinstance(value, str):
        from harness.simulator.peripherals.user_models import pairs  # noqa: PLC0415 - few have it

        return pairs(value)
    if not isinstance(value, Mapping):
        raise UsageError(f"{layer.origin_of(name)}: {name} is a table, not {short(value)}")
    return value


def _earlier(merged: Mapping[str, Written], one: Written) -> Written | None:
    """What ``one`` replaces: the same key, or an entry of a table that was written as a whole."""
    table, _, entry = one.name.partition(".")
    whole = merged.get(table)
    if entry and whole and isinstance(whole.value, Mapping) and entry in whole.value:
        return Written(one.name, whole.value[entry], whole.layer)
    return merged.get(one.name)


# What values name, found from the folder of their layer.


def _found(key: str, one: Written, entry: str = "") -> Any:
    find = _FINDERS.get(key)
    try:
        if find is not None:
            return find(one.value, one.layer.folder, entry)
        return _file(one.value, one.layer.folder) if isinstance(one.value, Path) else one.value
    except UsageError as error:
        place = f"{one.origin}: " if error.message else ""
        raise UsageError(f"{place}{error.message}", hint=error.hint) from error


def _file(path: Path, folder: Path) -> Path:
    if not files.is_file(folder / path):
        raise UsageError(f"there is no file {folder / path}", hint=_PATHS)
    return folder / path


def _image(path: Path, folder: Path, _: str = "") -> Path:
    if not combined.is_image(folder / path):
        raise UsageError(f"there is no file {folder / path}", hint=_PATHS)
    return folder / path


def _images(paths: tuple[Path, ...], folder: Path, _: str) -> tuple[Path, ...]:
    return tuple(_image(path, folder) for path in paths)


def _model(name: Path, folder: Path, _: str) -> Path:
    return find_model(str(name), folder)


def _inputs(given: Any, folder: Path, _: str) -> object:
    return _file(given, folder) if isinstance(given, Path) else _regexes(given, folder, _)


def _regexes(given: tuple[str | TensorRegex, ...], _: Path, __: str) -> tuple[TensorRegex, ...]:
    return tuple(TensorRegex(one) if isinstance(one, str) else one for one in given)


def _option(value: object, folder: Path, name: str) -> object:
    """The value of a target's option, whose name every target but one may lack."""
    known = all_options()
    if name not in known:
        raise UsageError(
            f"options: no option {short(name)}", hint=f"options of targets: {', '.join(known)}"
        )
    row = known[name][0]
    if row.kind == "seconds":
        return numbers.given(numbers.seconds_or_zero, value, f"options.{name}")
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        raise UsageError(f"options.{name} is a text, not {short(value)}")
    named = folder / str(value)
    return str(named) if row.file and files.is_file(named) else str(value)


def _peripheral(given: object, folder: Path, name: str) -> str:
    """The model of a peripheral: a text or ``{ feed = FILE }``, with paths from ``folder``."""
    model = given.get("feed") if isinstance(given, Mapping) and [*given] == ["feed"] else given
    if not isinstance(model, str):
        raise UsageError(
            f"peripherals.{name}: {short(given)} is not a model",
            hint='{ feed = "samples.npz" }, "mine.py:Class", or the name of an entry point',
        )
    file = model.rpartition(":")[0] or model
    return str(folder / model) if file.endswith((".py", ".npy", ".npz")) else model


_FINDERS: dict[str, Callable[[Any, Path, str], object]] = {
    "elf": _image,
    "also_load": _images,
    "model": _model,
    "inputs": _inputs,
    "outputs": _regexes,
    "options": _option,
    "peripherals": _peripheral,
}


def door_layer(
    origin: str,
    values: Mapping[str, object],
    *,
    folder: Path = Path(),
    spelled: Mapping[str, str] | None = None,
    source: LayerKind = LayerKind.DOOR,
) -> CaseLayer:
    """A layer of arguments by name: None is not given, texts are read as the key has them."""
    given = {}
    for name, value in values.items():
        if value is None:
            continue
        key = ARGUMENTS.get(name)
        read = key.from_text(value) if key is not None and isinstance(value, str) else value
        given[key.name if key is not None else name] = read
    return CaseLayer(source, origin, given, folder, spelled or {})
