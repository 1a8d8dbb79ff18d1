"""Target ``board``: a physical nRF9160 DK, or any other nRF9160 with a J-Link and a serial port.

``open()`` finds the board, locks it, flashes the image unless it is there already, opens the
console, resets, and returns a session on the wall clock.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from harness import limits
from harness.elf import Firmware
from harness.targets.board import discovery
from harness.targets.board.lab import Lab, load
from harness.targets.board.opening import Opening
from harness.targets.board.session import BoardSession

_WAIT = partial(limits.seconds, zero=True)


def open(  # noqa: A001 - the name that harness.targets calls
    firmware: Firmware,
    *,
    board: str | None = None,
    lab: str | Path | Lab | None = None,
    runner: str = "",
    baud: int | str = 0,
    wait: float | str = 0.0,
    reflash: bool = False,
    bench: str | Path | None = None,
    console_limit: int = 64 * 1024 * 1024,
) -> BoardSession:
    """Run ``firmware`` on a board.

    ``board`` is a name, probe serial number or tag (default ``$TFLM_HIL_BOARD``; else there must
    be exactly one), ``lab`` a lab file, ``wait`` the seconds to wait for a board that is in use,
    ``bench`` a folder of virtual boards. ``runner`` and ``baud`` overrule the lab file.

    Raises :class:`harness.errors.UsageError` if several boards fit,
    :class:`harness.errors.EnvironmentMissing` if none does or no flash tool is installed,
    :class:`harness.errors.BoardUnavailable` if the board is locked, in quarantine or its port is
    busy, :class:`harness.errors.FlashFailed` if the image could not be written.
    """
    chosen_lab = lab if isinstance(lab, Lab) else load(lab)
    name = board or os.environ.get("TFLM_HIL_BOARD") or None
    folder = Path(bench) if bench else None
    opening = Opening(
        firmware,
        lab=chosen_lab,
        find=lambda: discovery.select(discovery.attached(chosen_lab, bench=folder), name),
        runner=runner,
        baud=limits.given(limits.baud, limits.whole(baud), "baud") if baud else 0,
        reflash=reflash,
        console_limit=console_limit,
    )
    return opening.run(limits.given(_WAIT, wait, "wait"))
