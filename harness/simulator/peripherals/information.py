"""FICR and UICR as the factory leaves them (nRF9160 PS, "FICR", "UICR")."""

from __future__ import annotations

HFXOSRC, HFXOCNT = 0x1C, 0x20

#: FICR words that are not 0xFFFF_FFFF. Those from 0x300 on (the trim values) must be: of each pair
#: that is not, SystemInit writes the second word to the address in the first.
_FICR = {
    0x204: 0x5117_9160,  # INFO.DEVICEID[0], this simulator's own
    0x208: 0x0000_0001,  # INFO.DEVICEID[1]
    0x20C: 0x0000_9160,  # INFO.PART
    0x210: 0x4141_4243,  # INFO.VARIANT
    0x214: 0x0000_2000,  # INFO.PACKAGE
    0x218: 0x0000_0100,  # INFO.RAM in KB
    0x21C: 0x0000_0400,  # INFO.FLASH in KB
    0x220: 0x0000_1000,  # INFO.CODEPAGESIZE
    0x224: 0x0000_0100,  # INFO.CODESIZE in pages
    0x228: 0x0000_0000,  # INFO.DEVICETYPE
}


def ficr(size: int) -> bytes:
    """The contents of FICR, ``size`` bytes."""
    return _words(size, _FICR)


def uicr(size: int, *, booted: bool = True) -> bytes:
    """``size`` bytes of UICR: erased, or after a first boot (HFXO settings written)."""
    return _words(size, {HFXOSRC: 0xFFFF_FFFE, HFXOCNT: 0x20} if booted else {})


def _words(size: int, words: dict[int, int]) -> bytes:
    data = bytearray(b"\xff" * size)
    for offset, value in words.items():
        data[offset : offset + 4] = value.to_bytes(4, "little")
    return bytes(data)
