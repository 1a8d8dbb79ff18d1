"""A Renode under a debugger: its gdb server, in a network of its own, and gdb's first commands."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import EnvironmentMissing
from harness.debug.gdb import commands_to
from harness.debug.replay import Place
from harness.targets.renode import isolated
from harness.targets.renode.server import GDB_PORT
from harness.targets.renode.session import REGISTERS, RenodeSession

_GLANCE = 0.02
_REGISTER = '    <reg name="{}" bitsize="32" regnum="{}"{}/>\n'
_TYPES = {"sp": ' type="data_ptr"', "pc": ' type="code_ptr"'}


def description(folder: Path) -> Path:
    """A file for gdb's ``set tdesc filename``: the registers that Renode's server has right.

    Its own description has msp, psp and control under the numbers of other registers, with which
    gdb does not find the frame that an exception stacked. Without them it takes sp.
    """
    registers = "".join(
        _REGISTER.format(name, number, _TYPES.get(name, "")) for name, number in REGISTERS.items()
    )
    path = folder / "cortex-m.xml"
    path.write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE target SYSTEM "gdb-target.dtd">\n<target>\n'
        "  <architecture>arm</architecture>\n"
        f'  <feature name="org.gnu.gdb.arm.m-profile">\n{registers}  </feature>\n</target>\n'
    )
    return path


def check_network() -> None:
    """Raises :class:`EnvironmentMissing` if Renode cannot have a network of its own here."""
    program = [sys.executable, "-I", isolated.__file__]
    tried = subprocess.run(program, capture_output=True, text=True, check=False)
    if tried.returncode:
        words = tried.stderr.strip().splitlines() or ["unknown"]
        raise EnvironmentMissing(
            "Renode's gdb server listens on every interface, and this machine does not let it have"
            f" a network of its own: {words[-1]}",
            hint="allow user namespaces (on Ubuntu: sysctl"
            " kernel.apparmor_restrict_unprivileged_userns=0), or debug on --target simulator",
        )


def first_commands(place: Place | None, handlers: list[int], target: str) -> list[str]:
    """The gdb commands that run the image from its reset up to ``place`` (None: the reset).

    A fault is stopped at before the first instruction of its handler. Raises :class:`Unsupported`
    for places that only a run that can be repeated has.
    """
    breaks = [f"break *0x{address:x}" for address in handlers]
    return [] if place is None else commands_to(place, target, breaks)


@dataclass(frozen=True)
class DebuggedRenode:
    """A session that gdb drives; ``shown`` gets the console's bytes as they come.

    Raises :class:`TargetLost` in each method if Renode has gone.
    """

    session: RenodeSession
    shown: Callable[[bytes], None]
    description: Path

    @property
    def note(self) -> str:
        """What gdb must be told before it connects."""
        return f"before it: set tdesc filename {self.description}"

    def begin(self) -> None:
        """Give the machine to Renode's gdb server."""
        self.session.serve_gdb(GDB_PORT)

    def turn(self) -> None:
        """Show what came; gdb lets the core run."""
        data = self.session.debug_console()
        if data:
            self.shown(data)
        time.sleep(_GLANCE)
