"""Target ``virtual-board``: the simulator behind a serial port, flashed and read like a real DK.

A virtual board is started for the session, in a process of its own. Everything else is as on the
target ``board``: discovery, lock, flash tool (a stand-in), console, reset.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from harness.base import numbers, platforms
from harness.base.platforms import BoardTable
from harness.elf import Image
from harness.targets.board import lab as labs
from harness.targets.board.opening import Opening
from harness.targets.board.session import BoardSession
from harness.targets.board.virtual.bench import install_tools
from harness.targets.board.virtual.client import VirtualDk

Result = TypeVar("Result")
#: Nothing but a busy machine makes its tools slow.
_POLICY = labs.Policy(backoff=0.6, flash_seconds=480.0)


def serial_number(kit: BoardTable) -> str:
    """A serial number in the range of ``kit``."""
    prefix = next(iter(kit.probe.serials))
    return f"{prefix}{secrets.randbelow(1_000_000):06d}"


@contextmanager
def _started(
    image: Image,
    *,
    misbehave: str | Iterable[str] = (),
    runner: str = "nrfutil",
    baud: int | str = "",
    lab: labs.Lab | None = None,
    play: bool = False,
    console: str = "",
) -> Iterator[Opening]:
    """A virtual board of its own for ``image``: the kit with its chip."""
    kit = platforms.board_with(image.chip.key)
    words = misbehave.split(",") if isinstance(misbehave, str) else misbehave
    with tempfile.TemporaryDirectory(prefix="tflm-bench-") as name:
        bench = Path(name)
        install_tools(bench)
        names = [word for word in words if word]
        rate = numbers.given(numbers.baud, numbers.whole(baud), "baud") if baud else 0
        with VirtualDk(bench, serial_number(kit), misbehave=names, play=play, baud=rate,
                       console=console, kit=kit) as dk:  # fmt: skip
            yield Opening(
                image,
                lab=lab or labs.Lab(policy=_POLICY, state=bench / "state"),
                source=dk,
                runner=runner,
            )


def open(image: Image, **options: Any) -> BoardSession:  # noqa: A001 - called by harness.targets
    """Start a virtual board, and run ``image`` on it as on a real one.

    Option ``misbehave`` is a list of faults (``"flip=100,silent"``, see
    :mod:`harness.targets.board.virtual.misbehaviour`); ``play`` prints the text in flash
    instead of running it; ``console`` is how the board hears the chip
    (:func:`harness.base.platforms.console_wiring`; its baud rate goes before ``baud``).
    """
    with ExitStack() as resources:
        session = resources.enter_context(_started(image, **options)).open()
        session.keep(resources.pop_all())
        return session


def run(image: Image, action: Callable[[BoardSession], Result], **options: Any) -> Result:
    """The result of ``action`` on a session; failures of the bench are tried again."""
    with _started(image, **options) as opening:
        return opening.run(action)
