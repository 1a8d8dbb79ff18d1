"""Programming an image into a board's flash, and reading it back."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import FlashFailed, ProgramFailed
from harness.targets.board.flash_image import FlashImage
from harness.targets.board.runners import Command, Runner


@dataclass(frozen=True)
class FlashReport:
    """The outcome of flashing; ``programmed`` is False if the image was already in flash."""

    programmed: bool
    reason: str
    seconds: float
    size: int


@dataclass(frozen=True)
class Flasher:
    """The flash tool of one board; ``search_path`` is in the form of PATH (None: PATH)."""

    runner: Runner
    search_path: str | None = None

    def ensure(self, image: FlashImage, *, always: bool = False) -> FlashReport:
        """Programs ``image`` unless flash already equals it, and verifies it by reading back.

        The verification is a separate call: it detects a tool that reports success without having
        written. Raises :class:`FlashFailed` with the tool's output.
        """
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="tflm-hil-flash-") as name:
            folder = Path(name)
            checks = self.runner.verify(image, folder)
            if checks and not always and self._equal(checks):
                reason = "read-back equals the image"
                return FlashReport(False, reason, time.monotonic() - started, 0)
            for command in self.runner.program(image, folder):
                self._run_checked(command, "program")
            try:
                self._compare(checks)
            except ProgramFailed as error:
                raise FlashFailed(
                    f"{self.runner.name} reported that probe {self.runner.serial} was "
                    f"programmed, but the read-back differs from {image.elf.name}: "
                    f"{error.message}",
                    hint="power-cycle the board and try another runner",
                ) from error
        reason = (
            "programmed and read back" if checks else "programmed; this runner cannot read back"
        )
        return FlashReport(True, reason, time.monotonic() - started, image.size)

    def reset(self) -> None:
        """Pulses the board's reset pin. Raises :class:`FlashFailed` with the tool's output."""
        for command in self.runner.reset():
            self._run_checked(command, "reset")

    def dry_run(self, image: FlashImage, folder: Path) -> list[Command]:
        """The commands that :meth:`ensure` and :meth:`reset` may call, in order."""
        checks = self.runner.verify(image, folder)
        return [*checks, *self.runner.program(image, folder), *checks, *self.runner.reset()]

    def _equal(self, checks: list[Command]) -> bool:
        try:
            self._compare(checks)
        except ProgramFailed:  # if for another reason, such as a missing probe, programming fails
            return False
        return True

    def _compare(self, checks: list[Command]) -> None:
        for command in checks:
            command.run(self.search_path)

    def _run_checked(self, command: Command, action: str) -> None:
        try:
            command.run(self.search_path)
        except ProgramFailed as error:
            raise FlashFailed(
                f"could not {action} the board with probe {self.runner.serial}: {error.message}",
                hint="check cable and power; `tflm-hil boards` lists the boards that are attached",
            ) from error
