"""SEGGER's J-Link Commander, driven by a command file."""

# ruff: noqa: D102 - the base class documents the methods

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from harness.targets.board.flash_image import FlashImage
from harness.targets.board.lab import unpadded
from harness.targets.board.runners.base import SCRIPT, Command, Runner

#: Messages after which J-Link Commander may end with exit code 0.
_FAILURES = (
    r"cannot connect to .*",
    r"could not connect to .*",
    r"failed to .*",
    r"verify failed.*",
    r"\*+ ?error: .*",
    r"unknown command.*",
    r"specified file .*",
)


class Jlink(Runner):
    """``JLinkExe``: ``loadfile`` erases the sectors it touches, compares and verifies."""

    name: ClassVar[str] = "jlink"
    program_name: ClassVar[str] = "JLinkExe"

    def program(self, image: FlashImage, folder: Path) -> list[Command]:
        return [self._run(["r", f'loadfile "{image.hex}"'], self.seconds, "O\\.K\\.")]

    def verify(self, image: FlashImage, folder: Path) -> list[Command]:
        lines = [f'verifybin "{path}",0x{address:x}' for address, path in image.binaries(folder)]
        return [self._run(lines, self.seconds, "Verify successful")]

    def reset(self) -> list[Command]:
        # Reset type 2 pulses the reset pin; `g` starts the core.
        return [self._run(["RSetType 2", "r", "g"], self.short_seconds, "")]

    def read(self, address: int, size: int, file: Path) -> list[Command]:
        return [
            self._run(
                [f'savebin "{file}",0x{address:x},0x{size:x}'], self.short_seconds, "O\\.K\\."
            )
        ]

    def _run(self, lines: list[str], seconds: float, success: str) -> Command:
        serial = unpadded(self.serial)
        probe = ("-IP", self.host) if self.host else ("-USB", serial)
        names = self.kit.chip.tools
        script = "\n".join(["ExitOnError 1", *lines, "q", ""])
        argv = (
            *("JLinkExe", "-NoGui", "1", *probe, "-Device", names.jlink_device),
            *("-If", names.debug_interface, "-Speed", str(self.kit.probe.speed_khz)),
            *("-AutoConnect", "1", "-ExitOnError", "1", "-CommandFile", SCRIPT),
        )
        return Command(argv, seconds, script, _FAILURES, success)
