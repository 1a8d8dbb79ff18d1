"""Target ``virtual-board``: the simulator behind a serial port, flashed and read like a real DK.

A virtual board is started for the session, in a process of its own. Everything else is as on the
target ``board``: discovery, lock, flash tool (a stand-in), console, reset.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from harness import limits
from harness.elf import Firmware
from harness.targets.board import lab as labs
from harness.targets.board.opening import Opening
from harness.targets.board.session import BoardSession
from harness.targets.board.virtual.bench import install_tools
from harness.targets.board.virtual.client import VirtualDk


def serial_number() -> str:
    """A serial number in the range of nRF9160 DKs."""
    return f"960{secrets.randbelow(1_000_000):06d}"


def open(  # noqa: A001 - the name that harness.targets calls
    firmware: Firmware,
    *,
    misbehave: str | Iterable[str] = (),
    runner: str = "nrfutil",
    baud: int | str = 115200,
    lab: labs.Lab | None = None,
    play: bool = False,
) -> BoardSession:
    """Start a virtual board, and run ``firmware`` on it as on a real one.

    ``misbehave`` is what it does wrong (``"flip=100,silent"``, see
    :mod:`harness.targets.board.virtual.misbehaviour`); ``play`` prints the text in flash
    instead of running it.
    """
    words = misbehave.split(",") if isinstance(misbehave, str) else misbehave
    with ExitStack() as resources:
        name = resources.enter_context(tempfile.TemporaryDirectory(prefix="tflm-bench-"))
        bench = Path(name)
        install_tools(bench)
        names = [word for word in words if word]
        rate = limits.given(limits.baud, limits.whole(baud), "baud")
        dk = VirtualDk(bench, serial_number(), misbehave=names, play=play, baud=rate)
        resources.callback(dk.close)
        opening = Opening(
            firmware,
            lab=lab or labs.Lab(policy=labs.Policy(backoff=0.6), state=bench / "state"),
            find=lambda: dk.board,
            runner=runner,
        )
        session = opening.run(0.0)
        session.also_close(resources.pop_all().close)
        return session
