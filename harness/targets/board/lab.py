"""``lab.toml``: boards that cannot be guessed, and what to do when one misbehaves.

The file is read strictly: an unknown key or a wrong type is an error that names it, so that a
misspelt ``power_cycle`` is not found out at night.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs

from harness import files, limits
from harness.errors import UsageError
from harness.targets.board import names

BAUD = 115200


@dataclass(frozen=True)
class Policy:
    """What is done when the bench itself fails; a wrong output is never tried again.

    ``retries`` more attempts, ``backoff`` seconds apart. ``quarantine``: a board that fails its
    health check after the last attempt is set aside until ``tflm-hil boards release``.
    ``return_seconds``: how long a board that left the bus is waited for. ``settle_seconds``: how
    long after a reset a boot banner is waited for. ``flash_seconds``: limit of one flash tool call.
    """

    retries: int = 1
    backoff: float = 1.0
    quarantine: bool = True
    power_cycle_seconds: float = 30.0
    return_seconds: float = 5.0
    settle_seconds: float = 1.0
    flash_seconds: float = 120.0


@dataclass(frozen=True)
class Entry:
    """One ``[[board]]`` of a lab file. ``port`` is a device or an URL that pyserial opens."""

    name: str
    probe: str
    port: str = ""
    runner: str = ""
    baud: int = BAUD
    tags: tuple[str, ...] = ()
    probe_host: str = ""
    power_cycle: tuple[str, ...] = ()
    labgrid: str = ""


@dataclass(frozen=True)
class Lab:
    """A lab file: boards by name, and the policy for all of them."""

    entries: tuple[Entry, ...] = ()
    policy: Policy = field(default_factory=Policy)
    path: Path | None = None
    state: Path | None = None

    def by_probe(self, serial: str) -> Entry | None:
        """The entry of the probe with this serial number, or None."""
        return next((e for e in self.entries if same_serial(e.probe, serial)), None)


def same_serial(one: str, other: str) -> bool:
    """Whether two spellings name the same probe: USB pads J-Link numbers with zeros."""
    return one.lstrip("0") == other.lstrip("0")


def load(path: str | Path | None = None) -> Lab:
    """The lab file at ``path``, or the first one of ``$TFLM_HIL_LAB``, ``./lab.toml``, user config.

    No file at all is an empty lab. Raises :class:`UsageError` for a file that was named and is
    not there, is no TOML, has unknown keys, wrong types, or two boards of one name or probe.
    """
    named = path or os.environ.get("TFLM_HIL_LAB") or None
    if named is not None:
        return _read(Path(named))
    for candidate in (
        Path("lab.toml"),
        Path(platformdirs.user_config_dir("tflm-hil")) / "lab.toml",
    ):
        if files.is_file(candidate):
            return _read(candidate)
    return Lab()


def _read(path: Path) -> Lab:
    return parse(files.read_toml(path), path)


def parse(document: Mapping[str, Any], path: Path | None = None) -> Lab:
    """A lab from a TOML document; see :func:`load` for the errors."""
    where = str(path or "lab file")
    _only(document, {"board", "policy", "state"}, where)
    boards = document.get("board", [])
    if not isinstance(boards, list) or not all(isinstance(b, dict) for b in boards):
        raise UsageError(f"{where}: boards are written as [[board]] tables")
    entries = tuple(_entry(b, f"{where}: board {i + 1}") for i, b in enumerate(boards))
    for what in ("name", "probe"):
        seen: set[str] = set()
        for entry in entries:
            value = getattr(entry, what).lstrip("0")
            if value in seen:
                raise UsageError(f"{where}: two boards have the {what} {getattr(entry, what)!r}")
            seen.add(value)
    policy = document.get("policy", {})
    if not isinstance(policy, dict):
        raise UsageError(f"{where}: [policy] is a table")
    state = document.get("state")
    if state is not None and not isinstance(state, str):
        raise UsageError(f"{where}: state is a folder, in quotes")
    return Lab(entries, _policy(policy, f"{where}: policy"), path, Path(state) if state else None)


def _entry(table: Mapping[str, Any], where: str) -> Entry:
    _only(table, set(Entry.__dataclass_fields__), where)
    for key in ("name", "probe"):
        if key not in table:
            raise UsageError(f"{where}: {key!r} is missing")
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key in ("tags", "power_cycle"):
            if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
                raise UsageError(f"{where}: {key!r} is a list of strings, not {value!r}")
            values[key] = tuple(value)
        elif key == "baud":
            try:
                values[key] = limits.baud(value)
            except ValueError as error:
                raise UsageError(f"{where}: 'baud': {error}") from error
        elif key == "probe" and isinstance(value, int) and not isinstance(value, bool):
            values[key] = names.checked(limits.short(value), f"{where}: probe")
        elif not isinstance(value, str) or (key in ("name", "probe") and not value):
            raise UsageError(f"{where}: {key!r} is a string, not {value!r}")
        else:
            checked = key in ("name", "probe")
            values[key] = names.checked(value, f"{where}: {key}") if checked else value
    return Entry(**values)


def _policy(table: Mapping[str, Any], where: str) -> Policy:
    _only(table, set(Policy.__dataclass_fields__), where)
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key == "quarantine":
            good = isinstance(value, bool)
        elif key == "retries":
            good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10
        else:
            good = not isinstance(value, str) and _is_time(value)
        if not good:
            raise UsageError(f"{where}: {key!r} cannot be {value!r}")
        values[key] = value
    return Policy(**values)


def _is_time(value: object) -> bool:
    try:
        limits.seconds(value, zero=True)
    except ValueError:
        return False
    return True


def _only(table: Mapping[str, Any], known: set[str], where: str) -> None:
    if unknown := sorted(set(table) - known):
        raise UsageError(
            f"{where}: unknown key {unknown[0]!r}", hint=f"known: {', '.join(sorted(known))}"
        )
