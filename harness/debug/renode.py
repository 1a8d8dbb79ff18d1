"""gdb on Renode: its own gdb server, isolated in a network namespace."""

from __future__ import annotations

import contextlib
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.base import process
from harness.base.errors import BadElf, EnvironmentMissing, ProgramFailed
from harness.base.exceptions import HARD_FAULT
from harness.debug.gdb import commands_to
from harness.debug.replay import Breakpoint
from harness.elf import Image, vectors
from harness.targets.renode import isolated
from harness.targets.renode.server import GDB_PORT
from harness.targets.renode.session import REGISTERS, RenodeSession

_CHECK_SECONDS = 30.0
_POLL_SECONDS = 0.02
_REGISTER = '    <reg name="{}" bitsize="32" regnum="{}"{}/>\n'
_NUMBERS = {"xpsr": 25}  # of Renode, where they are not those of the architecture
_TYPES = {"sp": ' type="data_ptr"', "pc": ' type="code_ptr"'}


def description(folder: Path) -> Path:
    """A target description for gdb's ``set tdesc filename``, without msp, psp and control.

    Renode's own description gives these three the numbers of other registers, so that gdb does not
    find the stack frame of an exception. Without them gdb uses sp.
    """
    registers = "".join(
        _REGISTER.format(name, _NUMBERS.get(name, number), _TYPES.get(name, ""))
        for number, name in enumerate(REGISTERS)
    )
    path = folder / "cortex-m.xml"
    path.write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE target SYSTEM "gdb-target.dtd">\n<target>\n'
        "  <architecture>arm</architecture>\n"
        f'  <feature name="org.gnu.gdb.arm.m-profile">\n{registers}  </feature>\n</target>\n'
    )
    return path


def check_network() -> None:
    """Raises :class:`EnvironmentMissing` if this machine allows no network namespace for Renode."""
    try:
        process.run([sys.executable, "-I", isolated.__file__], seconds=_CHECK_SECONDS)
    except ProgramFailed as error:
        raise EnvironmentMissing(
            "Renode's gdb server listens on every interface, and this machine does not allow it a"
            f" network namespace: {process.last_line(error.output, 'unknown')}",
            hint="allow user namespaces (on Ubuntu: sysctl"
            " kernel.apparmor_restrict_unprivileged_userns=0), or debug on --target simulator",
        ) from error


def fault_handlers(image: Image) -> list[int]:
    """Addresses of the handlers of HardFault to SecureFault in all vector tables of the image.

    Images loaded together (a bootloader and an application, a secure and a non-secure image) have
    separate tables.
    """
    found: set[int] = set()
    for part in (image, image.alone, *image.beside):
        with contextlib.suppress(BadElf):  # an image without a vector table, such as data
            table = part.read(vectors.find(part, anywhere=True).address + 4 * HARD_FAULT, 20)
            words = struct.unpack("<5I", table) if table else ()
            found |= {word & ~1 for word in words} - {0}
    return sorted(found)


def first_commands(place: Breakpoint | None, handlers: list[int], target: str) -> list[str]:
    """The gdb commands that run the image from its reset to ``place`` (None: the reset).

    A fault halts at the first instruction of its handler; ``handlers`` are their addresses. Raises
    :class:`Unsupported` for places that need a repeatable run.
    """
    breaks = [f"break *0x{address:x}" for address in handlers]
    return [] if place is None else commands_to(place, target, breaks)


@dataclass(frozen=True)
class DebuggedRenode:
    """Renode in a debug session; ``show`` is called with the console output.

    Each method raises :class:`TargetLost` if Renode has ended.
    """

    session: RenodeSession
    show: Callable[[bytes], None]
    description: Path

    @property
    def note(self) -> str:
        """The gdb command that must precede the connection."""
        return f"before it: set tdesc filename {self.description}"

    def begin(self) -> None:
        """Starts Renode's gdb server, which controls the machine from then on."""
        self.session.serve_gdb(GDB_PORT)

    def poll(self) -> None:
        """Shows new console output."""
        data = self.session.debug_console()
        if data:
            self.show(data)
        time.sleep(_POLL_SECONDS)
