"""Programming an image into a board's flash, and reading it back."""

from __future__ import annotations

import logging
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import EnvironmentMissing, FlashFailed
from harness.base.secrets import redacted
from harness.targets.board.command import Command, ToolOutput, run
from harness.targets.board.flash_image import FlashImage
from harness.targets.board.runners import Runner

_log = logging.getLogger(__name__)


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
            for command in checks:
                output = self._call(command)
                if not output.ok:
                    raise FlashFailed(
                        f"{self.runner.name} reported that probe {self.runner.serial} was "
                        f"programmed, but the read-back differs from {image.elf.name}: "
                        f"{output.problem}\n{output.tail()}",
                        hint="power-cycle the board and try another runner",
                    )
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
        # After a failure for another reason, such as a missing probe, programming fails too.
        return all(self._call(command).ok for command in checks)

    def _run_checked(self, command: Command, action: str) -> None:
        output = self._call(command)
        if not output.ok:
            raise FlashFailed(
                f"could not {action} the board with probe {self.runner.serial}: "
                f"{output.problem}\n{output.tail()}",
                hint="check cable and power; `tflm-hil boards` lists the boards that are attached",
            )

    def _call(self, command: Command) -> ToolOutput:
        _log.debug("%s", redacted(str(command)))
        try:
            output = run(command, search_path=self.search_path)
        except EnvironmentMissing:
            raise
        except OSError as error:
            raise FlashFailed(f"could not start {command.program}: {error}") from error
        _log.debug("%s", redacted(output.text.rstrip()))
        return output
