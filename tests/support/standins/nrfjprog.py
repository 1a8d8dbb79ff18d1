"""``nrfjprog``: --program, --verify, --pinreset, --reset."""

from __future__ import annotations

from pathlib import Path

from standins.common import Erase, ToolError, ToolProbe, need, options, read_hex, say

_VALUES = ("--family", "--snr", "--program", "--clockspeed")
_FLAGS = ("--sectorerase", "--chiperase", "--pinreset", "--reset", "--log")


def run(bench: Path, arguments: list[str]) -> None:
    """Carries out one operation, as the real tool."""
    # `--verify` is a flag with `--program`, and has a file as its value otherwise.
    verify = "--program" not in arguments
    values = (*_VALUES, "--verify") if verify else _VALUES
    flags = _FLAGS if verify else (*_FLAGS, "--verify")
    settings, rest = options(arguments, values, flags)
    if rest:
        raise ToolError(f"unknown argument {rest[0]}", 11)
    chosen = settings.keys() & {"--program", "--verify", "--pinreset", "--reset"}
    if not chosen or (verify and len(chosen) > 1):
        raise ToolError("one operation at a time", 15)
    family, serial = need(settings, "--family").upper(), need(settings, "--snr")
    if serial.startswith("0"):
        raise ToolError("the serial number has leading zeros", 11)
    target = ToolProbe(bench, serial)
    if family != target.kit.chip.tools.nrfjprog_family:
        raise ToolError("the device is not of this family", 18)
    if "--program" in settings:
        _program(target, settings)
    elif "--verify" in settings:
        _compare(target, Path(settings["--verify"]))
    if {"--pinreset", "--reset"} & settings.keys():
        target.reset()


def _program(target: ToolProbe, settings: dict[str, str]) -> None:
    if not {"--sectorerase", "--chiperase"} & settings.keys():
        raise ToolError("flash is not erased: give --sectorerase or --chiperase", 12)
    say("Parsing image file.")
    erase = Erase.ALL if "--chiperase" in settings else Erase.PAGES
    target.program(Path(settings["--program"]), erase, verify="--verify" in settings)


def _compare(target: ToolProbe, file: Path) -> None:
    wrong = target.verify(read_hex(file))
    if wrong is not None:
        raise ToolError(f"write verify failed at 0x{wrong:08X}", 55)
    say("Verified OK.")
