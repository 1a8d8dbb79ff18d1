"""The chip of a virtual board: its flash, and the machine that runs the content."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Protocol

from harness.base import platforms
from harness.base.clock import Clock
from harness.base.errors import HilError
from harness.elf import Image
from harness.elf.hexfile import Block
from harness.elf.wrapped import wrap
from harness.targets.base import Elapsed, MemoryAccess, Session, Stop

_ERASED = b"\xff"
#: Virtual time runs at most this many times as fast as the wall clock, so that firmware that idles
#: for ever does not keep a core of the host busy.
SPEED = 4.0
_NAP_SECONDS = 0.002
#: Wall seconds after which one slice of a few virtual milliseconds counts as stuck.
_GUARD_SECONDS = 10.0


class FlashStore:
    """Flash and UICR: erased to ones, kept over resets and power cycles."""

    def __init__(self) -> None:
        chip = platforms.chip_table()
        self._page = chip.flash.page
        self._areas = chip.area("flash"), chip.area("uicr")
        self.flash, self.uicr = (bytearray(_ERASED * area.size) for area in self._areas)

    def area(self, address: int, size: int) -> tuple[bytearray, int]:
        """The memory that holds [address, address + size) and the offset in it, or a ValueError."""
        for content, area in zip((self.flash, self.uicr), self._areas, strict=True):
            if area.holds(address, size):
                return content, address - area.origin
        raise ValueError(f"0x{address:08x} is not in flash")

    def erase(self, blocks: list[Block]) -> None:
        """Erase the pages that the blocks touch."""
        for address, data in blocks:
            content, offset = self.area(address, len(data))
            first, last = offset // self._page, (offset + len(data) - 1) // self._page
            begin, end = first * self._page, (last + 1) * self._page
            content[begin:end] = _ERASED * (end - begin)

    def program(self, address: int, data: bytes) -> None:
        """Write: bits go from one to zero only, as in NOR flash."""
        content, offset = self.area(address, len(data))
        for index, byte in enumerate(data):
            content[offset + index] &= byte

    def used(self) -> int:
        """Bytes of flash up to the last one that is programmed."""
        return len(self.flash.rstrip(b"\xff"))


class VirtualChip(Protocol):
    """Something that runs the content of a store."""

    #: True while nothing can happen until the chip is written to or reset.
    idle: bool

    def reset(self, store: FlashStore) -> None:
        """Start again from the present content of flash."""
        ...

    def step(self, seconds: float) -> bytes:
        """Run for about ``seconds`` of wall time; returns the bytes of the UART."""
        ...

    def feed(self, data: bytes) -> None:
        """Bytes for the UART's receiver."""
        ...

    def read(self, address: int, size: int) -> bytes:
        """Memory as a debug probe sees it; ValueError if there is none."""
        ...

    def write(self, address: int, data: bytes) -> None:
        """Write memory through the debug probe; ValueError if there is none."""
        ...

    def read_pin(self, pin: int) -> bool:
        """The level at a pin; ValueError if there are none."""
        ...

    def drive_pin(self, pin: int, level: bool | None) -> None:
        """Drive a pin, or let it go; ValueError if there are none."""
        ...


class TranscriptChip:
    """Prints the text in flash from address 0 on, and echoes its input.

    For trying the bench without a compiler: "flash" a console log and see it printed.
    """

    def __init__(self) -> None:
        self.idle = True
        self._store = FlashStore()
        self._pending = bytearray()

    def reset(self, store: FlashStore) -> None:
        """Print the text again."""
        self._store = store
        self._pending = bytearray(store.flash[: store.flash.find(b"\xff")])
        self.idle = False

    def step(self, seconds: float) -> bytes:
        """All output at once; the line paces it."""
        printed, self._pending = bytes(self._pending), bytearray()
        self.idle = True
        return printed

    def feed(self, data: bytes) -> None:
        """Echo."""
        self._pending += data
        self.idle = False

    def read(self, address: int, size: int) -> bytes:
        """Flash alone: there is no RAM."""
        content, offset = self._store.area(address, size)
        return bytes(content[offset : offset + size])

    def write(self, address: int, data: bytes) -> None:
        """There is no RAM."""
        raise ValueError(f"0x{address:08x} cannot be written")

    def read_pin(self, pin: int) -> bool:
        """There are no pins."""
        raise ValueError(f"a transcript has no P0.{pin}")

    def drive_pin(self, pin: int, level: bool | None) -> None:
        """There are no pins."""
        raise ValueError(f"a transcript has no P0.{pin}")


