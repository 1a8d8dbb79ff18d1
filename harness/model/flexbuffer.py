"""Bounds-checked reading of the FlexBuffer map with a custom operator's options.

Source of the format: the FlatBuffers documentation ("FlexBuffers"). Offsets point backward, and the
last two bytes are the type and width of the root.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

#: FlexBuffer types.
_INT, _UINT, _FLOAT, _INDIRECT_INT, _INDIRECT_UINT, _INDIRECT_FLOAT, _MAP, _BOOL = (
    1, 2, 3, 6, 7, 8, 9, 26,
)  # fmt: skip
#: Width in bytes -> format of :mod:`struct`.
_SIGNED = {1: "<b", 2: "<h", 4: "<i", 8: "<q"}
_UNSIGNED = {1: "<B", 2: "<H", 4: "<I", 8: "<Q"}
_REAL = {4: "<f", 8: "<d"}
#: Most entries of a map; a larger count is an error.
_MAX_ENTRIES = 256


class NoFlexMap(Exception):
    """The bytes are not a FlexBuffer map."""


def scalars(data: bytes) -> Mapping[str, int | float]:
    """The numbers and booleans (0 or 1) of a map by name, without other values.

    Raises NoFlexMap if ``data`` is not a FlexBuffer map.
    """
    try:
        return _map(data)
    except (struct.error, IndexError, ValueError, KeyError) as error:
        raise NoFlexMap(str(error)) from None


def _number(data: bytes, position: int, width: int, formats: Mapping[int, str]) -> int | float:
    if position < 0:
        raise ValueError("an offset leaves the buffer")
    value: int | float
    (value,) = struct.unpack_from(formats[width], data, position)
    return value


def _unsigned(data: bytes, position: int, width: int) -> int:
    return int(_number(data, position, width, _UNSIGNED))


def _target(data: bytes, position: int, width: int) -> int:
    """The target of the offset at ``position``."""
    target = position - _unsigned(data, position, width)
    if target < 0:
        raise ValueError("an offset leaves the buffer")
    return target


def _map(data: bytes) -> dict[str, int | float]:
    root_width, packed = data[-1], data[-2]
    if packed >> 2 != _MAP:
        raise ValueError("its root is not a map")
    values, width = _target(data, len(data) - 2 - root_width, root_width), 1 << (packed & 3)
    count = _unsigned(data, values - width, width)
    keys = _target(data, values - 3 * width, width)
    key_width = _unsigned(data, values - 2 * width, width)
    if count > _MAX_ENTRIES:
        raise ValueError(f"it has {count} entries")
    options: dict[str, int | float] = {}
    for index in range(count):
        start = _target(data, keys + index * key_width, key_width)
        name = data[start : data.index(0, start)].decode("utf-8", "backslashreplace")
        value = _value(data, values + index * width, width, data[values + count * width + index])
        if value is not None:
            options[name] = value
    return options


def _value(data: bytes, position: int, width: int, packed: int) -> int | float | None:
    """A value of packed type ``packed``; None if it is not a number or boolean."""
    kind = packed >> 2
    if kind in (_INDIRECT_INT, _INDIRECT_UINT, _INDIRECT_FLOAT):
        position, width = _target(data, position, width), 1 << (packed & 3)
        kind -= _INDIRECT_INT - _INT
    formats = {_INT: _SIGNED, _UINT: _UNSIGNED, _BOOL: _UNSIGNED, _FLOAT: _REAL}
    return _number(data, position, width, formats[kind]) if kind in formats else None
