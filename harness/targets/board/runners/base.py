"""The base class of runners: the commands of a flash tool, as data."""

from __future__ import annotations

import re
import shlex
import tempfile
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from harness.base import process
from harness.base.errors import ProgramFailed, ProgramMissing, Unsupported
from harness.base.platforms import BoardTable, board_table
from harness.targets.board.flash_image import FlashImage

#: Placeholder in ``Command.argv`` for the file with ``Command.script``.
SCRIPT = "{script}"
_MISSING_HINT = "install it, or choose another runner (docs/lab.md lists their programs)"

#: Default time limit of a programming call; 1 MB over SWD takes some 20 s.
PROGRAM_SECONDS = 120.0
#: Time limit of calls that reset or read: the larger of these seconds and this share of the limit
#: of a programming call.
_SHORT_SECONDS, _SHORT_SHARE = 30.0, 0.25


@dataclass(frozen=True)
class Command:
    """A call of a flash tool, limited to ``timeout`` seconds.

    Some tools end with exit code 0 although they failed. The call fails if any of the regexes
    ``failures`` matches the output, or if ``success`` does not.
    """

    argv: tuple[str, ...]
    timeout: float
    script: str = ""
    failures: tuple[str, ...] = ()
    success: str = ""
    folder: Path | None = None  # working directory

    def __str__(self) -> str:
        """The shell command, with the lines of the script below it."""
        text = process.shell_line(self.argv, self.folder).replace(shlex.quote(SCRIPT), SCRIPT)
        return "\n".join([text, *(f"    | {line}" for line in self.script.splitlines())])

    def run(self, search_path: str | None = None) -> None:
        """Calls the tool; ``search_path`` is in the form of PATH (None: PATH).

        Raises :class:`ProgramMissing`, and :class:`ProgramFailed` by exit code or output.
        """
        with tempfile.TemporaryDirectory(prefix="tflm-hil-") as folder:
            script = Path(folder) / "commands"
            script.write_text(self.script, encoding="utf-8")
            try:
                done = process.run(
                    [part.replace(SCRIPT, str(script)) for part in self.argv],
                    seconds=self.timeout,
                    folder=self.folder,
                    environment={} if search_path is None else {"PATH": search_path},
                )
            except ProgramMissing as error:
                error.hint = _MISSING_HINT
                raise
        lied = f"{Path(self.argv[0]).name} ended with exit code 0 but"
        for pattern in self.failures:
            if match := re.search(pattern, done.output, re.IGNORECASE):
                raise ProgramFailed(f"{lied} printed {match.group(0)!r}", done.output)
        if self.success and not re.search(self.success, done.output, re.IGNORECASE):
            raise ProgramFailed(f"{lied} did not print {self.success!r}", done.output)


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
