"""The chip of a virtual board: a machine with a debug port, which runs with the wall clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from harness.base.clock import Clock, Deadline
from harness.base.errors import HilError
from harness.base.platforms import BoardTable, ChipTable, ConsoleWiring
from harness.elf import Image
from harness.elf.wrapped import wrap
from harness.simulator import End, Machine
from harness.simulator.debug_port import DebugPort
from harness.simulator.debug_port.port import Surroundings
from harness.simulator.peripherals.gpio import Gpio

#: Largest ratio of virtual time to the wall clock; it keeps idle firmware from using a whole core
#: of the host.
SPEED = 4.0
_NAP_SECONDS = 0.002
#: Wall-clock limit of a slice of a few virtual milliseconds.
_GUARD_SECONDS = 10.0
#: Ends of a slice after which only an external event can continue the run.
_STANDS = (End.IDLE, End.LOCKUP, End.SYSTEM_OFF)
_ERASED = b"\xff"


class VirtualChip:
    """A chip that runs the code in its flash; it stays silent if there is none.

    It has neither power nor a debug port until :meth:`power_on`. ``kit`` is the board with the
    chip, ``console`` the wiring of the console (default: that of the kit), ``now`` and ``sleep``
    the wall clock in seconds.
    """

    def __init__(
        self,
        kit: BoardTable,
        console: ConsoleWiring | None = None,
        *,
        now: Clock = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        #: True while only an external event can continue the run.
        self.idle = True
        #: The error that ended the run, or an empty string.
        self.halted = ""
        self.port: DebugPort | None = None
        self.kit = kit
        self._console, self._now, self._sleep = console or kit.console, now, sleep
        self._delivered = 0  # console bytes returned so far
        self._started = self._virtual = 0.0  # wall clock and virtual seconds since it was idle

    # power and resets

    def power_on(self, around: Surroundings) -> None:
        """Powers the chip on, with erased flash; ``around`` is the board that its port resets."""
        self.port, self._delivered = DebugPort(self.make_machine(), around), 0
        self._begin()

    def make_machine(self) -> Machine:
        """A machine with erased flash."""
        chip = self.kit.chip
        flash = chip.area("flash")
        image = Image(Path("flash"), wrap([(flash.origin, _stub(chip))]), chip_name=chip.key)
        machine = Machine(image, console=self._console)
        machine.write_memory(flash.origin, _ERASED * flash.size)
        machine.reset()
        return machine

    def power_off(self) -> None:
        """Powers the chip off; safe to call twice."""
        if self.port is None:
            return
        machine, self.port = self.port.machine, None
        machine.close()
        self.idle = True

    def pin_reset(self) -> None:
        """Pulses the reset pin; output that has not been read is lost."""
        machine = self._running().machine
        machine.reset()
        self._delivered = machine.console.size
        self._begin()

    def _begin(self) -> None:
        self.halted, self.idle = "", True
        self.wake()

    def wake(self) -> None:
        """Continues an idle chip after an external event."""
        if self.idle and not self.halted:
            self._started, self._virtual = self._now(), 0.0
            self.idle = False

    def _running(self) -> DebugPort:
        if self.port is None:
            raise ValueError("the chip has no power")
        return self.port

    # time

    def step(self, seconds: float) -> bytes:
        """Runs for ``seconds`` times :data:`SPEED` at most; returns the output of the UART."""
        if self.port is None or self.port.core.halted:
            self.idle = True
            return b""
        ahead = self._virtual - (self._now() - self._started) * SPEED
        if ahead > 0:
            self._sleep(min(_NAP_SECONDS, ahead / SPEED))
            return b""
        try:
            return self._run(self.port, seconds * SPEED)
        except HilError as error:
            self._halt(error.message)
            return b""

    def _run(self, port: DebugPort, length: float) -> bytes:
        machine = port.machine
        limit = Deadline(2 * length, now=lambda: machine.seconds, guard=_GUARD_SECONDS)
        end = port.core.run(round(length * machine.memory_map.cpu_hz), limit, stop_when_idle=True)
        self._virtual += length
        if end in _STANDS:
            self.idle = True
        elif end is End.GUARD:
            self._halt(f"{length} s of virtual time took more than {_GUARD_SECONDS} s")
        return self._printed()

    def _printed(self) -> bytes:
        console = self._running().machine.console
        printed = console.since(self._delivered)
        self._delivered = console.size
        return printed

    def _halt(self, reason: str) -> None:
        self.halted = reason
        self.idle = True

    # console input and pins

    def feed(self, data: bytes) -> None:
        """Feeds bytes to the UART; they may wake a sleeping core."""
        if self.port is None or self.halted:
            return
        try:
            self.port.machine.feed(data)
        except HilError as error:
            self._halt(error.message)
            return
        self.wake()

    def _pins(self) -> Gpio:
        if self.halted:
            raise ValueError(f"the chip does not run: {self.halted}")
        return self._running().machine.chip.device("P0", Gpio)

    def read_pin(self, pin: int) -> bool:
        """The level of a pin. Raises ValueError if the chip does not run."""
        return bool(self._pins().pads >> pin & 1)

    def drive_pin(self, pin: int, level: bool | None) -> None:
        """Drives a pin, or releases it (None); this may wake a sleeping core."""
        self._pins().drive(pin, level)
        self.wake()


def _stub(chip: ChipTable) -> bytes:
    """A minimal image: a vector table, and a branch to itself."""
    ram = chip.area("ram")
    return b"".join(word.to_bytes(4, "little") for word in (ram.end, 9, 0xE7FE_E7FE))
