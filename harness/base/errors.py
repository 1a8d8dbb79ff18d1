"""The one exception tree.

Every error has a message (the event and its subject) and a ``hint``. Its class has the exit code
of ``tflm-hil``.
"""

from __future__ import annotations

import traceback
from enum import IntEnum
from pathlib import Path
from typing import ClassVar

from harness.base.hints import NO_HINT, HintText
from harness.base.secrets import redacted

#: The hint for an unexpected exception.
BUG_HINT = "TFLM_HIL_DEBUG=1 shows the traceback; with it, please report the bug"


class ExitCode(IntEnum):
    """The exit codes of ``tflm-hil``."""

    PASSED = 0
    CHECK_FAILED = 1
    USAGE = 2  # wrong arguments, an unreadable model, ELF or case file
    ENVIRONMENT = 3  # no compiler, no Renode, no board, a bug in tflm-hil
    FIRMWARE = 4  # a fault, a hang, silence
    CANNOT_TELL = 5  # a check that found no proof of either answer


class HilError(Exception):
    """Base class of this package's errors; by default, the environment is at fault.

    Message and hint hold no secrets.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.ENVIRONMENT
    # Robot Framework prints the message without the class name.
    ROBOT_SUPPRESS_NAME: ClassVar[bool] = True

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = redacted(message)
        self.hint = redacted(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Subclasses may have other parameters; errors are pickled by worker processes.
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[HilError], args: tuple[object, ...], state: dict[str, object]) -> HilError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class CheckFailed(HilError):
    """A check ran and failed: outputs differ, a budget is exceeded, a finding was not expected."""

    exit_code = ExitCode.CHECK_FAILED

    def __init__(self, message: str, *, hint: HintText = NO_HINT) -> None:
        super().__init__(message, hint=hint)


class CannotTell(CheckFailed):
    """A check could prove neither success nor failure; the message says why."""

    exit_code = ExitCode.CANNOT_TELL


class UsageError(HilError):
    """An argument, a file or a case that the user passed cannot be used."""

    exit_code = ExitCode.USAGE


class BadElf(UsageError):
    """The file is not an ELF, truncated, for another machine, or does not fit the memory map."""


class BadModel(UsageError):
    """The file is not a ``.tflite`` model, or broken."""


class UnsupportedOperator(UsageError):
    """The NumPy reference has no kernel for an operator of the model."""


class Unsupported(UsageError):
    """A target lacks a capability that is needed."""

    def __init__(self, target: str, capability: str, *, hint: str = "") -> None:
        super().__init__(f"target {target!r} cannot {capability}", hint=hint)
        self.target = target
        self.capability = capability


class EnvironmentMissing(HilError):
    """This machine lacks something: a compiler, Renode, a board, a Zephyr workspace."""


class ProgramMissing(EnvironmentMissing):
    """A program is not on PATH, or cannot be started."""


class ProgramFailed(HilError):
    """A program ended with an error. ``reason`` says which, ``output`` is what it printed.

    The last lines of the output are part of the message.
    """

    def __init__(self, reason: str, output: str, *, hint: str = "") -> None:
        super().__init__(f"{reason}\n{_last_lines(output)}", hint=hint)
        self.reason = reason
        self.output = output


class ProgramTimedOut(ProgramFailed):
    """A program did not end within its time limit, and was killed."""


def _last_lines(output: str, count: int = 12, width: int = 400) -> str:
    end = output[-(1 << 16) :]  # a flood may have millions of lines
    printed = [line.rstrip() for line in end.splitlines() if line.strip()][-count:]
    short = (line if len(line) <= width else f"{line[:width]}..." for line in printed)
    return "\n".join(f"    {line}" for line in short) or "    (it printed nothing)"


class BuildFailed(HilError):
    """The compiler or linker failed; the message includes the tool's output."""


class CannotWrite(HilError):
    """A result could not be written: the disk is full, or the folder vanished during the run."""


class TargetLost(HilError):
    """A target died, was unplugged or stopped answering in the middle of a run."""


class BoardUnavailable(HilError):
    """A board exists but cannot be used: it is locked, it is quarantined, or its port is busy."""


class PortBusy(BoardUnavailable):
    """Another program has the board's serial port open; nothing is wrong with the board."""


class FlashFailed(HilError):
    """The image could not be written to flash; the message includes the tool's output."""


class FirmwareFailed(HilError):
    """The firmware itself failed: a fault, a hang, silence, an endless reset loop."""

    exit_code = ExitCode.FIRMWARE

    def __init__(self, message: str, *, hint: HintText = NO_HINT) -> None:
        super().__init__(message, hint=hint)


def describe_bug(error: Exception) -> str:
    """One line about an unexpected exception: its class, its message, and where it was raised."""
    if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("harness"):
        return f"the Python package {error.name!r} is not installed"
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    words = redacted(" ".join(str(error).split()))
    return f"a bug in tflm-hil: {type(error).__name__}: {words}".rstrip(": ") + where


def traceback_text() -> str:
    """The traceback of the exception that is being handled, without secrets."""
    return redacted(traceback.format_exc())
