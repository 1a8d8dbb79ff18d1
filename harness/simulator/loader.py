"""Placing an image into the chip's memory, and refusing one that cannot be meant for it."""

from __future__ import annotations

from dataclasses import dataclass

from harness.elf import Firmware, Segment
from harness.errors import BadElf
from harness.simulator.memorymap import MemoryMap

_HINT = "is it linked for the nRF9160 (flash at 0, RAM at 0x20000000)?"


@dataclass(frozen=True)
class Image:
    """What goes where, and the vector table that the processor starts from."""

    parts: tuple[tuple[int, bytes], ...]
    vectors: int
    stack: int
    entry: int


def load(firmware: Firmware, memory_map: MemoryMap) -> Image:
    """Check ``firmware`` against the memory map.

    Raises :class:`BadElf` for a segment outside every memory, for segments that overlap, and for a
    vector table that the processor could not start from.
    """
    parts = sorted(
        (segment.load_address, segment.data) for segment in firmware.segments if segment.data
    )
    if not parts:
        raise BadElf(f"{firmware.path} has nothing to load: all of its segments are empty")
    end, previous = 0, 0
    for address, data in parts:
        if not any(area.holds(address, len(data)) for area in memory_map.areas):
            raise BadElf(
                f"{firmware.path}: {len(data):,} bytes at 0x{address:08x} lie outside every memory"
                f" of the {memory_map.name}",
                hint=_HINT,
            )
        if address < end:
            raise BadElf(
                f"{firmware.path}: the segments at 0x{previous:08x} and 0x{address:08x} overlap"
            )
        end, previous = address + len(data), address
    _check_running(firmware.segments, memory_map, firmware)
    return _vectors(firmware, tuple(parts), memory_map)


def _check_running(
    segments: tuple[Segment, ...], memory_map: MemoryMap, firmware: Firmware
) -> None:
    for segment in segments:
        if not any(area.holds(segment.address, segment.size) for area in memory_map.areas):
            raise BadElf(
                f"{firmware.path}: {segment.size:,} bytes at 0x{segment.address:08x} lie outside"
                f" every memory of the {memory_map.name}",
                hint=_HINT,
            )


def _vectors(
    firmware: Firmware, parts: tuple[tuple[int, bytes], ...], memory_map: MemoryMap
) -> Image:
    flash, ram = memory_map.area("flash"), memory_map.area("ram")
    first = next(((a, d) for a, d in parts if flash.holds(a) and len(d) >= 8), None)
    if first is None:
        raise BadElf(f"{firmware.path} puts no vector table into flash", hint=_HINT)
    address, data = first
    stack = int.from_bytes(data[0:4], "little")
    entry = int.from_bytes(data[4:8], "little")
    if not ram.origin < stack <= ram.end:
        raise BadElf(
            f"{firmware.path}: the vector table at 0x{address:08x} starts with 0x{stack:08x},"
            " which is no stack in RAM",
            hint=_HINT,
        )
    code = any(a <= entry & ~1 < a + len(d) and flash.holds(a) for a, d in parts)
    if not entry & 1 or not code:
        raise BadElf(
            f"{firmware.path}: the reset vector is 0x{entry:08x}, which is no Thumb code in flash",
            hint=_HINT,
        )
    return Image(parts, address, stack, entry)
