"""Common parts of the stand-ins: the board, its misbehaviours, options, refusals."""

from __future__ import annotations

import base64
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from harness.base.errors import UsageError
from harness.elf import hexfile
from harness.targets.board.lab import same_serial
from harness.targets.board.virtual import bench as benches
from harness.targets.board.virtual.client import ControlError, call

Say = Callable[[str], None]


class ToolError(Exception):
    """The tool ends with ``code`` and this message."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def say(text: str) -> None:
    """A line on standard output, as the tool itself would print it."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class ProbedBoard:
    """The board that a tool works on, on a bench of virtual boards."""

    def __init__(self, bench: Path, serial: str) -> None:
        for folder, presence in benches.presences(bench).items():
            if same_serial(presence.serial, serial):
                self._folder = folder
                return
        raise ToolError(f"no probe with serial number {serial} is connected", 41)

    def program(self, file: Path, *, erase_all: bool = False) -> None:
        """Write an Intel HEX file, or fail, hang or lie as the board's misbehaviours demand."""
        blocks = read_hex(file)
        self._misbehave()
        coded = [(address, base64.b64encode(data).decode()) for address, data in blocks]
        self._call("program", blocks=coded, erase_all=erase_all)

    def verify(self, blocks: Sequence[hexfile.Block]) -> int | None:
        """The first address that differs, or None."""
        if self._wrong()["tool_lies"]:
            return None
        for address, data in blocks:
            content = self.read(address, len(data))
            for offset, (expected, stored) in enumerate(zip(data, content, strict=True)):
                if expected != stored:
                    return address + offset
        return None

    def read(self, address: int, size: int) -> bytes:
        """Memory."""
        return base64.b64decode(self._call("read", address=address, size=size)["data"])

    def reset(self) -> None:
        """Pulse the reset pin."""
        self._call("reset")

    def power(self) -> None:
        """Switch off and on."""
        self._call("power")

    def _misbehave(self) -> None:
        wrong = self._wrong()
        if wrong["flash_hangs"]:
            self._call("spent", name="flash_hangs")
            time.sleep(3600)
        if wrong["flash_fails"]:
            self._call("spent", name="flash_fails")
            raise ToolError("the operation attempted is unavailable: target did not respond", 33)

    def _wrong(self) -> dict[str, int]:
        wrong: dict[str, int] = self._call("info")["wrong"]
        return wrong

    def _call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        try:
            return call(self._folder, operation, **arguments)
        except ControlError as error:
            raise ToolError(str(error), 33) from error


def read_hex(file: Path) -> list[hexfile.Block]:
    """The blocks of an Intel HEX file; refuses any other file."""
    try:
        return hexfile.read(file.read_text(encoding="ascii"), str(file))
    except (OSError, UnicodeDecodeError, UsageError) as error:
        raise ToolError(f"cannot use the file {file}: {error}", 2) from error


def number(text: str) -> int:
    """A number as the tools take it: decimal or with ``0x``."""
    try:
        return int(text, 0)
    except ValueError:
        raise ToolError(f"invalid number {text!r}", 2) from None


def options(
    arguments: Sequence[str], values: Sequence[str], flags: Sequence[str], *, fold: bool = False
) -> tuple[dict[str, str], list[str]]:
    """Split a command line into options and the rest; refuses unknown and repeated ones.

    ``values`` take the next argument (or ``=``), ``flags`` take none. ``fold`` ignores case.
    """
    known = {name.lower() if fold else name: name for name in (*values, *flags)}
    settings: dict[str, str] = {}
    rest: list[str] = []
    queue = list(arguments)
    while queue:
        word = queue.pop(0)
        if not word.startswith("-"):
            rest.append(word)
            continue
        key, has_value, value = word.partition("=")
        name = known.get(key.lower() if fold else key)
        if name is None:
            raise ToolError(f"unexpected argument '{word}' found", 2)
        if name in settings:
            raise ToolError(f"the argument '{name}' cannot be used multiple times", 2)
        if name in values:
            if not has_value:
                if not queue:
                    raise ToolError(f"a value is required for '{name}'", 2)
                value = queue.pop(0)
        elif has_value:
            raise ToolError(f"unexpected value for '{name}'", 2)
        settings[name] = value
    return settings, rest


def need(settings: dict[str, str], name: str) -> str:
    """The value of an option that must be there."""
    if name not in settings:
        raise ToolError(f"the following required argument was not provided: {name}", 2)
    return settings[name]


def finish(tool: Callable[[], None], prefix: str = "Error: ") -> NoReturn:
    """Run a tool to its exit code."""
    try:
        tool()
    except ToolError as refusal:
        say(f"{prefix}{refusal}")
        raise SystemExit(refusal.code) from None
    raise SystemExit(0)
