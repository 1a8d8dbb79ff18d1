"""The memory protection unit (Armv8-M ARM, B9 and D1.2, MPU_*).

What is enforced: every store to flash, to a device window and to a RAM page that a read-only
region touches (stack guards are such regions), loads and stores of exception frames, device
accesses. What is not: loads and stores of unprivileged code to other RAM, and execute-never; they
would cost a callback for every access. A guarded page costs about 0.2 us for each store to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ENABLE, HFNMIENA, PRIVDEFENA = 1, 2, 4
TYPE, CTRL, RNR, RBAR, RLAR, MAIR0, MAIR1 = 0x90, 0x94, 0x98, 0x9C, 0xA0, 0xC0, 0xC4


@dataclass(frozen=True)
class Region:
    """One enabled region, both addresses inclusive."""

    number: int
    base: int
    limit: int
    read_only: bool
    unprivileged: bool


class Mpu:
    """Sixteen regions and the questions that are asked of them."""

    def __init__(self, regions: int, guard: Callable[[int, int], None]) -> None:
        self._count = regions
        self._guard = guard
        self.reset()

    def reset(self) -> None:
        """Off, all regions disabled."""
        self.ctrl = self.number = 0
        self.bases = [0] * self._count
        self.limits = [0] * self._count
        self.attributes = [0, 0]
        self.regions: tuple[Region, ...] = ()

    @property
    def enabled(self) -> bool:
        """MPU_CTRL.ENABLE."""
        return bool(self.ctrl & ENABLE)

    def _select(self, offset: int) -> int | None:
        """Region that RBAR/RLAR and their aliases A1 to A3 at ``offset`` mean."""
        alias = (offset - RBAR) >> 3
        number = self.number if alias == 0 else (self.number & ~3) + alias
        return number if number < self._count else None

    def read(self, offset: int) -> int:
        """A register, by offset from 0xE000_ED00."""
        if offset == TYPE:
            return self._count << 8
        if offset == CTRL:
            return self.ctrl
        if offset == RNR:
            return self.number
        if offset in (MAIR0, MAIR1):
            return self.attributes[offset == MAIR1]
        number = self._select(offset)
        if number is None:
            return 0
        return (self.limits if (offset - RBAR) & 4 else self.bases)[number]

    def write(self, offset: int, value: int) -> None:
        """A register, by offset from 0xE000_ED00."""
        if offset == CTRL:
            self.ctrl = value & 7
        elif offset == RNR:
            self.number = value & 0xFF
        elif offset in (MAIR0, MAIR1):
            self.attributes[offset == MAIR1] = value
        elif offset != TYPE:
            number = self._select(offset)
            if number is not None:
                (self.limits if (offset - RBAR) & 4 else self.bases)[number] = value
        self._changed()

    def _changed(self) -> None:
        self.regions = tuple(
            Region(n, base & ~0x1F, limit | 0x1F, bool(base & 4), bool(base & 2))
            for n, (base, limit) in enumerate(zip(self.bases, self.limits, strict=True))
            if limit & 1
        )
        if self.enabled:
            for region in self.regions:
                if region.read_only:
                    self._guard(region.base, region.limit + 1)

    def hits(self, address: int) -> list[Region]:
        """The enabled regions that hold ``address``."""
        return [r for r in self.regions if r.base <= address <= r.limit]

    def allows(self, address: int, *, write: bool, privileged: bool) -> bool:
        """True where the access passes; the MPU must be enabled and in force."""
        hits = self.hits(address)
        if not hits:
            return privileged and bool(self.ctrl & PRIVDEFENA)
        if len(hits) > 1:
            return False
        return (privileged or hits[0].unprivileged) and not (write and hits[0].read_only)

    def test_target(self, address: int, *, privileged: bool, asked_as: bool) -> int:
        """What TT answers (Armv8-M ARM, TT): ``asked_as`` is the privilege tested for."""
        secure = 1 << 22
        hits = self.hits(address) if self.enabled else []
        readable = writable = True
        if self.enabled:
            readable = self.allows(address, write=False, privileged=asked_as)
            writable = self.allows(address, write=True, privileged=asked_as)
        if not privileged:
            return secure
        answer = secure | readable << 18 | writable << 19
        if len(hits) == 1:
            answer |= 1 << 16 | hits[0].number
        return answer

    def state(self) -> dict[str, Any]:
        """What a snapshot keeps."""
        return {
            "ctrl": self.ctrl,
            "number": self.number,
            "bases": list(self.bases),
            "limits": list(self.limits),
            "attributes": list(self.attributes),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what :meth:`state` gave."""
        for name, value in state.items():
            setattr(self, name, list(value) if isinstance(value, list) else value)
        self._changed()
