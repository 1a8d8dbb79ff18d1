"""Nordic's ``nrfutil device``, the successor of nrfjprog."""

# ruff: noqa: D102 - the base class documents the methods

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from harness.targets.board.flash_image import FlashImage
from harness.targets.board.runners.base import Command, Runner


class Nrfutil(Runner):
    """``nrfutil device``, with J-Link serial numbers padded to twelve digits as in its list."""

    name: ClassVar[str] = "nrfutil"
    program_name: ClassVar[str] = "nrfutil"

    def program(self, image: FlashImage, folder: Path) -> list[Command]:
        options = (
            "chip_erase_mode=ERASE_RANGES_TOUCHED_BY_FIRMWARE,verify=VERIFY_READ,reset=RESET_NONE"
        )
        command = self._device("program", "--firmware", str(image.hex), "--options", options)
        return [Command(command, self.seconds)]

    def verify(self, image: FlashImage, folder: Path) -> list[Command]:
        return [Command(self._device("fw-verify", "--firmware", str(image.hex)), self.seconds)]

    def reset(self) -> list[Command]:
        return [Command(self._device("reset", "--reset-kind", "RESET_PIN"), self.short_seconds)]

    def read(self, address: int, size: int, file: Path) -> list[Command]:
        where = ("--address", f"0x{address:08x}", "--bytes", str(size), "--width", "8")
        return [Command(self._device("read", *where, "--to-file", str(file)), self.short_seconds)]

    def _device(self, *arguments: str) -> tuple[str, ...]:
        remote = ("--remote-jlink", self.host) if self.host else ()
        serial = self.serial.zfill(12)
        return (
            "nrfutil",
            "device",
            arguments[0],
            "--serial-number",
            serial,
            *remote,
            *arguments[1:],
        )
