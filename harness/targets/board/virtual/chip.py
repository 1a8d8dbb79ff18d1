"""The chip behind a virtual board's serial port: flash, and what runs it."""

from __future__ import annotations

from typing import Protocol

from harness import platforms
from harness.elf.hexfile import Block

_ERASED = b"\xff"


class Store:
    """Flash and UICR: erased to ones, kept over resets and power cycles."""

    def __init__(self) -> None:
        chip = platforms.chip()
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


class Chip(Protocol):
    """Something that runs the content of a store."""

    #: True while nothing can happen until the chip is written to or reset.
    idle: bool

    def reset(self, store: Store) -> None:
        """Start again from the present content of flash."""
        ...

    def step(self, seconds: float) -> bytes:
        """Run for about ``seconds`` of wall time; returns what the UART sent."""
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
    """Prints the text in flash from address 0 on, and echoes what it is sent.

    For trying the bench without a compiler: "flash" a console log and see it printed.
    """

    def __init__(self) -> None:
        self.idle = True
        self._store = Store()
        self._pending = bytearray()

    def reset(self, store: Store) -> None:
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
