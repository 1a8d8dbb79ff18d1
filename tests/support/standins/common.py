"""Common parts of the stand-ins: the probe, command-line options, errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import NoReturn

from port_client import PortClient, PortError

from harness.base.errors import UsageError
from harness.elf import hexfile
from harness.targets.board.lab import same_serial
from harness.targets.board.virtual import bench as benches
from harness.targets.board.virtual.client import ControlError, call


class ToolError(Exception):
    """An error that ends the tool with exit code ``code``."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class Erase(Enum):
    """The part of the chip to erase before an image is written."""

    NOTHING = "nothing"
    PAGES = "the pages that it touches"
    ALL = "flash and UICR, by NVMC"


def say(text: str) -> None:
    """Prints a line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class ToolProbe:
    """The probe with the given serial number on a bench of virtual boards.

    ``kit`` is the table of its board. The methods raise :class:`ToolError`.
    """

    def __init__(self, bench: Path, serial: str) -> None:
        for folder, published in benches.published_boards(bench).items():
            if same_serial(published.serial, serial):
                self._folder, self._number, self.kit = folder, published.debug, published.table
                return
        raise ToolError(f"no probe with serial number {serial} is connected", 41)

    @contextmanager
    def _port(self, *, halted: bool = False, unlocked: bool = True) -> Iterator[PortClient]:
        try:
            with PortClient(self._number, self.kit.chip) as port:
                if unlocked and port.locked:
                    raise ToolError("the chip is locked (APPROTECT); recovering erases it", 16)
                if halted:
                    port.halt()
                yield port
        except PortError as error:
            raise ToolError(str(error), 33) from error

    def program(self, file: Path, erase: Erase, *, verify: bool = False) -> None:
        """Erases, then writes an Intel HEX file."""
        blocks = read_hex(file)
        with self._port(halted=True) as port:
            if erase is Erase.ALL:
                port.erase_all()
            elif erase is Erase.PAGES:
                port.erase_pages(blocks)
            port.program(blocks)
            wrong = _compare(port, blocks) if verify else None
        if wrong is not None:
            raise ToolError(f"write verify failed at 0x{wrong:08X}", 55)

    def verify(self, blocks: Sequence[hexfile.Block]) -> int | None:
        """The first address at which flash differs from ``blocks``, or None."""
        with self._port() as port:
            return _compare(port, blocks)

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes of memory from ``address``."""
        with self._port() as port:
            return port.read(address, size)

    def reset(self) -> None:
        """Pulses the reset pin."""
        with self._port(unlocked=False) as port:
            port.reset()

    def power(self) -> None:
        """Power-cycles the board."""
        try:
            call(self._folder, "power")
        except ControlError as error:
            raise ToolError(str(error), 33) from error


def _compare(port: PortClient, blocks: Sequence[hexfile.Block]) -> int | None:
    for address, data in blocks:
        content = port.read(address, len(data))
        for offset, (expected, stored) in enumerate(zip(data, content, strict=True)):
            if expected != stored:
                return address + offset
    return None


def read_hex(file: Path) -> list[hexfile.Block]:
    """The blocks of an Intel HEX file. Raises :class:`ToolError` for any other file."""
    try:
        return hexfile.read(file.read_text(encoding="ascii"), str(file))
    except (OSError, UnicodeDecodeError, UsageError) as error:
        raise ToolError(f"cannot use the file {file}: {error}", 2) from error


def number(text: str) -> int:
    """The value of a decimal number, or a hexadecimal one with ``0x``."""
    try:
        return int(text, 0)
    except ValueError:
        raise ToolError(f"invalid number {text!r}", 2) from None


def options(
    arguments: Sequence[str], values: Sequence[str], flags: Sequence[str], *, fold: bool = False
) -> tuple[dict[str, str], list[str]]:
    """The options (name -> value) and the positional arguments of a command line.

    Options in ``values`` have a value (``NAME VALUE`` or ``NAME=VALUE``), those in ``flags`` none;
    ``fold`` ignores case. Raises :class:`ToolError` for unknown and repeated options.
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
    """The value of a required option."""
    if name not in settings:
        raise ToolError(f"the following required argument was not provided: {name}", 2)
    return settings[name]


def finish(tool: Callable[[], None], prefix: str = "Error: ") -> NoReturn:
    """Runs a tool, and exits with its exit code."""
    try:
        tool()
    except ToolError as error:
        say(f"{prefix}{error}")
        raise SystemExit(error.code) from None
    raise SystemExit(0)
