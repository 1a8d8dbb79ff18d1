"""Memory at power-on: an image for the chip, FICR and UICR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from harness.base.errors import BadElf
from harness.base.platforms import ChipTable
from harness.base.power_on import pattern
from harness.elf import Image, Segment, trustzone, vectors
from harness.elf.main_stack import main_stack, uses_limits
from harness.elf.vectors import Vectors
from harness.simulator.engine import Store

#: Bytes of the smallest variable that may be a stack: two exception frames.
_SMALLEST_STACK = 64


@dataclass(frozen=True)
class LoadedImage:
    """The loaded segments, and the vector table from which the processor starts."""

    parts: tuple[tuple[int, bytes], ...]  # address and content, sorted
    start: Vectors
    non_secure: bool
    stacks: tuple[tuple[int, int], ...] = ()  # memory of stacks that are watched, begin and top

    @property
    def vectors(self) -> int:
        """The address of the vector table."""
        return self.start.address


def load(image: Image, memory_map: ChipTable, *, anywhere: bool = False) -> LoadedImage:
    """Check ``image``, and the images loaded with it, against the memory map.

    ``anywhere``: its vector table need not be where the chip looks. Raises :class:`BadElf` for a
    segment outside every memory, for overlapping segments, and for a
    vector table from which the processor cannot start.
    """
    segments = image.loaded
    parts = sorted((segment.load_address, segment.data) for segment in segments if segment.data)
    if not parts:
        raise BadElf(f"{image.path} has nothing to load: all of its segments are empty")
    for address, data in parts:
        if not any(area.holds(address, len(data)) for area in memory_map.areas):
            raise _outside(image, memory_map, address, len(data))
    for (before, data), (address, _) in pairwise(parts):
        if address < before + len(data):
            raise BadElf(
                f"{image.path}: the segments at 0x{before:08x} and 0x{address:08x} overlap"
            )
    _check_running(segments, memory_map, image)
    start = vectors.find(image, anywhere=anywhere)
    non_secure = trustzone.is_non_secure(image)
    return LoadedImage(tuple(parts), start, non_secure, () if non_secure else _watched(image))


def _watched(image: Image) -> tuple[tuple[int, int], ...]:
    """What may be a stack, if firmware sets no limits itself: variables, and the main stack."""
    if image.beside or uses_limits(image):
        return ()
    ram, main = image.chip.area("ram"), main_stack(image)
    found = {
        symbol.address: symbol.address + symbol.size
        for symbol in image.symbols
        if symbol.kind == "object" and symbol.size >= _SMALLEST_STACK
    }
    if main is not None:
        found[main.begin] = main.top
    return tuple(
        sorted((begin, top) for begin, top in found.items() if ram.origin < begin < top <= ram.end)
    )


def _check_running(segments: tuple[Segment, ...], memory_map: ChipTable, image: Image) -> None:
    for segment in segments:
        if not any(area.holds(segment.address, segment.size) for area in memory_map.areas):
            raise _outside(image, memory_map, segment.address, segment.size)


def _outside(image: Image, chip: ChipTable, address: int, size: int) -> BadElf:
    """The error of bytes that no memory holds: of one that is too small, or of another chip."""
    area = next((area for area in chip.areas if area.holds(address, 1)), None)
    if area is None:
        return BadElf(
            f"{image.path}: {size:,} bytes at 0x{address:08x} lie outside every memory of the"
            f" {chip.name}",
            hint=chip.link_hint,
        )
    return BadElf(
        f"{image.path} does not fit: {size:,} bytes at 0x{address:08x} end"
        f" {address + size - area.end:,} B behind the {area.name.upper()} of the {chip.name}",
        hint=f"`tflm-hil footprint {image.path}` shows what takes the space",
    )


def place(
    loaded: LoadedImage,
    stores: Mapping[str, Store],
    chip: ChipTable,
    *,
    booted: bool,
    power_on: int,
) -> None:
    """Fill the ``stores``, by name: erased flash, FICR and UICR of the factory, and the image.

    RAM has the pattern of the seed ``power_on`` where the image loads nothing. With ``booted`` UICR
    has the settings of the crystal that a first boot writes.
    """
    words: dict[str, Mapping[int, int]] = {
        "flash": {},
        "ficr": chip.ficr,
        "uicr": chip.uicr if booted else {},
    }
    for name, by_offset in words.items():
        view = stores[name].view
        stores[name].erase()
        for offset, word in by_offset.items():
            view[offset : offset + 4] = word.to_bytes(4, "little")
    ram = stores["ram"]
    ram.view[:] = pattern(power_on, ram.area.origin, ram.area.size)
    for address, data in loaded.parts:
        store = next(one for one in stores.values() if one.area.holds(address, len(data)))
        store.slice(address, len(data))[:] = data
