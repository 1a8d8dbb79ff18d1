"""The vector table that an image is started from.

The core boots from the start of flash. An image elsewhere is started by a bootloader or by secure
firmware; its table is found by a symbol, by MCUboot's header, or by a scan for a table that the
core would boot.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from harness.base.errors import BadElf
from harness.base.findings import Finding, Kind
from harness.elf import trustzone
from harness.elf.image import Image

#: Symbols of the vector table: Zephyr's, CMSIS's (TF-M), Zephyr's before 2.7.
_SYMBOLS = ("_vector_start", "__Vectors", "_vector_table")
_SECTION = ".TFM_VECTORS"
#: Alignment of a vector table, in bytes: VTOR has bits 31..7 (Armv8-M ARM, D1.2.264).
_ALIGNMENT = 0x80
#: MCUboot, "Image Format": magic, load address, header size.
_MCUBOOT = struct.Struct("<IIH")
_MCUBOOT_MAGIC = 0x96F3_B83D
_HEADER = "MCUboot's header"
#: Subjects of the notes about images that something else starts or loads.
_SUBJECTS = ("bootloader", "non-secure image", "initial values")
_LEAST_ROOM = 0x20  # bytes of a header
#: Kconfig of a Zephyr image: where its partition begins, and its table in there.
_OFFSETS = ("FLASH_LOAD_OFFSET", "ROM_START_OFFSET")


@dataclass(frozen=True)
class Vectors:
    """A vector table, its first two words, and how it was found.

    ``in_ram`` describes initial values that the image stores in RAM; "" for none.
    """

    address: int
    stack: int
    entry: int
    reason: str
    in_ram: str = ""

    def notes(self, *, non_secure: bool) -> list[Finding]:
        """Notes, with the reason, about what the chip does not do at its reset."""
        return [*self._of_start(non_secure=non_secure), *self._of_values()]

    def _of_values(self) -> list[Finding]:
        if not self.in_ram:
            return []
        text = f"{self.in_ram} are loaded, as a debugger does: the chip has none at power-on"
        return [Finding(Kind.APPROXIMATION, text, _SUBJECTS[2])]

    def _of_start(self, *, non_secure: bool) -> list[Finding]:
        if not self.address:
            return []
        missing, subject = (
            ("the secure firmware that it expects below it", _SUBJECTS[1])
            if non_secure
            else ("what boots it on the chip", _SUBJECTS[0])
        )
        text = (
            f"started at its own vector table at 0x{self.address:x} ({self.reason}),"
            f" without {missing}"
        )
        return [Finding(Kind.APPROXIMATION, text, subject)]


def is_start_note(finding: Finding) -> bool:
    """Whether ``finding`` is one of :meth:`Vectors.notes`: every report has these."""
    return finding.kind is Kind.APPROXIMATION and finding.subject in _SUBJECTS


def find(image: Image, *, anywhere: bool = False) -> Vectors:
    """The vector table of ``image`` in its chip's flash.

    It is where the chip looks, at the start of flash, or where a bootloader or secure firmware
    starts the image (:func:`_is_of_partition`); with ``anywhere`` it may lie elsewhere, too, and
    initial values may be stored in RAM.

    Raises :class:`BadElf` if there is none, or if the core could not boot from it.
    """
    flash, ram = (image.chip.area(name).addresses for name in ("flash", "ram"))
    hint = image.chip.link_hint
    address, reason = _address(image, flash, ram)
    if address is None:
        raise BadElf(f"{image.path} puts no vector table into flash", hint=hint)
    words = _words(image, address)
    wrong = "lies outside the image" if words is None else _boot_error(image, words, flash, ram)
    if wrong or words is None:
        raise BadElf(f"{image.path}: the vector table at 0x{address:08x} {wrong}", hint=hint)
    if not anywhere and address != flash.start and not _is_of_partition(image, address, reason):
        raise BadElf(
            f"{image.path} has no vector table at 0x{flash.start:08x}, where the {image.chip.name}"
            f" looks; it has one at 0x{address:x} ({reason})",
            hint='link it for the start of flash, or start it there: start = "elf" (--start elf)',
        )
    in_ram = _stored_in(ram, image)
    if in_ram and not anywhere:
        raise BadElf(
            f"{image.path} stores {in_ram}, in RAM, which holds nothing at power-on",
            hint="place them in flash and copy them at start-up (`> RAM AT > FLASH`); for an image"
            ' that a debugger loads into RAM: start = "elf" (--start elf)',
        )
    return Vectors(address, *words, reason, in_ram)


def _stored_in(ram: range, image: Image) -> str:
    """The first bytes that the image would have to find in RAM at power-on; "" for none."""
    for segment in image.loaded:
        if segment.data and (at := segment.load_address) in ram:
            name = next(
                (one.name for one in image.sections if one.loaded and one.address == at), ""
            )
            return f"{len(segment.data):,} bytes of {name or 'initial values'} at 0x{at:08x}"
    return ""


def _is_of_partition(image: Image, address: int, reason: str) -> bool:
    """Whether other firmware is known to start the image whose table is at ``address``.

    It is linked for the non-secure world, is TF-M, has MCUboot's header, or its Kconfig names the
    offset for which it is linked.
    """
    if reason.startswith((_HEADER, f"section {_SECTION}")) or trustzone.is_non_secure(image):
        return True
    if _has_header_room(image, address):
        return True
    offsets = [image.absolutes.get(f"CONFIG_{name}", 0) for name in _OFFSETS]
    return bool(offsets[0]) and sum(offsets) == address - image.chip.area("flash").origin


def _has_header_room(image: Image, address: int) -> bool:
    """Whether the table lies behind empty room for MCUboot's header, at the start of a page."""
    page, room = image.chip.flash.page, b""
    for segment in image.loaded:
        if segment.load_address <= address < segment.load_address + len(segment.data):
            room = segment.data[: address - segment.load_address]
            begins_page = segment.load_address and not segment.load_address % page
            return bool(begins_page and len(room) >= _LEAST_ROOM and not room.strip(b"\0\xff"))
    return False


