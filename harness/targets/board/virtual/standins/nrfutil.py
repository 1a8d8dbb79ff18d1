"""``nrfutil device``: program, fw-verify, reset, recover, read, list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.elf import hexfile
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

_ERASE = {
    "ERASE_NONE": Erase.NOTHING,
    "ERASE_ALL": Erase.ALL,
    "ERASE_RANGES_TOUCHED_BY_FIRMWARE": Erase.PAGES,
    "ERASE_CTRL_AP": Erase.CONTROL,
}
_PROGRAM_OPTIONS = {
    "chip_erase_mode": set(_ERASE),
    "verify": {"VERIFY_NONE", "VERIFY_READ"},
    "reset": {"RESET_NONE", "RESET_SYSTEM", "RESET_HARD", "RESET_DEBUG", "RESET_PIN"},
}
_RESETS = _PROGRAM_OPTIONS["reset"] - {"RESET_NONE"} | {"RESET_DEFAULT"}
_COMMON = ("--serial-number", "--traits", "--remote-jlink", "--family", "--core")


def run(bench: Path, arguments: list[str]) -> None:
    """Runs ``nrfutil [--json] device SUBCOMMAND ...``."""
    words = [word for word in arguments if word != "--json"]
    if words[:1] != ["device"] or len(words) < 2:
        raise ToolError("unrecognized subcommand", 2)
    subcommands = {
        "program": _program,
        "fw-verify": _verify,
        "reset": _reset,
        "read": _read,
        "recover": _recover,
        "list": _list,
    }
    if words[1] not in subcommands:
        raise ToolError(f"unrecognized subcommand '{words[1]}'", 2)
    subcommands[words[1]](bench, words[2:], "--json" in arguments)


def _target(bench: Path, settings: dict[str, str], rest: list[str]) -> ToolProbe:
    if rest:
        raise ToolError(f"unexpected argument '{rest[0]}' found", 2)
    return ToolProbe(bench, need(settings, "--serial-number"))


def _program(bench: Path, words: list[str], _: bool) -> None:
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


def _verify(bench: Path, words: list[str], _: bool) -> None:
    settings, rest = options(words, (*_COMMON, "--firmware"), ())
    target = _target(bench, settings, rest)
    wrong = target.verify(read_hex(Path(need(settings, "--firmware"))))
    if wrong is not None:
        raise ToolError(f"firmware verification failed: mismatch at 0x{wrong:08x}")
    say("Verified")


def _reset(bench: Path, words: list[str], _: bool) -> None:
    settings, rest = options(words, (*_COMMON, "--reset-kind"), ())
    if settings.get("--reset-kind", "RESET_DEFAULT") not in _RESETS:
        raise ToolError(f"invalid value '{settings['--reset-kind']}' for '--reset-kind'", 2)
    _target(bench, settings, rest).reset()


def _recover(bench: Path, words: list[str], _: bool) -> None:
    settings, rest = options(words, _COMMON, ())
    _target(bench, settings, rest).recover()


def _read(bench: Path, words: list[str], _: bool) -> None:
    names = (*_COMMON, "--address", "--bytes", "--width", "--to-file")
    settings, rest = options(words, names, ("--direct",))
    target = _target(bench, settings, rest)
    if settings.get("--width", "32") not in ("8", "16", "32"):
        raise ToolError(f"invalid value '{settings['--width']}' for '--width'", 2)
    address = number(need(settings, "--address"))
    data = target.read(address, number(settings.get("--bytes", "4")))
    if "--to-file" in settings:
        Path(settings["--to-file"]).write_text(hexfile.write([(address, data)]), encoding="ascii")
    else:
        say(f"0x{address:08X}: {data.hex(' ').upper()}")


def _version(kit: str) -> str:
    """The number of a kit, ``PCA10090`` of "nRF9160 DK (PCA10090)", or else its name."""
    name, _, number = kit.partition(" (")
    return number.rstrip(")") or name


def _list(bench: Path, words: list[str], as_json: bool) -> None:
    options(words, ("--traits", "--timeout-ms"), ())
    devices: list[dict[str, Any]] = [
        {
            "serialNumber": published.serial.zfill(12),
            "traits": {"jlink": True, "devkit": True, "serialPorts": True},
            "devkit": {"boardVersion": _version(published.table.name)},
            "serialPorts": [
                {"comName": device, "vcom": index}
                for index, (device, _) in enumerate(published.ports)
            ],
        }
        for published in benches.published_boards(bench).values()
    ]
    if as_json:
        say(json.dumps({"type": "info", "data": {"devices": devices}}))
        return
    for device in devices:
        version = device["devkit"]["boardVersion"]
        say(f"{device['serialNumber']}\nProduct         J-Link\nBoard version   {version}")
    say(f"Supported devices found: {len(devices)}")
