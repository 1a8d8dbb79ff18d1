"""pyOCD, installed with the extra ``tflm-hil[pyocd]``."""

# ruff: noqa: D102 - the base class documents the methods

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from harness.targets.board.flash_image import FlashImage
from harness.targets.board.lab import unpadded
from harness.targets.board.runners.base import Command, Runner

#: Unlocking a chip would erase all of it.
_KEEP_LOCKED = ("-O", "auto_unlock=false")


class Pyocd(Runner):
    """``pyocd``, without waiting for an absent probe or mass-erasing a locked chip.

    ``host`` is a server of remote probes: ``pyocd server``, or a virtual board.
    """

    name: ClassVar[str] = "pyocd"
    program_name: ClassVar[str] = "pyocd"

    def program(self, image: FlashImage, folder: Path) -> list[Command]:
        command = self._call("load", "--erase", "sector", "--no-reset", "--format", "hex")
        return [Command((*command, str(image.hex)), self.seconds, failures=(r"^\d+ E ",))]

    # pyOCD splits commands at blanks, which the name of a folder may contain; so the folder is the
    # working directory.

    def verify(self, image: FlashImage, folder: Path) -> list[Command]:
        # `compare` always ends with exit code 0.
        call = self._call("commander", "--connect", "attach")
        return [
            Command(
                (*call, "--command", f"compare 0x{address:x} {path.name}"),
                self.seconds,
                failures=("Mismatched byte at 0x[0-9a-f]+", "Error: .*"),
                success=r"All \d+ bytes match",
                folder=path.parent,
            )
            for address, path in image.binaries(folder)
        ]

    def reset(self) -> list[Command]:
        return [Command(self._call("reset", "--method", "hw"), self.short_seconds)]

    def read(self, address: int, size: int, file: Path) -> list[Command]:
        call = self._call("commander", "--connect", "attach")
        command = (*call, "--command", f"savemem 0x{address:x} {size} {file.name}")
        return [Command(command, self.short_seconds, failures=("Error: .*",), folder=file.parent)]

    def _call(self, subcommand: str, *arguments: str) -> tuple[str, ...]:
        probe = f"remote:{self.host}" if self.host else unpadded(self.serial)
        target = self.kit.chip.tools.pyocd_target
        connection = ("--no-config", "--no-wait", "--target", target, *_KEEP_LOCKED)
        return ("pyocd", subcommand, "--uid", probe, *connection, *arguments)
