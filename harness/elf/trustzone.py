"""The security state that an image is built for, derived from the image."""

from __future__ import annotations

import struct

from harness.base import platforms
from harness.elf.image import Image

#: SG (Armv8-M ARM, C2.4.179), the first instruction of a secure gateway veneer; B.W follows.
_SG = bytes.fromhex("7fe97fe9")
_VENEERS = ".gnu.sgstubs"


def first_gateway(image: Image) -> int | None:
    """The address of the first loaded secure gateway veneer; None if there is none."""
    addresses = [
        segment.load_address + offset
        for segment in image.loaded
        if (offset := _veneer(segment.data, segment.load_address)) is not None
    ]
    return min(addresses, default=None)


def is_non_secure(image: Image) -> bool:
    """True for an image that expects secure firmware below it.

    The Kconfig of a Zephyr image says so. Any other image is secure if it has gateways, non-secure
    if it calls another image's (absolute functions of an import library). With neither, its address
    in the board's partitions decides.
    """
    if any(segment.data and segment.load_address == 0 for segment in image.loaded):
        return False  # the core comes out of reset in the secure state
    config = [name for name in image.absolutes if name.startswith("CONFIG_")]
    if config:
        return bool(image.absolutes.get("CONFIG_TRUSTED_EXECUTION_NONSECURE"))
    if first_gateway(image) is not None or any(s.name == _VENEERS for s in image.sections):
        return False
    if any(s.kind == "func" and s.section == "SHN_ABS" for s in image.symbols):
        return True
    stored = [segment.load_address for segment in image.loaded if segment.data]
    return min(stored, default=0) >= platforms.board_with(image.chip.key).partitions.nonsecure


def side(image: Image) -> str:
    """``"secure"`` or ``"non-secure"``: the state of ``image`` without the images beside it."""
    return "non-secure" if is_non_secure(image.alone) else "secure"


def _veneer(data: bytes, address: int) -> int | None:
    """The offset of the first veneer in ``data``, which is loaded to ``address``."""
    offset = data.find(_SG)
    while offset >= 0:
        if not (address + offset) & 3 and offset + 8 <= len(data):
            first, second = struct.unpack_from("<2H", data, offset + 4)
            if first & 0xF800 == 0xF000 and second & 0xD000 == 0x9000:
                return offset
        offset = data.find(_SG, offset + 1)
    return None
