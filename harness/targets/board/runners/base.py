"""The base class of runners: the commands of a flash tool, as data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from harness.base.errors import Unsupported
from harness.base.platforms import BoardTable, board_table
from harness.targets.board.command import Command
from harness.targets.board.flash_image import FlashImage

#: Default time limit of a programming call; 1 MB over SWD takes some 20 s.
PROGRAM_SECONDS = 120.0
#: Time limit of calls that reset or read: the larger of these seconds and this share of the limit
#: of a programming call.
_SHORT_SECONDS, _SHORT_SHARE = 30.0, 0.25


@dataclass(frozen=True)
class Runner(ABC):
    """The commands of a flash tool for one probe.

    ``serial`` is the J-Link serial number of the probe; it is part of every command, so that no
    tool chooses a board by itself. ``host`` is a remote J-Link server, if the tool supports one.
    ``seconds`` limits a programming call; ``kit`` contains the chip's names in the tools.
    """

    name: ClassVar[str]
    program_name: ClassVar[str]

    serial: str
    host: str = ""
    seconds: float = PROGRAM_SECONDS
    kit: BoardTable = field(default_factory=board_table)

    @property
    def short_seconds(self) -> float:
        """The time limit of calls that reset or read; starting a tool on a busy machine is slow."""
        return max(_SHORT_SECONDS, _SHORT_SHARE * self.seconds)

    @abstractmethod
    def program(self, image: FlashImage, folder: Path) -> list[Command]:
        """Commands that erase the sectors of the image, program it and verify it."""

    @abstractmethod
    def verify(self, image: FlashImage, folder: Path) -> list[Command]:
        """Commands that compare flash with the image; empty if the tool does not support it."""

    @abstractmethod
    def reset(self) -> list[Command]:
        """Commands that pulse the reset pin and run the image."""

    def read(self, address: int, size: int, file: Path) -> list[Command]:
        """Commands that copy ``size`` bytes at ``address`` into a binary file (nrfutil: HEX)."""
        raise Unsupported(self.name, "read memory of a running board")

    def _local(self) -> None:
        if self.host:
            raise Unsupported(
                f"runner {self.name}",
                f"use the probe on {self.host}",
                hint="runners nrfutil, jlink and pyocd support remote probes",
            )
