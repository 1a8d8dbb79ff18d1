"""``pyocd``: load, reset, commander (compare, savemem)."""

from __future__ import annotations

from pathlib import Path

from harness.base import platforms
from harness.targets.board.virtual.standins.common import (
    ProbedBoard,
    ToolError,
    need,
    number,
    options,
    say,
)

_CONNECT = ("--uid", "--target", "--frequency", "--connect", "-O", "--config")
_FLAGS = ("--no-config", "--no-wait")


def run(bench: Path, arguments: list[str]) -> None:
    """``pyocd SUBCOMMAND ...``."""
    subcommands = {
        "load": _load,
        "flash": _load,
        "reset": _reset,
        "commander": _commander,
        "cmd": _commander,
    }
    if not arguments or arguments[0] not in subcommands:
        raise ToolError(f"argument <subcommand>: invalid choice: {arguments[:1]}", 2)
    subcommands[arguments[0]](bench, arguments[1:])


def _connect(bench: Path, settings: dict[str, str]) -> ProbedBoard:
    target = platforms.chip_table().tools.pyocd_target
    if settings.get("--target") != target:
        raise ToolError(f"the target type must be given: --target {target}", 1)
    if settings.get("--connect", "halt") not in ("halt", "pre-reset", "under-reset", "attach"):
        raise ToolError(f"invalid connect mode {settings['--connect']!r}", 2)
    return ProbedBoard(bench, need(settings, "--uid"))


def _load(bench: Path, words: list[str]) -> None:
    values = (*_CONNECT, "--erase", "--base-address", "--format")
    settings, files = options(words, values, (*_FLAGS, "--no-reset", "--trust-crc"))
    if settings.get("--erase", "sector") not in ("auto", "chip", "sector"):
        raise ToolError(f"argument -e/--erase: invalid choice: {settings['--erase']!r}", 2)
    if len(files) != 1 or settings.get("--format", "hex") != "hex":
        raise ToolError("this stand-in loads one Intel HEX file", 2)
    target = _connect(bench, settings)
    target.program(Path(files[0]), erase_all=settings.get("--erase") == "chip")
    if "--no-reset" not in settings:
        target.reset()
    say("0001234 I Erased and programmed [loader]")


def _reset(bench: Path, words: list[str]) -> None:
    settings, rest = options(words, (*_CONNECT, "--method", "--core"), (*_FLAGS, "--halt"))
    if rest:
        raise ToolError(f"unrecognized arguments: {rest[0]}", 2)
    _connect(bench, settings).reset()


def _commander(bench: Path, words: list[str]) -> None:
    settings, rest = options(words, (*_CONNECT, "--command"), _FLAGS)
    if rest:
        raise ToolError(f"unrecognized arguments: {rest[0]}", 2)
    target = _connect(bench, settings)
    command, *arguments = need(settings, "--command").split()
    if command == "compare" and len(arguments) == 2:
        _compare(target, number(arguments[0]), Path(arguments[1]))
    elif command == "savemem" and len(arguments) == 3:
        data = target.read(number(arguments[0]), number(arguments[1]))
        Path(arguments[2]).write_bytes(data)
    else:
        # The real commander prints this and ends with exit code 0.
        say(f"Error: unrecognized command '{command}'")


def _compare(target: ProbedBoard, address: int, file: Path) -> None:
    data = file.read_bytes()
    wrong = target.verify([(address, data)])
    if wrong is None:
        say(f"All {len(data)} bytes match.")
    else:
        say(f"Mismatched byte at 0x{wrong:08x} (offset 0x{wrong - address:x})")
