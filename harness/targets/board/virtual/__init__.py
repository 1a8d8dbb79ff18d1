"""Target ``virtual-board``: the simulator with a serial port and a debug port, used as a real DK.

A virtual board is started in a separate process for each session. Discovery, lock, flash tool
(pyOCD), console and reset are those of the target ``board``.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from harness.base import platforms
from harness.base.platforms import BoardTable
from harness.elf import Image
from harness.targets.board import lab as labs
from harness.targets.board.opening import Opening
from harness.targets.board.probe import require_pyocd
from harness.targets.board.session import BoardSession
from harness.targets.board.virtual.client import VirtualDk

Result = TypeVar("Result")
#: A virtual board is slow only on a busy machine.
_POLICY = labs.Policy(backoff=0.6, flash_seconds=480.0)


def serial_number(kit: BoardTable) -> str:
    """A random serial number in the range of ``kit``."""
    prefix = next(iter(kit.probe.serials))
    return f"{prefix}{secrets.randbelow(1_000_000):06d}"


def require_tool() -> None:
    """Raises :class:`EnvironmentMissing` if pyOCD is not installed."""
    require_pyocd("target virtual-board")


@contextmanager
def _started(image: Image, *, console: str = "") -> Iterator[Opening]:
    """Starts a virtual board, the kit with the chip of ``image``, during the block."""
    require_tool()
    kit = platforms.board_with(image.chip.key)
    with tempfile.TemporaryDirectory(prefix="tflm-bench-") as name:
        bench = Path(name)
        lab = labs.Lab(policy=_POLICY, state=bench / "state")
        with VirtualDk(bench, serial_number(kit), console=console, kit=kit) as dk:
            yield Opening(image, lab=lab, source=dk)


def open(image: Image, **options: Any) -> BoardSession:  # noqa: A001 - called by harness.targets
    """Starts a virtual board, flashes ``image`` and opens a session on it.

    ``console`` is the wiring of the console (:func:`harness.base.platforms.console_wiring`). Raises
    :class:`EnvironmentMissing` without pyOCD.
    """
    with ExitStack() as resources:
        session = resources.enter_context(_started(image, **options)).open()
        session.add_resources(resources.pop_all())
        return session


def run(image: Image, action: Callable[[BoardSession], Result], **options: Any) -> Result:
    """The result of ``action`` on a session; repeated after failures of the bench."""
    with _started(image, **options) as opening:
        return opening.run(action)
