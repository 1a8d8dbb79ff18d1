"""Which security state an image is for, as the image itself shows it."""

from __future__ import annotations

import struct

from harness.base import platforms
from harness.elf.image import Image

#: SG (Armv8-M ARM, C2.4.179), and B.W behind it, as GNU ld and armlink write a veneer.
_SG = bytes.fromhex("7fe97fe9")
_VENEERS = ".gnu.sgstubs"


def gateways(image: Image) -> int | None:
    """The address of the first secure gateway veneer that is loaded, or None."""
    addresses = [
        segment.load_address + offset
        for segment in image.loaded
        if (offset := _veneer(segment.data, segment.load_address)) is not None
    ]
    return min(addresses, default=None)


def is_non_secure(image: Image) -> bool:
    """True for an image that expects secure firmware below it.

    A Zephyr image has it in its Kconfig. Any other image is secure if it has gateways, and
    non-secure if it calls gateways of another image (absolute functions of an import library). If
    it has neither, the board's partitions decide.
    """
    if any(segment.data and segment.load_address == 0 for segment in image.loaded):
        return False  # the core comes out of reset in the secure state
    config = [name for name in image.absolutes if name.startswith("CONFIG_")]
    if config:
        return bool(image.absolutes.get("CONFIG_TRUSTED_EXECUTION_NONSECURE"))
    if gateways(image) is not None or any(s.name == _VENEERS for s in image.sections):
        return False
    if any(s.kind == "func" and s.section == "SHN_ABS" for s in image.symbols):
        return True
    stored = [segment.load_address for segment in image.loaded if segment.data]
    return min(stored, default=0) >= platforms.board_with(image.chip.key).partitions.nonsecure


def side(image: Image) -> str:
    """``"secure"`` or ``"non-secure"``: the world that an image by itself is for."""
    return "non-secure" if is_non_secure(image.alone) else "secure"


def _veneer(data: bytes, address: int) -> int | None:
    offset = data.find(_SG)
    while offset >= 0:
        if not (address + offset) & 3 and offset + 8 <= len(data):
            first, second = struct.unpack_from("<2H", data, offset + 4)
            if first & 0xF800 == 0xF000 and second & 0xD000 == 0x9000:
                return offset
        offset = data.find(_SG, offset + 1)
    return None
