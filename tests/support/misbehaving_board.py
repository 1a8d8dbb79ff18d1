"""A virtual board that misbehaves as real ones do, and the process of such a board."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import misbehaviour
from misbehaving_line import MisbehavingLine
from misbehaving_probe import MisbehavingProbe, contents, store

from harness.base import platforms
from harness.base.platforms import BoardTable, ConsoleWiring
from harness.simulator import Machine
from harness.simulator.debug_port.port import Surroundings
from harness.targets.board.virtual.chip import VirtualChip
from harness.targets.board.virtual.server import VirtualBoard, option_parser, serve

#: UICR.APPROTECT: any value except all ones locks the debug port at the next reset.
_APPROTECT = 0x00
#: A program that opens a serial port exclusively until its standard input is closed.
_HOLDER = (
    "import fcntl, os, sys\n"
    "port = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)\n"
    "fcntl.flock(port, fcntl.LOCK_EX)\n"
    "print('held', flush=True)\n"
    "sys.stdin.read()\n"
)


class SwitchedChip(VirtualChip):
    """A chip whose power is switched off and on: flash and UICR keep their contents."""

    def __init__(self, kit: BoardTable, console: ConsoleWiring | None = None, **clock: Any) -> None:
        super().__init__(kit, console, **clock)
        self._kept: dict[str, bytes] = {}

    def make_machine(self) -> Machine:
        machine = super().make_machine()
        store(machine, self._kept)
        machine.reset()
        return machine

    def power_off(self) -> None:
        if self.port is not None:
            self._kept = contents(self.port.machine)
        super().power_off()

    def lock(self) -> None:
        """Sets UICR.APPROTECT and resets the chip."""
        assert self.port is not None
        uicr = self.port.machine.memory_map.area("uicr")
        self.port.machine.write_memory(uicr.origin + _APPROTECT, bytes(4))
        self.port.pin_reset()


class TranscriptChip(SwitchedChip):
    """A chip that prints the text at address 0 of flash, and echoes its input.

    It serves to test a bench without a compiler: flash a console log, and it is printed. The core
    runs only under a debugger.
    """

    def __init__(self, kit: BoardTable) -> None:
        super().__init__(kit)
        self._pending = bytearray()
        self._resets = 0

    def power_on(self, around: Surroundings) -> None:
        self._resets = -1
        super().power_on(around)

    def step(self, seconds: float) -> bytes:
        """All output at once; the serial line delays it."""
        port = self._running()
        if port.core.enabled:
            super().step(seconds)
        if port.machine.resets != self._resets and not port.core.halted:
            self._resets = port.machine.resets
            text = contents(port.machine)["flash"]
            self._pending[:] = text[: text.find(b"\xff")]
        printed = bytes(self._pending)
        self._pending.clear()
        self.idle = not port.core.enabled or self.idle
        return printed

    def feed(self, data: bytes) -> None:
        """Echoes ``data``."""
        self._pending += data
        self.wake()

    def pin_reset(self) -> None:
        self._pending.clear()
        super().pin_reset()


class MisbehavingBoard(VirtualBoard):
    """A board with misbehaviours, which can leave the bus and return."""

    chip: SwitchedChip
    line: MisbehavingLine
    probe: MisbehavingProbe

    def __init__(
        self,
        bench: Path,
        serial: str,
        chip: SwitchedChip,
        *,
        misbehave: Iterable[str] = (),
        **options: Any,
    ) -> None:
        self.wrong = misbehaviour.parse(misbehave)
        self.resets = 0
        self.generation = 0  # of port names; see misbehaviour ``rename``
        self.back_at = 0.0  # time of the return to the bus
        self.failing: float | None = None  # seconds for which it leaves the bus next
        self.holder: subprocess.Popen[bytes] | None = None
        super().__init__(bench, serial, chip, **options)
        self.operations |= {
            "info": self.do_info, "power": self.do_power, "misbehave": self.do_misbehave,
        }  # fmt: skip

    def make_line(self) -> MisbehavingLine:
        return MisbehavingLine(self)

    def make_probe(self, *, fast: bool) -> MisbehavingProbe:
        return MisbehavingProbe(self, fast=fast)

    # -- the bus ----------------------------------------------------------------------------

    def plug(self) -> None:
        self.failing = None
        super().plug()
        assert self.chip.port is not None
        self.probe.watch(self.chip.port.machine)
        self.lock()
        self.hold()

    def port_name(self, index: int) -> str:
        return super().port_name(self.generation * len(self.chip.kit.vcom) + index)

    def unplug(self, seconds: float) -> None:
        """Disconnects the board from bus and power for ``seconds``."""
        self.drop_holder()
        self.probe.restore_flash()
        self.probe.shown = {}
        self.chip.power_off()
        self.outgoing = b""
        self.line.clear()
        if self.terminals:
            self.selector.unregister(self.terminals[0].master)
        for terminal in self.terminals:
            terminal.close()
        self.terminals = []
        self.generation += 1 if self.wrong.rename else 0
        self.publish()
        self.back_at = time.monotonic() + seconds

    def lock(self) -> None:
        """Locks the chip, once, if ``locked`` is set."""
        if self.wrong.locked and self.terminals:
            self.wrong = self.wrong.without("locked")
            self.chip.lock()

    def hold(self) -> None:
        """Opens the console port in another process, if ``busy`` is set."""
        if not self.wrong.busy or not self.terminals:
            return
        self.holder = subprocess.Popen(
            [sys.executable, "-c", _HOLDER, str(self.terminals[0].link)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.holder.stdout is not None
        self.holder.stdout.readline()

    def drop_holder(self) -> None:
        """Ends the process that has the console port open."""
        if self.holder is not None:
            self.holder.kill()
            self.holder.communicate()
            self.holder = None

    # -- the chip ---------------------------------------------------------------------------

    def reset(self) -> None:
        """Presses the reset button."""
        if self.chip.port is not None:
            self.chip.port.pin_reset()

    def pin_reset(self) -> None:
        self.probe.restore_flash()
        self.resets += 1
        super().pin_reset()

    def erase_all(self) -> None:
        if self.probe.powered():
            super().erase_all()

    def receive(self) -> None:
        if self.terminals:  # not unplugged since the selector returned
            super().receive()

    def turn(self) -> float:
        if self.failing is not None and self.terminals:
            self.unplug(self.failing)
        if not self.terminals:
            remaining = self.back_at - time.monotonic()
            if remaining > 0:
                return min(remaining, 0.05)
            self.plug()
            self.resets += 1
        return super().turn()

    # -- requests ---------------------------------------------------------------------------

    def do_info(self, _: dict[str, Any]) -> dict[str, Any]:
        """The board's serial number, misbehaviours and state."""
        wrong = {name: getattr(self.wrong, name) for name in misbehaviour.NAMES}
        return {"serial": self.serial, "wrong": wrong, "resets": self.resets,
                "halted": self.chip.halted}  # fmt: skip

    def do_power(self, _: dict[str, Any]) -> dict[str, Any]:
        """Power-cycles the board."""
        if self.terminals:
            self.unplug(0.2)
        return {}

    def do_misbehave(self, request: dict[str, Any]) -> dict[str, Any]:
        """Sets the misbehaviours; an empty list ends all of them."""
        self.wrong = misbehaviour.parse(request["names"])
        self.probe.shown = {}
        self.lock()
        self.drop_holder()
        self.hold()
        return {}

    def close(self) -> None:
        self.drop_holder()
        super().close()


def main() -> None:
    """Runs a board with the options of the command line until standard input is closed."""
    parser = option_parser()
    parser.add_argument("--play", action="store_true")
    parser.add_argument("--misbehave", action="append", default=[])
    options = parser.parse_args()
    kit = platforms.board_table(options.kit)
    wiring = platforms.console_wiring(options.console, kit) if options.console else None
    serve(MisbehavingBoard(
        options.bench, options.serial,
        TranscriptChip(kit) if options.play else SwitchedChip(kit, wiring),
        name=options.name, baud=options.baud, misbehave=options.misbehave, port=options.port,
        fast=not options.registers,
    ))  # fmt: skip


if __name__ == "__main__":
    main()