def named(image: Image) -> tuple[int, str] | None:
    """The table's address from a symbol or TF-M's section, and the source; None without both."""
    for name in _SYMBOLS:
        symbol = image.symbol(name)
        if symbol is not None:
            return symbol.address, f"symbol {name}"
    for section in image.sections:
        if section.name == _SECTION:
            return section.address, f"section {_SECTION}"
    return None


def _address(image: Image, flash: range, ram: range) -> tuple[int | None, str]:
    if _words(image, flash.start) is not None:
        return flash.start, "the start of flash"
    table = named(image) or _after_header(image, flash)
    if table is not None:
        return table
    for address in _candidates(image, flash):
        words = _words(image, address)
        if words is not None and not _boot_error(image, words, flash, ram):
            return address, "the first table that the core would boot"
    # No table boots: the error names the first address.
    return next(_candidates(image, flash), None), ""


def _after_header(image: Image, flash: range) -> tuple[int, str] | None:
    for segment in sorted(image.loaded, key=lambda segment: segment.load_address):
        address, data = segment.load_address, segment.data
        if address in flash and len(data) >= _MCUBOOT.size:
            magic, _, size = _MCUBOOT.unpack_from(data)
            if magic == _MCUBOOT_MAGIC:
                return address + size, f"{_HEADER} at 0x{address:x}"
    return None


def _candidates(image: Image, flash: range) -> Iterator[int]:
    for segment in sorted(image.loaded, key=lambda segment: segment.load_address):
        start, end = segment.load_address, segment.load_address + len(segment.data)
        if start in flash:
            yield from range(-(-start // _ALIGNMENT) * _ALIGNMENT, end - 7, _ALIGNMENT)


def _words(image: Image, address: int) -> tuple[int, int] | None:
    for segment in image.loaded:
        offset = address - segment.load_address
        if 0 <= offset <= len(segment.data) - 8:
            stack, entry = struct.unpack_from("<2I", segment.data, offset)
            return stack, entry
    return None


def _boot_error(image: Image, words: tuple[int, int], flash: range, ram: range) -> str:
    """The reason why the core could not boot from a table; "" if it could."""
    stack, entry = words
    if not ram.start < stack <= ram.stop or stack & 3:
        return f"starts with 0x{stack:08x}, which is not a stack in RAM"
    place = entry & ~1
    code = place in flash and any(
        0 <= place - segment.load_address < len(segment.data) for segment in image.loaded
    )
    if not entry & 1 or not code:
        return f"has the reset vector 0x{entry:08x}, which is not Thumb code in flash"
    return ""
