"""``JLinkExe`` with a command file. Options and commands are case-insensitive."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from standins.common import (
    Erase,
    ToolError,
    ToolProbe,
    need,
    number,
    options,
    say,
)

_VALUES = (
    *("-NoGui", "-USB", "-SelectEmuBySN", "-IP", "-Device", "-If", "-Speed"),
    *("-AutoConnect", "-ExitOnError", "-CommandFile", "-CommanderScript"),
)


def run(bench: Path, arguments: list[str]) -> None:
    """Runs the command file up to its first error."""
    settings, rest = options(arguments, _VALUES, (), fold=True)
    if rest:
        raise ToolError(f"unknown command line option {rest[0]}", 1)
    file = Path(settings.get("-CommandFile") or need(settings, "-CommanderScript"))
    device, interface = need(settings, "-Device"), need(settings, "-If")
    serial = settings.get("-USB") or need(settings, "-SelectEmuBySN")
    try:
        target = ToolProbe(bench, serial)
    except ToolError:
        raise ToolError("Cannot connect to J-Link.", 1) from None
    names = target.kit.chip.tools
    if device.lower() != names.jlink_device.lower():
        raise ToolError(f"Unknown device {device}", 1)
    if interface.upper() != names.debug_interface:
        raise ToolError(f"the chip has {names.debug_interface} only", 1)
    say("SEGGER J-Link Commander (stand-in)\nConnecting to J-Link via USB...O.K.")
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.strip() and not _command(target, line.strip()):
            return


def _command(target: ToolProbe, line: str) -> bool:
    say(f"J-Link>{line}")
    word, _, rest = line.partition(" ")
    commands: dict[str, Callable[[ToolProbe, str], None]] = {
        "loadfile": _load,
        "verifybin": _verify,
        "savebin": _save,
        "g": lambda target, _: target.reset(),
        **dict.fromkeys(("r", "h", "rsettype", "exitonerror", "connect"), lambda _, __: None),
    }
    if word.lower() in ("q", "qc", "exit"):
        return False
    if word.lower() not in commands:
        raise ToolError(f"Unknown command. '?' for help: {word}", 1)
    commands[word.lower()](target, rest)
    return True


def _load(target: ToolProbe, rest: str) -> None:
    words = shlex.split(rest)
    if len(words) != 1:
        raise ToolError(f"Unexpected argument of loadfile: {words[1:]}", 1)
    target.program(Path(words[0]), Erase.PAGES, verify=True)
    say("O.K.")


def _verify(target: ToolProbe, rest: str) -> None:
    name, _, address = rest.rpartition(",")
    wrong = target.verify([(number(address), Path(name.strip('"')).read_bytes())])
    if wrong is not None:
        raise ToolError(f"Verify failed @ address 0x{wrong:08X}.", 1)
    say("Verify successful.")


def _save(target: ToolProbe, rest: str) -> None:
    name, address, size = rest.rsplit(",", 2)
    Path(name.strip('"')).write_bytes(target.read(number(address), number(size)))
    say("O.K.")
