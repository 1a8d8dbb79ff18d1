"""DWARF range lists: the addresses of an entry that is not in one piece.

Sources: DWARF 5, section 7.25, for ``.debug_rnglists``; DWARF 4, section 7.23, for
``.debug_ranges``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from harness.elf.dwarf.leb import uleb

Range = tuple[int, int]  # the first address, and the one behind the last

_BASE = 0xFFFF_FFFF
_END, _BASE_INDEX, _INDICES, _INDEX_LENGTH, _OFFSETS, _BASE_ADDRESS, _ADDRESSES, _LENGTH = range(8)


def ranges_4(data: bytes, at: int, base: int) -> Iterator[Range]:
    """The list at offset ``at`` of ``.debug_ranges``; one of GARBLED is raised for a broken one."""
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
            one, at = uleb(data, at)
            other, at = uleb(data, at)
            yield _pair(kind, one, other, base, indexed)


def _pair(kind: int, one: int, other: int, base: int, indexed: Callable[[int], int]) -> Range:
    if kind == _OFFSETS:
        return base + one, base + other
    if kind == _INDICES:
        return indexed(one), indexed(other)
    if kind == _INDEX_LENGTH:
        first = indexed(one)
        return first, first + other
    raise ValueError(f"range list entry {kind}")


def _word(data: bytes, at: int) -> int:
    if at < 0 or at + 4 > len(data):
        raise ValueError("a range list behind the section's end")
    return int.from_bytes(data[at : at + 4], "little")
