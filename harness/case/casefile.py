"""``hil.toml``: the layers of each of its cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.base import files, tables
from harness.base.errors import UsageError
from harness.base.platforms import console_wiring
from harness.base.text import short
from harness.case.artifacts import folder_name
from harness.case.case import Case
from harness.case.overlay import CaseLayer, LayerKind, NamedLayers

#: Bytes of a folder's name: below the 255 of common file systems, with room for suffixes.
_LONGEST_NAME = 200


@dataclass(frozen=True)
class _Board:
    """The user's board; :func:`platforms.console_wiring` reads ``console``."""

    console: str


@dataclass(frozen=True)
class _CaseFile:
    case: tuple[Mapping[str, object], ...] = ()
    defaults: Mapping[str, object] = field(default_factory=dict)
    board: _Board | None = None
    peripherals: Mapping[str, object] = field(default_factory=dict)


def rows_of(path: Path) -> tuple[NamedLayers, ...]:
    """The cases of a case file. Raises :class:`UsageError` that names the file."""
    document = tables.read(_CaseFile, files.read_toml(path), str(path))
    if not document.case:
        raise UsageError(
            f"{path} has no [[case]]",
            hint="`tflm-hil init` writes one; `tflm-hil list paths docs` has examples in cases.md",
        )
    models, kind = {"peripherals": document.peripherals}, LayerKind.DEFAULTS
    below = (
        _board(document.board, path),
        CaseLayer(kind, f"{path}, [peripherals]", models, path.parent),
        CaseLayer(kind, f"{path}, [defaults]", document.defaults, path.parent),
    )
    rows: list[NamedLayers] = []
    for table in document.case:
        name = table.get("name")
        if not isinstance(name, str) or not name:
            raise UsageError(f"{path}: a [[case]] has no name")
        place = place_of(path, name)
        if any(row.name == name for row in rows):
            raise UsageError(f"{path}: two cases are called {name!r}")
        rows.append(
            NamedLayers(name, place, (*below, CaseLayer(LayerKind.FILE, place, table, path.parent)))
        )
    _check_folders([row.name for row in rows], path)
    return tuple(rows)


def place_of(path: Path, name: str) -> str:
    """The place of a case in its file, for messages."""
    return f"{path}, case {short(name)}"


def _board(board: _Board | None, path: Path) -> CaseLayer:
    """The options that the table ``[board]`` stands for."""
    origin, options = f"{path}, [board]", {}
    if board is not None:
        try:
            console_wiring(board.console)
        except UsageError as error:
            raise UsageError(f"{origin}: {error.message}", hint=error.hint) from error
        options["console"] = board.console
    return CaseLayer(LayerKind.BOARD, origin, {"options": options}, path.parent)


def _check_folders(names: list[str], path: Path) -> None:
    """Refuse case names that give the same folder, in which each would overwrite the other's."""
    taken: dict[str, str] = {}
    for name in names:
        folder = folder_name(name).casefold()
        if len(folder.encode()) > _LONGEST_NAME:
            raise UsageError(f"{path}: the name of case {name[:40]!r}... is too long")
        other = taken.setdefault(folder, name)
        if other != name:
            raise UsageError(
                f"{path}: the files of cases {other!r} and {name!r} would go into one folder",
                hint="let their names differ in letters or digits",
            )


def schema() -> dict[str, Any]:
    """The JSON Schema of a case file."""
    document, row = tables.json_schema(_CaseFile), tables.json_schema(Case)
    document["properties"]["case"] = {"type": "array", "items": {"$ref": "#/$defs/case"}}
    document["properties"]["defaults"] = {"$ref": "#/$defs/keys"}
    defaults = {key: value for key, value in row.items() if key != "required"}
    return {**document, "$defs": {"case": row, "keys": defaults}}
