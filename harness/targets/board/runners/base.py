"""A runner: the commands of one flash tool, as data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from harness.base.errors import Unsupported
from harness.base.platforms import BoardTable, board_table
from harness.targets.board.command import Command
from harness.targets.board.flash_image import FlashImage

#: Wall seconds for one call. 1 MB over SWD takes some 20 s; a tool that takes longer hangs.
PROGRAM_SECONDS = 120.0
#: The same for calls that reset or read: at least, and as a share of a longer limit that is set.
_SHORT_SECONDS, _SHORT_SHARE = 30.0, 0.25


@dataclass(frozen=True)
class Runner(ABC):
    """Commands of one flash tool for one probe.

    ``serial`` is the probe's J-Link serial number; every command carries it, so that no tool
    chooses a board by itself. ``host`` is a remote J-Link server, if the tool can use one.
    ``seconds`` limits the call that programs, a part of it those that do not; ``kit`` has the
    chip's names in the tools.
    """

    name: ClassVar[str]
    program_name: ClassVar[str]
    #: The tool versions that the commands were written for (from their documentation).
    written_for: ClassVar[str]

    serial: str
    host: str = ""
    seconds: float = PROGRAM_SECONDS
    kit: BoardTable = field(default_factory=board_table)

    @property
    def short_seconds(self) -> float:
        """Limit of a call that resets or reads. On a busy machine a tool's own start takes long."""
        return max(_SHORT_SECONDS, _SHORT_SHARE * self.seconds)

    @abstractmethod
    def program(self, image: FlashImage, folder: Path) -> list[Command]:
        """Erase the sectors that the image touches, program it and verify it."""

    @abstractmethod
    def verify(self, image: FlashImage, folder: Path) -> list[Command]:
        """Read back and compare, without writing; an empty list if the tool cannot."""

    @abstractmethod
    def reset(self) -> list[Command]:
        """Pulse the reset pin and let the image run."""

    def read(self, address: int, size: int, file: Path) -> list[Command]:
        """Copy ``size`` bytes at ``address`` into ``file``: binary; nrfutil writes Intel HEX."""
        raise Unsupported(self.name, "read memory of a running board")

    def _local(self) -> None:
        if self.host:
            raise Unsupported(
                f"runner {self.name}",
                f"use the probe on {self.host}",
                hint="runners nrfutil, jlink and pyocd reach remote probes",
            )
