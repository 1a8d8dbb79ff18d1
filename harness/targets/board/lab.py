"""``lab.toml``: boards that cannot be guessed, and what to do when one misbehaves.

The file is read strictly: an unknown key or a wrong type is an error that names it, so that a
misspelt ``power_cycle`` is found at once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import platformdirs

from harness import files, limits, platforms, tables
from harness.errors import UsageError
from harness.targets.board import names

#: Baud rate of a console for which the lab file names none.
BAUD = platforms.board_type().console.baud
_MOST_RETRIES = 10
_Seconds = Annotated[float, partial(limits.seconds, zero=True)]


def _retries(value: int) -> int:
    if not 0 <= value <= _MOST_RETRIES:
        raise ValueError(f"{limits.short(value)} is not a number from 0 to {_MOST_RETRIES}")
    return value


def _named(value: str) -> str:
    """A name that is also a valid file name."""
    if not names.is_name(value):
        raise ValueError(f"{limits.short(value)} cannot be used: {names.RULE}")
    return value


def _serial(value: object) -> str:
    """A probe's serial number, with or without quotes in the file."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return _named(limits.short(value) if whole else value if isinstance(value, str) else "")


@dataclass(frozen=True)
class Policy:
    """What to do when the bench itself fails; a wrong output is never tried again.

    ``retries`` more attempts, ``backoff`` seconds apart. ``quarantine``: a board that fails its
    health check after the last attempt is set aside until ``tflm-hil boards release``.
    ``return_seconds``: how long a board that left the bus is waited for. ``settle_seconds``: how
    long after a reset a boot banner is waited for. ``flash_seconds``: limit of one flash tool call.
    """

    retries: Annotated[int, _retries] = 1
    backoff: _Seconds = 1.0
    quarantine: bool = True
    power_cycle_seconds: _Seconds = 30.0
    return_seconds: _Seconds = 5.0
    settle_seconds: _Seconds = 1.0
    flash_seconds: _Seconds = 120.0


@dataclass(frozen=True)
class Entry:
    """One ``[[board]]`` of a lab file. ``port`` is a device or an URL that pyserial opens."""

    name: Annotated[str, _named]
    probe: Annotated[str, tables.Raw(_serial)]
    port: str = ""
    runner: str = ""
    baud: Annotated[int, limits.baud] = BAUD
    tags: tuple[str, ...] = ()
    probe_host: str = ""
    power_cycle: tuple[str, ...] = ()
    labgrid: str = ""


@dataclass(frozen=True)
class _Document:
    board: tuple[Entry, ...] = ()
    policy: Policy = field(default_factory=Policy)
    state: str = ""


@dataclass(frozen=True)
class Lab:
    """A lab file: boards by name, and the policy for all of them."""

    entries: tuple[Entry, ...] = ()
    policy: Policy = field(default_factory=Policy)
    path: Path | None = None
    state: Path | None = None


def same_serial(one: str, other: str) -> bool:
    """True if both are the same probe: USB pads J-Link serial numbers with zeros."""
    return one.lstrip("0") == other.lstrip("0")


def load(path: str | Path | None = None) -> Lab:
    """The lab file at ``path``, or the first one of ``$TFLM_HIL_LAB``, ``./lab.toml``, user config.

    No file at all is an empty lab. Raises :class:`UsageError` for a file that was named and is
    not there, is not TOML, has unknown keys, wrong types, or two boards of one name or probe.
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
    content = tables.read(_Document, document, where)
    for key in ("name", "probe"):
        values: set[str] = set()
        for entry in content.board:
            value = getattr(entry, key).lstrip("0")
            if value in values:
                raise UsageError(f"{where}: two boards have the {key} {getattr(entry, key)!r}")
            values.add(value)
    return Lab(content.board, content.policy, path, Path(content.state) if content.state else None)
