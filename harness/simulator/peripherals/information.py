"""FICR and UICR as the factory leaves them (nRF9160 PS, "FICR", "UICR")."""

from __future__ import annotations

from collections.abc import Mapping

HFXOSRC, HFXOCNT = 0x1C, 0x20


def ficr(size: int, words: Mapping[int, int]) -> bytes:
    """The contents of FICR, ``size`` bytes; ``words`` by offset, the others are erased."""
    return _words(size, words)


def uicr(size: int, *, booted: bool = True) -> bytes:
    """``size`` bytes of UICR: erased, or after a first boot (HFXO settings written)."""
    return _words(size, {HFXOSRC: 0xFFFF_FFFE, HFXOCNT: 0x20} if booted else {})


def _words(size: int, words: Mapping[int, int]) -> bytes:
    data = bytearray(b"\xff" * size)
    for offset, value in words.items():
        data[offset : offset + 4] = value.to_bytes(4, "little")
    return bytes(data)
