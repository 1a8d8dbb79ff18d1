"""Which side of TrustZone an image is for, told by the image itself."""

from __future__ import annotations

import struct

from harness.elf.image import Image

#: TF-M's partition for the non-secure image (nRF9160, Zephyr's and TF-M's default layout).
NON_SECURE_FLASH = 0x5_0000
#: SG (Armv8-M ARM, C2.4.179), and B.W behind it, as GNU ld and armlink write a veneer.
_SG = bytes.fromhex("7fe97fe9")
_VENEERS = ".gnu.sgstubs"


def gateways(image: Image) -> int | None:
    """The address of the first secure gateway veneer among all that is loaded; None without."""
    found = [
        segment.load_address + at
        for segment in image.loaded
        if (at := _veneer(segment.data, segment.load_address)) is not None
    ]
    return min(found, default=None)


def is_non_secure(image: Image) -> bool:
    """True for an image that expects secure firmware below it.

    Zephyr's own Kconfig says so; any other image is non-secure if it calls gateways that another
    image defines (absolute functions of an import library), secure if it has gateways. One that
    says nothing is judged by TF-M's partitions.
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
    return min(stored, default=0) >= NON_SECURE_FLASH


def side(image: Image) -> str:
    """``"secure"`` or ``"non-secure"``: the world that an image by itself is for."""
    return "non-secure" if is_non_secure(image.alone) else "secure"


def _veneer(data: bytes, address: int) -> int | None:
    at = data.find(_SG)
    while at >= 0:
        if not (address + at) & 3 and at + 8 <= len(data):
            first, second = struct.unpack_from("<2H", data, at + 4)
            if first & 0xF800 == 0xF000 and second & 0xD000 == 0x9000:
                return at
        at = data.find(_SG, at + 1)
    return None
