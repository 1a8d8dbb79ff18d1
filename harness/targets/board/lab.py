"""``lab.toml``: boards that cannot be discovered, and the policy for failures of the bench.

Unknown keys and wrong types are errors, so that a misspelt ``power_cycle`` is found.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import platformdirs

from harness.base import files, numbers, platforms, tables
from harness.base.errors import UsageError
from harness.base.text import short

#: Names of boards and serial numbers of probes, which are parts of file names.
_NAME = re.compile(r"\w[\w .:+@-]{0,63}")
#: Bytes; leaves room for the suffix ``.quarantine.json`` in a file name.
_MAX_NAME_BYTES = 128
_NAME_RULE = "1 to 64 letters, digits and .:+@_- or blanks, the first a letter or digit"
_MAX_RETRIES = 10
_Seconds = Annotated[float, numbers.seconds_or_zero]


def is_valid_name(text: str) -> bool:
    """True if ``text`` may be a board's name or a probe's serial number."""
    return bool(_NAME.fullmatch(text)) and len(text.encode("utf-8", "replace")) <= _MAX_NAME_BYTES


def checked_name(text: str, subject: str) -> str:
    """``text``, if it is a valid name. Raises :class:`UsageError` about ``subject`` otherwise."""
    if is_valid_name(text):
        return text
    shown = text if len(text) <= 40 else f"{text[:40]}..."
    raise UsageError(f"{subject} {shown!r} cannot be used", hint=_NAME_RULE)


@tables.check(f"a whole number from 0 to {_MAX_RETRIES}")
def _retries(value: int) -> int:
    if not 0 <= value <= _MAX_RETRIES:
        raise ValueError(f"{short(value)} is not a number from 0 to {_MAX_RETRIES}")
    return value


@tables.check("a name that is also a valid file name")
def _named(value: str) -> str:
    if not is_valid_name(value):
        raise ValueError(f"{short(value)} cannot be used: {_NAME_RULE}")
    return value


@tables.check("a serial number, with or without quotes", raw=True)
def _serial(value: object) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return _named(short(value) if whole else value if isinstance(value, str) else "")


@tables.check("the name of a board, or a console wiring")
def _console(value: str) -> str:
    try:
        platforms.console_wiring(value)
    except UsageError as error:
        raise ValueError(error.message) from error
    return value


@tables.check("the name of a chip (`tflm-hil list chips`)")
def _chip(value: str) -> str:
    try:
        return platforms.chip_called(value).key if value else ""
    except UsageError as error:
        raise ValueError(f"{error.message}; {error.hint}") from error


@dataclass(frozen=True)
class Policy:
    """The policy for failures of the bench; a wrong output is never retried.

    ``retries`` is the number of further attempts, ``backoff`` the seconds between them.
    ``quarantine``: a board that fails its health check after the last attempt is not used until
    ``tflm-hil boards release``. Time limits, in seconds: ``power_cycle_seconds`` for the hook,
    ``return_seconds`` for a board that left the bus, ``settle_seconds`` for the boot banner after a
    reset, ``flash_seconds`` for a call of the flash tool.
    """

    retries: Annotated[int, _retries] = 1
    backoff: _Seconds = 1.0
    quarantine: bool = True
    power_cycle_seconds: _Seconds = 30.0
    return_seconds: _Seconds = 5.0
    settle_seconds: _Seconds = 1.0
    flash_seconds: _Seconds = 120.0


@dataclass(frozen=True)
class BoardEntry:
    """A ``[[board]]`` of a lab file. ``port`` is a device or a URL for pyserial.

    Images for another chip than ``chip`` are refused. ``console`` is the wiring of the console
    (:func:`harness.base.platforms.console_wiring`); ``baud`` overrides its baud rate.
    """

    name: Annotated[str, _named]
    probe: Annotated[str, _serial]
    port: str = ""
    chip: Annotated[str, _chip] = ""
    runner: str = ""
    console: Annotated[str, _console] = ""
    baud: Annotated[int, numbers.baud] | None = None
    tags: tuple[str, ...] = ()
    probe_host: str = ""
    power_cycle: tuple[str, ...] = ()
    labgrid: str = ""

    @property
    def rate(self) -> int:
        """The baud rate of the port; 0 if the file specifies none."""
        wiring = platforms.console_wiring(self.console) if self.console else None
        return self.baud or (wiring.baud if wiring else 0)


@dataclass(frozen=True)
class _LabFile:
    board: tuple[BoardEntry, ...] = ()
    policy: Policy = field(default_factory=Policy)
    state: str = ""


@dataclass(frozen=True)
class Lab:
    """A lab file: boards by name, and the policy for all of them."""

    entries: tuple[BoardEntry, ...] = ()
    policy: Policy = field(default_factory=Policy)
    path: Path | None = None
    state: Path | None = None


def schema() -> dict[str, Any]:
    """The JSON Schema of a lab file."""
    return tables.json_schema(_LabFile)


def unpadded(serial: str) -> str:
    """A probe's serial number without the zeros that USB pads it with."""
    return serial.lstrip("0")


def same_serial(one: str, other: str) -> bool:
    """True if both serial numbers are equal apart from padding."""
    return unpadded(one) == unpadded(other)


def load(path: str | Path | None = None) -> Lab:
    """The lab file at ``path``, ``$TFLM_HIL_LAB``, ``./lab.toml`` or in the user's configuration.

    Without any of these files the lab is empty. Raises :class:`UsageError` if a specified file does
    not exist, or a file is not TOML, has unknown keys, wrong types, or a name or probe twice.
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
    """The lab in a TOML document; raises as :func:`load`."""
    where = str(path or "lab file")
    content = tables.read(_LabFile, document, where)
    for key in ("name", "probe"):
        values: set[str] = set()
        for entry in content.board:
            value = unpadded(getattr(entry, key))
            if value in values:
                raise UsageError(f"{where}: two boards have the {key} {getattr(entry, key)!r}")
            values.add(value)
    return Lab(content.board, content.policy, path, Path(content.state) if content.state else None)
