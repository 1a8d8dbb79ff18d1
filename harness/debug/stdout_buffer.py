"""Text that newlib's stdout still holds: printed by the firmware, and not yet written.

A stream that is not a terminal's is written when its buffer is full or flushed; newlib's stdout is
written at each line feed if the system calls say that it is a terminal.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from harness.elf import Image

#: newlib's struct _reent: _errno, then the streams; struct __sFILE: _p, _r, _w, _flags, _file,
#: _bf._base, _bf._size.
_REENT, _STDOUT = "_impure_ptr", 8
_FILE = struct.Struct("<IiihhIi")
_WRITES = 8  # __SWR of _flags
#: Bytes of the largest buffer that is read.
_LARGEST = 1 << 16

Read = Callable[[int, int], bytes | None]


def unwritten(image: Image, read: Read) -> bytes:
    """What stdout's buffer holds; empty without newlib's stdout.

    ``read`` returns ``size`` bytes at an address, or None where no memory is.
    """
    pointer = image.symbol(_REENT)
    if pointer is None:
        return b""
    reent = _word(read, pointer.address)
    stream = reent and _word(read, reent + _STDOUT)
    header = read(stream, _FILE.size) if stream else None
    if header is None:
        return b""
    end, _, _, flags, _, begin, size = _FILE.unpack(header)
    if not flags & _WRITES or not begin or not 0 < end - begin <= min(size, _LARGEST):
        return b""
    return read(begin, end - begin) or b""


def _word(read: Read, address: int) -> int:
    data = read(address, 4)
    return int.from_bytes(data, "little") if data else 0
