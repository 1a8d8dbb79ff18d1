"""The content of RAM and registers at power-on, which the architecture leaves undefined.

Every target fills them with the same pattern of a seed, so that firmware that reads memory before
it writes it does not find zeros by chance.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from harness.base.errors import UsageError
from harness.base.text import short

#: The seed of a run that names none.
DEFAULT_SEED = 1
#: In place of a seed: all zeros, which no chip promises.
ZERO = 0
#: The user's word for :data:`ZERO`.
ZERO_WORD = "zero"
#: The user's word for two runs, with :data:`BOTH_SEEDS`, whose results must be equal.
BOTH_WORD = "both"
BOTH_SEEDS = (1, 2)
LARGEST_SEED = (1 << 32) - 1
#: Addresses, outside of any memory, whose patterns registers have: r0 to r12, the flags of APSR,
#: the process stack pointer, S0 to S31, FPSCR.
R0, APSR, PSP, S0, FPSCR = 0xFFFF_F000, 0xFFFF_F034, 0xFFFF_F038, 0xFFFF_F100, 0xFFFF_F180

#: What APSR holds of its word: N, Z, C, V, Q, GE; FPSCR: flags, AHP, DN, FZ, RMode, exceptions.
FLAGS, FP_STATUS = 0xF80F_0000, 0xF7C0_009F


@lru_cache(maxsize=16)
def pattern(seed: int, address: int, size: int) -> bytes:
    """The ``size`` bytes at ``address`` (both multiples of 4), none of them zero.

    Each word is murmur3's finalizer of ``address / 4`` times one odd constant plus ``seed`` times
    another; zero bytes become one. With :data:`ZERO` all bytes are zero.
    """
    import numpy as np  # noqa: PLC0415 - the names of seeds do not need it

    if seed == ZERO:
        return bytes(size)
    words = np.arange(address // 4, (address + size) // 4, dtype=np.uint32)
    words *= np.uint32(0x9E37_79B1)
    words += np.uint32(seed * 0x85EB_CA77 & 0xFFFF_FFFF)
    for shift, factor in ((16, 0x85EB_CA6B), (13, 0xC2B2_AE35)):
        words ^= words >> np.uint32(shift)
        words *= np.uint32(factor)
    words ^= words >> np.uint32(16)
    return np.maximum(words.astype("<u4").view(np.uint8), 1).tobytes()


def words(seed: int, address: int, count: int) -> tuple[int, ...]:
    """The pattern as ``count`` words from ``address`` on."""
    return struct.unpack(f"<{count}I", pattern(seed, address, 4 * count))


def seed_of(text: str) -> int:
    """The seed that ``text`` names: a number, or the word for :data:`ZERO`.

    Raises :class:`UsageError` for anything else.
    """
    if text == ZERO_WORD:
        return ZERO
    if text.isascii() and text.isdecimal() and 1 <= int(text[:20]) <= LARGEST_SEED:
        return int(text)
    raise UsageError(
        f"power-on: {short(text)} is not a seed",
        hint=f"a number from 1 to {LARGEST_SEED:,}, {ZERO_WORD}, or {BOTH_WORD} for a case",
    )


def name_of(seed: int) -> str:
    """The text that :func:`seed_of` reads as ``seed``."""
    return str(seed) if seed else ZERO_WORD
