"""``west flash``, for images in a Zephyr build folder."""

# ruff: noqa: D102 - the base class documents the methods

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from harness.base.errors import UsageError
from harness.targets.board.flash_image import FlashImage
from harness.targets.board.lab import unpadded
from harness.targets.board.runners.base import Command
from harness.targets.board.runners.nrfutil import Nrfutil


class West(Nrfutil):
    """``west flash`` with its nrfutil runner; the other commands are those of nrfutil.

    ``--skip-rebuild``, which all Zephyr versions support, keeps west from building another image.
    """

    name: ClassVar[str] = "west"
    program_name: ClassVar[str] = "west"

    def program(self, image: FlashImage, folder: Path) -> list[Command]:
        self._local()
        build = image.build_directory
        if build is None:
            raise UsageError(
                f"{image.elf} is not in a Zephyr build folder, so west cannot flash it",
                hint="choose the runner nrfutil, nrfjprog, jlink or pyocd",
            )
        argv = (
            *("west", "flash", "--skip-rebuild", "--build-dir", str(build), "--runner", "nrfutil"),
            *("--dev-id", unpadded(self.serial), "--hex-file", str(image.hex)),
        )
        return [Command(argv, self.seconds)]