Opener = Callable[[Image], Session]


def simulator(firmware: Image, console: str | None = None) -> Session:
    """A session on the simulator, whose board hears the chip as ``console`` says."""
    opened = import_module("harness.targets.simulator").open(firmware, console=console)
    session: Session = opened
    return session


class SimulatorChip:
    """Runs the content of flash on the simulator; a chip that cannot run stays silent.

    ``now`` and ``sleep`` are the wall clock's, in seconds.
    """

    def __init__(
        self,
        opener: Opener = simulator,
        *,
        now: Clock = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.idle = True
        #: Why the chip does not run any more, or an empty string.
        self.halted = ""
        self._open = opener
        self._now = now
        self._sleep = sleep
        self._session: Session | None = None
        self._image = b""
        self._started = 0.0
        self._virtual = 0.0

    def reset(self, store: FlashStore) -> None:
        """Pulse the reset pin; a new machine if flash was written in the meantime."""
        image = wrap(_blocks(store))
        self.halted = ""
        self.idle = False
        self._started, self._virtual = self._now(), 0.0
        try:
            if self._session is not None and image == self._image:
                self._session.read()  # unread output is lost with the reset
                self._session.reset()
                return
            if self._session is not None:
                self._session.close()
                self._session = None
            self._image = image
            if store.used():
                self._session = self._open(Image(Path("flash"), image))
        except HilError as error:
            self._halt(error.message)
        if self._session is None:
            self.idle = True

    def step(self, seconds: float) -> bytes:
        """Run for at most ``seconds`` times :data:`SPEED` of virtual time."""
        if self._session is None:
            self.idle = True
            return b""
        ahead = self._virtual - (self._now() - self._started) * SPEED
        if ahead > 0:
            self._sleep(min(_NAP_SECONDS, ahead / SPEED))
            return b""
        length = seconds * SPEED
        try:
            limit = self._session.deadline(length * 2, guard=_GUARD_SECONDS)
            stop = self._session.run(Elapsed(length), limit)
            printed = self._session.read()
        except HilError as error:
            self._halt(error.message)
            return b""
        self._virtual += length
        if stop in (Stop.IDLE, Stop.LOCKUP):
            self.idle = True
        elif stop is Stop.GUARD:
            self._halt(f"{length} s of virtual time took more than {_GUARD_SECONDS} s")
        return printed

    def feed(self, data: bytes) -> None:
        """Bytes for the UART; they may wake a sleeping core."""
        if self._session is None or self.halted:
            return
        try:
            self._session.write(data)
        except HilError as error:
            self._halt(error.message)
            return
        self._wake()

    def read(self, address: int, size: int) -> bytes:
        """Memory of the machine. Raises ValueError if there is none."""
        with self._memory() as memory:
            return memory.read(address, size)

    def write(self, address: int, data: bytes) -> None:
        """Memory of the machine. Raises ValueError if there is none."""
        with self._memory() as memory:
            memory.write(address, data)

    @contextmanager
    def _memory(self) -> Iterator[MemoryAccess]:
        """The machine's memory; its errors are those of a debug probe."""
        if self._session is None:
            raise ValueError("the chip does not run")
        try:
            yield self._session.memory
        except HilError as error:
            raise ValueError(error.message) from error

    def _halt(self, reason: str) -> None:
        self.halted = reason
        self.idle = True

    def read_pin(self, pin: int) -> bool:
        """The level at a pin of the machine."""
        return self._running().pins.read(pin)

    def drive_pin(self, pin: int, level: bool | None) -> None:
        """Drive a pin of the machine; it may wake a sleeping core."""
        self._running().pins.drive(pin, level)
        self._wake()

    def _running(self) -> Session:
        if self._session is None or self.halted:
            raise ValueError("the chip does not run")
        return self._session

    def _wake(self) -> None:
        if self.idle:
            self._started, self._virtual = self._now(), 0.0
            self.idle = False


def _blocks(store: FlashStore) -> list[Block]:
    """Flash up to its last programmed byte, and UICR if anything in it is programmed."""
    blocks = [(0, bytes(store.flash[: store.used()]))]
    if store.uicr.strip(b"\xff"):
        blocks.append((platforms.chip_table().area("uicr").origin, bytes(store.uicr)))
    return blocks
