"""``nrfjprog`` of the nRF Command Line Tools, which Nordic has archived."""

# ruff: noqa: D102 - the base class documents the methods

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from harness.targets.board.flash_image import FlashImage
from harness.targets.board.lab import unpadded
from harness.targets.board.runners.base import Command, Runner


class Nrfjprog(Runner):
    """``nrfjprog``; it does not accept serial numbers with leading zeros."""

    name: ClassVar[str] = "nrfjprog"
    program_name: ClassVar[str] = "nrfjprog"

    def program(self, image: FlashImage, folder: Path) -> list[Command]:
        command = self._call("--program", str(image.hex), "--sectorerase", "--verify")
        return [Command(command, self.seconds)]

    def verify(self, image: FlashImage, folder: Path) -> list[Command]:
        return [Command(self._call("--verify", str(image.hex)), self.seconds)]

    def reset(self) -> list[Command]:
        return [Command(self._call("--pinreset"), self.short_seconds)]

    def _call(self, *arguments: str) -> tuple[str, ...]:
        self._local()
        family = self.kit.chip.tools.nrfjprog_family
        return ("nrfjprog", "--family", family, "--snr", unpadded(self.serial), *arguments)
