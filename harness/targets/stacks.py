"""How much of a stack was used, by the bytes that nothing has written.

A stack grows down. Bytes are unwritten that still hold the image's own paint (one value), or the
content of RAM at power-on, which the target knows by its seed. If the deepest words of a stack
equal these, its use is underestimated by them.
"""

from __future__ import annotations

import numpy as np

from harness.base.power_on import pattern

#: Fewer unwritten bytes at the end of a stack may be a coincidence.
_LEAST_UNUSED = 16
#: Unwritten bytes in a row that separate a stack from what lies below it in the same memory.
_GAP = 64


def used_bytes(memory: bytes, begin: int, seed: int | None) -> int | None:
    """The used bytes of the stack ``memory`` at ``begin``; None if it may have been used up.

    ``seed`` is that of RAM at power-on, None if it is not known.
    """
    painted = len(memory) - len(memory.lstrip(memory[:1]))
    unused = max(painted, _first_changed(_unwritten(memory, begin, seed)))
    return len(memory) - unused if unused >= _LEAST_UNUSED else None


def used_above_gap(memory: bytes, begin: int, seed: int | None) -> int | None:
    """The same for a stack that shares ``memory`` with a heap below it.

    The gap between both is the highest row of unwritten bytes; None if there is none.
    """
    unwritten = _unwritten(memory, begin, seed)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], unwritten, [False])).astype(np.int8)))
    ends = [int(end) for start, end in edges.reshape(-1, 2) if end - start >= _GAP]
    return len(memory) - max(ends) if ends else used_bytes(memory, begin, None)


def _unwritten(memory: bytes, begin: int, seed: int | None) -> np.ndarray:
    """Whether each byte has its content of power-on; all False without ``seed``."""
    if seed is None:
        return np.zeros(len(memory), np.bool_)
    skip = begin % 4
    size = (skip + len(memory) + 3) // 4 * 4
    initial = pattern(seed, begin - skip, size)[skip : skip + len(memory)]
    return np.equal(np.frombuffer(memory, np.uint8), np.frombuffer(initial, np.uint8))


def _first_changed(unwritten: np.ndarray) -> int:
    return len(unwritten) if unwritten.all() else int(np.argmin(unwritten))
