"""LEB128, the variable-length integers of DWARF (version 5, section 7.6)."""

from __future__ import annotations

import struct

#: Exceptions of reading garbled debug information; readers catch them for each unit.
GARBLED = (IndexError, ValueError, KeyError, struct.error, OverflowError)

_LONGEST = 10  # bytes of a 64-bit value


def uleb(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned LEB128 at ``at``: its value and the offset after it."""
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift = byte & 0x7F, 7
    for index in range(at + 1, at + _LONGEST):
        byte = data[index]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, index + 1
        shift += 7
    raise ValueError("a LEB128 of more than 64 bits")


def sleb(data: bytes, at: int) -> tuple[int, int]:
    """A signed LEB128 at ``at``: its value and the offset after it."""
    value, end = uleb(data, at)
    bits = 7 * (end - at)
    return (value - (1 << bits) if data[end - 1] & 0x40 else value), end
