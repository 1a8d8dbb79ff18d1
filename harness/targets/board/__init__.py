"""Target ``board``: a physical nRF9160 DK, or any other nRF9160 with a J-Link and a serial port.

``open()`` finds the board, locks it, flashes the image unless it is there already, opens the
console, resets, and returns a session on the wall clock.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from harness.base import numbers
from harness.elf import Image
from harness.targets.board.discovery import Discovery
from harness.targets.board.lab import Lab, load
from harness.targets.board.opening import Opening
from harness.targets.board.session import BoardSession

Result = TypeVar("Result")


def prepare(
    image: Image,
    *,
    board: str | None = None,
    lab: str | Path | Lab | None = None,
    runner: str = "",
    baud: int | str = 0,
    wait: float | str = 0.0,
    reflash: bool = False,
    bench: str | Path | None = None,
    console_limit: int = 64 * 1024 * 1024,
) -> Opening:
    """A session on a board that is not yet opened, with ``image`` as firmware.

    ``board`` is a name, probe serial number or tag (default: ``$TFLM_HIL_BOARD``, or the only
    board), ``lab`` a lab file, ``wait`` the time in seconds to wait for a board in use, ``bench`` a
    folder of virtual boards. ``runner`` and ``baud`` override the lab file, ``reflash`` programs
    the image even if it is in flash already, ``console_limit`` is in bytes.

    Raises :class:`UsageError` for an invalid lab file or value.
    """
    chosen_lab = lab if isinstance(lab, Lab) else load(lab)
    name = board or os.environ.get("TFLM_HIL_BOARD") or None
    return Opening(
        image,
        lab=chosen_lab,
        source=Discovery(chosen_lab, name, Path(bench) if bench else None),
        runner=runner,
        baud=numbers.given(numbers.baud, numbers.whole(baud), "baud") if baud else 0,
        reflash=reflash,
        console_limit=console_limit,
        wait=numbers.given(numbers.seconds_or_zero, wait, "wait"),
    )


def open(image: Image, **options: Any) -> BoardSession:  # noqa: A001 - called by harness.targets
    """Flashes ``image`` and opens a session on a board; options as in :func:`prepare`.

    Raises :class:`UsageError` if several boards match, :class:`EnvironmentMissing` if none does or
    no flash tool is installed, :class:`BoardUnavailable` if the board is locked, in quarantine or
    its port is busy, :class:`FlashFailed` if the image cannot be programmed.
    """
    return prepare(image, **options).open()


def run(image: Image, action: Callable[[BoardSession], Result], **options: Any) -> Result:
    """The result of ``action`` on a session; repeated after failures of the bench.

    Raises as :func:`open`, and :class:`TargetLost` if the board is lost in the last attempt.
    """
    return prepare(image, **options).run(action)
