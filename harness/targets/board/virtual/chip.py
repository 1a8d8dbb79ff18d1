"""The chip of a virtual board: a machine with a debug port; flash is kept without power."""

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
from harness.simulator.peripherals.nvmc import Nvmc

#: Largest ratio of virtual time to the wall clock; it keeps idle firmware from using a whole core
#: of the host.
SPEED = 4.0
_NAP_SECONDS = 0.002
#: Wall-clock limit of a slice of a few virtual milliseconds.
_GUARD_SECONDS = 10.0
#: Ends of a slice after which only an external event can continue the run.
_STANDS = (End.IDLE, End.LOCKUP, End.SYSTEM_OFF)
_KEPT = ("flash", "uicr")
_ERASED = b"\xff"
#: UICR.APPROTECT: any value except all ones locks the debug port at the next reset.
_APPROTECT = 0x00


class BoardPort(DebugPort):
    """A debug port that can return faked contents of memories: ``shown``, by their name."""

    def __init__(self, machine: Machine, around: Surroundings) -> None:
        super().__init__(machine, around)
        self.shown: dict[str, bytes] = {}

    def read_memory(self, address: int, size: int, port: int | None = None) -> int:
        """1, 2 or 4 bytes of the core's address space. Raises :class:`TransferError`."""
        if self._claimed(address, size) is None:
            return super().read_memory(address, size, port)
        return int.from_bytes(bytes(self.read_block(address, size, 1, port)), "little")

    def read_block(self, address: int, count: int, unit: int, port: int | None = None) -> list[int]:
        """``count`` numbers of ``unit`` bytes (1 or 4). Raises :class:`TransferError`."""
        claimed = self._claimed(address, count * unit)
        if claimed is None:
            return super().read_block(address, count, unit, port)
        self._allow(address, unit, port)
        each = range(0, len(claimed), unit)
        return [int.from_bytes(claimed[at : at + unit], "little") for at in each]

    def _claimed(self, address: int, size: int) -> bytes | None:
        for name, content in self.shown.items():
            area = self.machine.memory_map.area(name)
            if area.holds(address, size):
                return content[address - area.origin :][:size]
        return None


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
        self.port: BoardPort | None = None
        self.kit = kit
        self._console, self._now, self._sleep = console or kit.console, now, sleep
        #: Contents of flash and UICR without power, by name.
        self._contents = {"flash": _ERASED * kit.chip.area("flash").size}
        self._delivered = 0  # console bytes returned so far
        self._started = self._virtual = 0.0  # wall clock and virtual seconds since it was idle

    # power and resets

    def power_on(self, around: Surroundings, powered: Callable[[], bool]) -> None:
        """Powers the chip on; the core starts from flash.

        ``around`` is the board that the debug port resets; ``powered`` is called before each change
        of flash, and prevents it by returning False.
        """
        machine = self._machine()
        machine.chip.device("NVMC", Nvmc).powered = powered
        self.port, self._delivered = BoardPort(machine, around), 0
        self._begin()

    def _machine(self) -> Machine:
        """A machine with the contents of flash and UICR."""
        chip = self.kit.chip
        blocks = [(chip.area(name).origin, data) for name, data in self._contents.items()]
        try:
            return Machine(_image(blocks, chip), console=self._console)
        except HilError:  # no valid image: the core starts from the raw contents
            machine = Machine(_image([(0, _stub(chip))], chip), console=self._console)
            for address, content in blocks:
                machine.write_memory(address, content)
            machine.reset()
            return machine

    def power_off(self) -> None:
        """Powers the chip off; safe to call twice."""
        if self.port is None:
            return
        machine, self.port = self.port.machine, None
        self._contents = contents(machine)
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

    def lock(self) -> None:
        """Sets UICR.APPROTECT and resets the chip."""
        machine = self._running().machine
        uicr = machine.memory_map.area("uicr")
        machine.write_memory(uicr.origin + _APPROTECT, bytes(4))
        self._running().pin_reset()

    def _running(self) -> BoardPort:
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

    def _run(self, port: BoardPort, length: float) -> bytes:
        machine = port.machine
        limit = Deadline(2 * length, now=lambda: machine.seconds, guard=_GUARD_SECONDS)
        end = port.core.run(round(length * machine.memory_map.cpu_hz), limit, stand=True)
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
            raise ValueError("the chip does not run")
        return self._running().machine.chip.device("P0", Gpio)

    def read_pin(self, pin: int) -> bool:
        """The level of a pin. Raises ValueError if the chip does not run."""
        return bool(self._pins().pads >> pin & 1)

    def drive_pin(self, pin: int, level: bool | None) -> None:
        """Drives a pin, or releases it (None); this may wake a sleeping core."""
        self._pins().drive(pin, level)
        self.wake()


class TranscriptChip(VirtualChip):
    """A chip that prints the text at address 0 of flash, and echoes its input.

    It serves to test a bench without a compiler: flash a console log, and it is printed. The core
    runs only under a debugger.
    """

    def __init__(self, kit: BoardTable) -> None:
        super().__init__(kit)
        self._pending = bytearray()
        self._resets = 0

    def power_on(self, around: Surroundings, powered: Callable[[], bool]) -> None:
        """Powers the chip on; the text is printed."""
        self._resets = -1
        super().power_on(around, powered)

    def step(self, seconds: float) -> bytes:
        """All output at once; the serial line delays it."""
        port = self._running()
        if port.core.enabled:
            super().step(seconds)
        if port.machine.resets != self._resets and not port.core.halted:
            self._resets = port.machine.resets
            text = contents(port.machine)["flash"]
            self._pending[:] = text[: text.find(_ERASED)]
        printed = bytes(self._pending)
        self._pending.clear()
        self.idle = not port.core.enabled or self.idle
        return printed

    def feed(self, data: bytes) -> None:
        """Echoes ``data``."""
        self._pending += data
        self.wake()

    def pin_reset(self) -> None:
        """Pulses the reset pin; the text is printed again."""
        self._pending.clear()
        super().pin_reset()


def contents(machine: Machine) -> dict[str, bytes]:
    """The contents of flash and UICR, by name."""
    areas = {name: machine.memory_map.area(name) for name in _KEPT}
    return {name: machine.read_memory(a.origin, a.size) for name, a in areas.items()}


def _image(blocks: list[tuple[int, bytes]], chip: ChipTable) -> Image:
    return Image(Path("flash"), wrap(blocks), chip_name=chip.key)


def _stub(chip: ChipTable) -> bytes:
    """A minimal image: a vector table, and a branch to itself."""
    ram = chip.area("ram")
    return b"".join(word.to_bytes(4, "little") for word in (ram.end, 9, 0xE7FE_E7FE))
