"""The chip of a virtual board: a machine with a debug port, whose flash outlives its power."""

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

#: Virtual time runs at most this many times as fast as the wall clock, so that firmware that idles
#: for ever does not keep a core of the host busy.
SPEED = 4.0
_NAP_SECONDS = 0.002
#: Wall seconds after which one slice of a few virtual milliseconds counts as stuck.
_GUARD_SECONDS = 10.0
#: Nothing happens any more by itself.
_STANDS = (End.IDLE, End.LOCKUP, End.SYSTEM_OFF)
_KEPT = ("flash", "uicr")
_ERASED = b"\xff"
#: UICR.APPROTECT: any word but all ones locks the debug port at the next reset.
_APPROTECT = 0x00


class BoardPort(DebugPort):
    """A debug port that may show other contents of a memory than it has: ``shown``, by name."""

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
    """A chip that runs what is in its flash; one that cannot run stays silent.

    It has no power, and no debug port, until :meth:`power_on`. ``kit`` is the board with the chip,
    ``console`` says how it hears it (default: as it is wired). ``now`` and ``sleep`` are the wall
    clock's, in seconds.
    """

    def __init__(
        self,
        kit: BoardTable,
        console: ConsoleWiring | None = None,
        *,
        now: Clock = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        #: True while nothing can happen until somebody does something to the chip.
        self.idle = True
        #: Why the chip does not run any more, or an empty string.
        self.halted = ""
        self.port: BoardPort | None = None
        self.kit = kit
        self._console, self._now, self._sleep = console or kit.console, now, sleep
        #: Of flash and UICR, while there is no power.
        self._contents = {"flash": _ERASED * kit.chip.area("flash").size}
        self._told = 0  # console bytes
        self._started = self._virtual = 0.0

    # power and resets

    def power_on(self, around: Surroundings, powered: Callable[[], bool]) -> None:
        """Power comes: the core starts from flash.

        ``around`` is what the debug port resets; ``powered`` is asked before flash is changed.
        """
        machine = self._machine()
        machine.chip.device("NVMC", Nvmc).powered = powered
        self.port, self._told = BoardPort(machine, around), 0
        self._begin()

    def _machine(self) -> Machine:
        """A machine with the contents of flash and UICR."""
        chip = self.kit.chip
        blocks = [(chip.area(name).origin, data) for name, data in self._contents.items()]
        try:
            return Machine(_image(blocks, chip), console=self._console)
        except HilError:  # no firmware: the processor starts from whatever is there
            machine = Machine(_image([(0, _stub(chip))], chip), console=self._console)
            for address, content in blocks:
                machine.write_memory(address, content)
            machine.reset()
            return machine

    def power_off(self) -> None:
        """Power goes; safe to call twice."""
        if self.port is None:
            return
        machine, self.port = self.port.machine, None
        self._contents = contents(machine)
        machine.close()
        self.idle = True

    def pin_reset(self) -> None:
        """Pulse the reset pin; output that nobody has read is lost."""
        machine = self._running().machine
        machine.reset()
        self._told = machine.console.size
        self._begin()

    def _begin(self) -> None:
        self.halted, self.idle = "", True
        self.touched()

    def touched(self) -> None:
        """Somebody did something to the chip: it may go on."""
        if self.idle and not self.halted:
            self._started, self._virtual = self._now(), 0.0
            self.idle = False

    def lock(self) -> None:
        """Set UICR.APPROTECT, as production does, and reset."""
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
        """Run for at most ``seconds`` times :data:`SPEED`; returns the bytes of the UART."""
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
        printed = console.since(self._told)
        self._told = console.size
        return printed

    def _halt(self, reason: str) -> None:
        self.halted = reason
        self.idle = True

    # what is around it

    def feed(self, data: bytes) -> None:
        """Bytes for the UART; they may wake a sleeping core."""
        if self.port is None or self.halted:
            return
        try:
            self.port.machine.feed(data)
        except HilError as error:
            self._halt(error.message)
            return
        self.touched()

    def _pins(self) -> Gpio:
        if self.halted:
            raise ValueError("the chip does not run")
        return self._running().machine.chip.device("P0", Gpio)

    def read_pin(self, pin: int) -> bool:
        """The level at a pin. Raises ValueError if the chip does not run."""
        return bool(self._pins().pads >> pin & 1)

    def drive_pin(self, pin: int, level: bool | None) -> None:
        """Drive a pin, or let it go; it may wake a sleeping core."""
        self._pins().drive(pin, level)
        self.touched()


class TranscriptChip(VirtualChip):
    """Prints the text in flash from address 0 on, and echoes its input.

    For trying the bench without a compiler: "flash" a console log and see it printed. Its core
    runs for a debugger alone.
    """

    def __init__(self, kit: BoardTable) -> None:
        super().__init__(kit)
        self._pending = bytearray()
        self._resets = 0

    def power_on(self, around: Surroundings, powered: Callable[[], bool]) -> None:
        """Print the text."""
        self._resets = -1
        super().power_on(around, powered)

    def step(self, seconds: float) -> bytes:
        """All output at once; the line paces it."""
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
        """Echo."""
        self._pending += data
        self.touched()

    def pin_reset(self) -> None:
        """Print the text again."""
        self._pending.clear()
        super().pin_reset()


def contents(machine: Machine) -> dict[str, bytes]:
    """What flash and UICR hold, by name."""
    areas = {name: machine.memory_map.area(name) for name in _KEPT}
    return {name: machine.read_memory(a.origin, a.size) for name, a in areas.items()}


def _image(blocks: list[tuple[int, bytes]], chip: ChipTable) -> Image:
    return Image(Path("flash"), wrap(blocks), chip_name=chip.key)


def _stub(chip: ChipTable) -> bytes:
    """A vector table that a machine can be made with."""
    ram = chip.area("ram")
    return b"".join(word.to_bytes(4, "little") for word in (ram.end, 9, 0xE7FE_E7FE))
