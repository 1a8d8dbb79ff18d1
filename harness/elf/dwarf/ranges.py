"""DWARF range lists: the addresses of an entry whose code is not contiguous.

Sources: DWARF 5, section 7.25, for ``.debug_rnglists``; DWARF 4, section 7.23, for
``.debug_ranges``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from harness.elf.dwarf.leb import uleb

Range = tuple[int, int]  # the first address, and the one after the last

_BASE = 0xFFFF_FFFF  # .debug_ranges: the next word is a new base address
#: Kinds of entries of .debug_rnglists (DW_RLE_*).
_END, _BASE_INDEX, _INDICES, _INDEX_LENGTH, _OFFSETS, _BASE_ADDRESS, _ADDRESSES, _LENGTH = range(8)


def ranges_4(data: bytes, at: int, base: int) -> Iterator[Range]:
    """The list at offset ``at`` of ``.debug_ranges``; raises one of GARBLED for a broken one."""
    while True:
        first, last = _word(data, at), _word(data, at + 4)
        at += 8
        if not first and not last:
            return
        if first == _BASE:
            base = last
        else:
            yield base + first, base + last


def ranges_5(data: bytes, at: int, base: int, indexed: Callable[[int], int]) -> Iterator[Range]:
    """The list at offset ``at`` of ``.debug_rnglists``; ``indexed`` looks into ``.debug_addr``."""
    while (kind := data[at]) != _END:
        at += 1
        if kind == _BASE_ADDRESS:
            base, at = _word(data, at), at + 4
        elif kind == _ADDRESSES:
            yield _word(data, at), _word(data, at + 4)
            at += 8
        elif kind == _LENGTH:
            first = _word(data, at)
            length, at = uleb(data, at + 4)
            yield first, first + length
        elif kind == _BASE_INDEX:
            index, at = uleb(data, at)
            base = indexed(index)
        else:
            first, at = uleb(data, at)
            second, at = uleb(data, at)
            yield _range(kind, first, second, base, indexed)


def _range(kind: int, first: int, second: int, base: int, indexed: Callable[[int], int]) -> Range:
    if kind == _OFFSETS:
        return base + first, base + second
    if kind == _INDICES:
        return indexed(first), indexed(second)
    if kind == _INDEX_LENGTH:
        start = indexed(first)
        return start, start + second
    raise ValueError(f"range list entry {kind}")


def _word(data: bytes, at: int) -> int:
    if at < 0 or at + 4 > len(data):
        raise ValueError("a range list behind the section's end")
    return int.from_bytes(data[at : at + 4], "little")
