"""The enabled regions of an MPU (Armv8-M ARM, D1.2.173 to D1.2.182)."""

from __future__ import annotations

from harness.base.core_state import MpuRegion
from harness.simulator._native import Mpu

# Offsets from 0xE000_ED00.
_TYPE, _RNR, _RBAR, _RLAR = 0x90, 0x98, 0x9C, 0xA0
_ENABLE = 1
_LINE = 31  # regions begin and end at multiples of 32 bytes
# Of RBAR.
_EXECUTE_NEVER, _UNPRIVILEGED, _READ_ONLY = 1 << 0, 1 << 1, 1 << 2


def enabled_regions(mpu: Mpu) -> tuple[MpuRegion, ...]:
    """The enabled regions by number; () if the MPU is off. The registers are as before."""
    if not mpu.ctrl & _ENABLE:
        return ()
    before = mpu.save()
    found = []
    for number in range(mpu.read(_TYPE) >> 8 & 0xFF):
        mpu.write(_RNR, number)
        base, limit = mpu.read(_RBAR), mpu.read(_RLAR)
        if limit & _ENABLE:
            found.append(region_of(number, base, limit))
    mpu.load(before)
    return tuple(found)


def region_of(number: int, base: int, limit: int) -> MpuRegion:
    """The region whose MPU_RBAR and MPU_RLAR are ``base`` and ``limit``."""
    return MpuRegion(
        number,
        base & ~_LINE,
        limit | _LINE,
        read_only=bool(base & _READ_ONLY),
        privileged=not base & _UNPRIVILEGED,
        never_executed=bool(base & _EXECUTE_NEVER),
    )
