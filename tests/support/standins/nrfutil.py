"""``nrfutil device``: program, fw-verify, reset, read."""

from __future__ import annotations

from pathlib import Path

from harness.elf import hexfile
from standins.common import (
    Erase,
    ToolError,
    ToolProbe,
    need,
    number,
    options,
    read_hex,
    say,
)

_ERASE = {
    "ERASE_NONE": Erase.NOTHING,
    "ERASE_ALL": Erase.ALL,
    "ERASE_RANGES_TOUCHED_BY_FIRMWARE": Erase.PAGES,
}
_PROGRAM_OPTIONS = {
    "chip_erase_mode": set(_ERASE),
    "verify": {"VERIFY_NONE", "VERIFY_READ"},
    "reset": {"RESET_NONE", "RESET_SYSTEM", "RESET_HARD", "RESET_DEBUG", "RESET_PIN"},
}
_RESETS = _PROGRAM_OPTIONS["reset"] - {"RESET_NONE"} | {"RESET_DEFAULT"}
_COMMON = ("--serial-number", "--traits", "--remote-jlink", "--family", "--core")


def run(bench: Path, arguments: list[str]) -> None:
    """Runs ``nrfutil device SUBCOMMAND ...``."""
    subcommands = {"program": _program, "fw-verify": _verify, "reset": _reset, "read": _read}
    if arguments[:1] != ["device"] or len(arguments) < 2:
        raise ToolError("unrecognized subcommand", 2)
    if arguments[1] not in subcommands:
        raise ToolError(f"unrecognized subcommand '{arguments[1]}'", 2)
    subcommands[arguments[1]](bench, arguments[2:])


def _target(bench: Path, settings: dict[str, str], rest: list[str]) -> ToolProbe:
    if rest:
        raise ToolError(f"unexpected argument '{rest[0]}' found", 2)
    return ToolProbe(bench, need(settings, "--serial-number"))


def _program(bench: Path, words: list[str]) -> None:
    settings, rest = options(words, (*_COMMON, "--firmware", "--options"), ())
    target = _target(bench, settings, rest)
    chosen = _program_options(settings.get("--options", ""))
    file = Path(need(settings, "--firmware"))
    erase = _ERASE[chosen.get("chip_erase_mode", "ERASE_ALL")]
    verify = chosen.get("verify", "VERIFY_NONE") != "VERIFY_NONE"
    target.program(file, erase, verify=verify)
    if chosen.get("reset", "RESET_NONE") != "RESET_NONE":
        target.reset()
    say(f"[00:00:01] ###### 100% [1/1 {settings['--serial-number']}] Programmed")


def _program_options(text: str) -> dict[str, str]:
    chosen = {}
    for part in filter(None, text.split(",")):
        key, _, value = part.partition("=")
        if value not in _PROGRAM_OPTIONS.get(key, set()):
            raise ToolError(f"invalid value '{part}' for '--options'", 2)
        chosen[key] = value
    return chosen


def _verify(bench: Path, words: list[str]) -> None:
    settings, rest = options(words, (*_COMMON, "--firmware"), ())
    target = _target(bench, settings, rest)
    wrong = target.verify(read_hex(Path(need(settings, "--firmware"))))
    if wrong is not None:
        raise ToolError(f"firmware verification failed: mismatch at 0x{wrong:08x}")
    say("Verified")


def _reset(bench: Path, words: list[str]) -> None:
    settings, rest = options(words, (*_COMMON, "--reset-kind"), ())
    if settings.get("--reset-kind", "RESET_DEFAULT") not in _RESETS:
        raise ToolError(f"invalid value '{settings['--reset-kind']}' for '--reset-kind'", 2)
    _target(bench, settings, rest).reset()


def _read(bench: Path, words: list[str]) -> None:
    names = (*_COMMON, "--address", "--bytes", "--width", "--to-file")
    settings, rest = options(words, names, ("--direct",))
    target = _target(bench, settings, rest)
    if settings.get("--width", "32") not in ("8", "16", "32"):
        raise ToolError(f"invalid value '{settings['--width']}' for '--width'", 2)
    address = number(need(settings, "--address"))
    data = target.read(address, number(settings.get("--bytes", "4")))
    file = Path(need(settings, "--to-file"))
    file.write_text(hexfile.write([(address, data)]), encoding="ascii")
