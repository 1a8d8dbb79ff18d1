"""The one exception tree.

Every error says *what* happened, on *what*, and what to try (``hint``). Its class says with which
code ``tflm-hil`` ends, so that the command line maps nothing itself.
"""

from __future__ import annotations

import traceback
from enum import IntEnum
from pathlib import Path
from typing import ClassVar

#: What to do about an exception that nobody meant.
BUG_HINT = "TFLM_HIL_DEBUG=1 shows the traceback; with it, please report the bug"


class ExitCode(IntEnum):
    """What ``tflm-hil`` ends with."""

    PASSED = 0
    CHECK_FAILED = 1
    USAGE = 2  # wrong arguments, an unreadable model, ELF or case file
    ENVIRONMENT = 3  # no compiler, no Renode, no board, a bug in tflm-hil
    FIRMWARE = 4  # a fault, a hang, silence


class HilError(Exception):
    """Base of every error that this package raises on purpose: the environment, if not said."""

    exit_code: ClassVar[ExitCode] = ExitCode.ENVIRONMENT
    # Robot Framework then prints the message alone, without the class name before it.
    ROBOT_SUPPRESS_NAME: ClassVar[bool] = True

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class CheckFailed(HilError):
    """A check ran and its answer is no: outputs differ, a budget is exceeded, a finding stands."""

    exit_code = ExitCode.CHECK_FAILED


class UsageError(HilError):
    """What the user passed cannot be used: an argument, a file, a case."""

    exit_code = ExitCode.USAGE


class BadElf(UsageError):
    """The file is no ELF, is truncated, is for another machine, or does not fit the memory map."""


class BadModel(UsageError):
    """The file is no ``.tflite`` model, or is broken."""


class UnsupportedOperator(UsageError):
    """The NumPy reference has no kernel for an operator of the model."""


class Unsupported(UsageError):
    """A target cannot do what was asked; names the target and the capability."""

    def __init__(self, target: str, capability: str, *, hint: str = "") -> None:
        super().__init__(f"target {target!r} cannot {capability}", hint=hint)
        self.target = target
        self.capability = capability


class EnvironmentMissing(HilError):
    """Something this machine lacks: a compiler, Renode, a board, a Zephyr workspace."""


class BuildFailed(HilError):
    """The compiler or linker refused; the message holds the tool's own words."""


class CannotWrite(HilError):
    """A result could not be written: a full disk, a folder that went away during the run."""


class TargetLost(HilError):
    """A target died, was unplugged or stopped answering in the middle of a run."""


class BoardUnavailable(HilError):
    """A board is there and cannot be had: held by somebody else, quarantined, its port is busy."""


class PortBusy(BoardUnavailable):
    """Another program has the board's serial port open; the board itself is well."""


class FlashFailed(HilError):
    """The image did not get into the board's flash; the message holds the tool's own words."""


class FirmwareFailed(HilError):
    """The firmware itself: a fault, a hang, silence, an endless reset loop."""

    exit_code = ExitCode.FIRMWARE


def describe_bug(error: Exception) -> str:
    """One line about an exception that nobody meant: what it is, and where it was raised."""
    if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("harness"):
        return f"the Python package {error.name!r} is not installed"
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    words = " ".join(str(error).split())
    return f"a bug in tflm-hil: {type(error).__name__}: {words}".rstrip(": ") + where
