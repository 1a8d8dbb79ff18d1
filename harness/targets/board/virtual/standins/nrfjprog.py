"""``nrfjprog``: --program, --verify, --recover, --pinreset, --reset, --memrd, --ids."""

from __future__ import annotations

from pathlib import Path

from harness.targets.board.lab import unpadded
from harness.targets.board.virtual import bench as benches
from harness.targets.board.virtual.standins.common import (
    Erase,
    ToolError,
    ToolProbe,
    need,
    number,
    options,
    read_hex,
    say,
)

_LONG = {"-f": "--family", "-s": "--snr", "-p": "--pinreset", "-r": "--reset", "-i": "--ids"}
_VALUES = ("--family", "--snr", "--program", "--memrd", "--n", "--w", "--clockspeed")
_FLAGS = ("--sectorerase", "--chiperase", "--recover", "--pinreset", "--reset", "--ids", "--log")


def run(bench: Path, arguments: list[str]) -> None:
    """Carries out one operation, as the real tool."""
    words = [_LONG.get(word, word) for word in arguments]
    # `--verify` is a flag with `--program`, and has a file as its value otherwise.
    verify = "--program" not in words
    values = (*_VALUES, "--verify") if verify else _VALUES
    flags = _FLAGS if verify else (*_FLAGS, "--verify")
    settings, rest = options(words, values, flags)
    if rest:
        raise ToolError(f"unknown argument {rest[0]}", 11)
    if "--ids" in settings:
        for published in benches.published_boards(bench).values():
            say(unpadded(published.serial))
        return
    operations = {"--program", "--memrd", "--pinreset", "--reset", "--recover"} | (
        {"--verify"} if verify else set()
    )
    chosen = operations & settings.keys()
    if not chosen or len(chosen - {"--reset", "--pinreset"}) > 1:
        raise ToolError("one operation at a time", 15)
    family, serial = need(settings, "--family").upper(), need(settings, "--snr")
    if serial.startswith("0"):
        raise ToolError("the serial number has leading zeros", 11)
    target = ToolProbe(bench, serial)
    if family != target.kit.chip.tools.nrfjprog_family:
        raise ToolError("the device is not of this family", 18)
    _carry_out(target, settings)


def _carry_out(target: ToolProbe, settings: dict[str, str]) -> None:
    if "--program" in settings:
        file = Path(settings["--program"])
        if not {"--sectorerase", "--chiperase"} & settings.keys():
            raise ToolError("flash is not erased: give --sectorerase or --chiperase", 12)
        say("Parsing image file.")
        erase = Erase.ALL if "--chiperase" in settings else Erase.PAGES
        target.program(file, erase, verify="--verify" in settings)
    elif "--verify" in settings:
        _compare(target, Path(settings["--verify"]))
    elif "--recover" in settings:
        target.recover()
        say("Recovering device.")
    elif "--memrd" in settings:
        address = number(settings["--memrd"])
        data = target.read(address, number(settings.get("--n", "4")))
        say(f"0x{address:08X}: {data.hex().upper()}")
    if {"--pinreset", "--reset"} & settings.keys():
        target.reset()


def _compare(target: ToolProbe, file: Path) -> None:
    wrong = target.verify(read_hex(file))
    if wrong is not None:
        raise ToolError(f"write verify failed at 0x{wrong:08X}", 55)
    say("Verified OK.")
