"""The memory protection unit (Armv8-M ARM, B9 and D1.2, MPU_*).

This model holds the registers and answers what the processor's own microcode asks (exception
frames, TT). Loads, stores and fetches of instructions are checked by Unicorn's MPU, which the
counting core is told of by :meth:`Mpu.take_effect`: a region that covers whole pages costs
nothing, the pages in which one ends some 0.1 us an access.

Changes of MPU_CTRL come into force with the instruction, those of regions with the next block of
code: before the next ISB, where the architecture promises it, and after no more than a few
instructions, as on the chip. Zephyr 3.1 uses a stack before any barrier.

Each security state has an MPU of its own; the one of the state that runs is in force.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

ENABLE, HFNMIENA, PRIVDEFENA = 1, 2, 4
TYPE, CTRL, RNR, RBAR, RLAR, MAIR0, MAIR1 = 0x90, 0x94, 0x98, 0x9C, 0xA0, 0xC0, 0xC4
#: Bits of TT's answer: readable, writable.
TT_READ, TT_WRITE = 1 << 18, 1 << 19
#: Bytes of the smallest region.
GRANULE = 32


@dataclass(frozen=True)
class Region:
    """One enabled region, both addresses inclusive."""

    number: int
    base: int
    limit: int
    read_only: bool
    unprivileged: bool


class Enforcer(Protocol):
    """What checks each access: the counting core."""

    stale: bool
    stop_after: bool

    def protect(self, ctrl: int, bases: list[int], limits: list[int], /) -> None:
        """Put the registers in force; with a ``ctrl`` of zero nothing is checked."""
        ...


class Mpu:
    """Sixteen regions and the questions that are asked of them."""

    def __init__(self, regions: int, core: Enforcer, *, nonsecure: bool = False) -> None:
        self._count = regions
        self._core = core
        self._nonsecure = nonsecure
        self._in_force: tuple[int, ...] = ()
        self.reset()

    def reset(self) -> None:
        """Off, all regions disabled."""
        self.ctrl = self.number = 0
        self.bases = [0] * self._count
        self.limits = [0] * self._count
        self.attributes = [0, 0]
        self._regions: tuple[Region, ...] | None = None
        self.negative = False
        #: True while the security state that this MPU protects runs.
        self.running = not self._nonsecure
        if self.running:
            self._in_force = ()
            self.take_effect(negative=False)

    @property
    def enabled(self) -> bool:
        """MPU_CTRL.ENABLE."""
        return bool(self.ctrl & ENABLE)

    @property
    def checks(self) -> bool:
        """True where accesses are checked: enabled, and not off because of the priority."""
        return self.enabled and not (self.negative and not self.ctrl & HFNMIENA)

    def take_effect(self, *, negative: bool) -> None:
        """Let the core check what the registers say now.

        ``negative``: code of a priority below zero runs (HardFault, NMI, FAULTMASK), which the MPU
        leaves alone unless HFNMIENA is set.
        """
        self.negative = negative
        ctrl = self.ctrl if self.checks else 0
        wanted = (ctrl, *self.bases, *self.limits) if ctrl else (0,)
        self._core.stale = False
        if wanted != self._in_force:
            self._in_force = wanted
            self._core.protect(ctrl, self.bases, self.limits)

    def take_over(self, from_: Mpu, *, negative: bool) -> None:
        """The security state changes: this MPU is in force from now on, ``from_`` no longer."""
        from_.running, self.running = False, True
        self._in_force = from_._in_force
        self.take_effect(negative=negative)

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
            if value & 7 != self.ctrl:
                self.ctrl = value & 7
                if self.running:
                    self._core.stop_after = self._core.stale = True
        elif offset == RNR:
            self.number = value & 0xFF
        elif offset in (MAIR0, MAIR1):
            self.attributes[offset == MAIR1] = value
        elif offset != TYPE:
            self._set_region(offset, value)

    def _set_region(self, offset: int, value: int) -> None:
        number = self._select(offset)
        registers = self.limits if (offset - RBAR) & 4 else self.bases
        if number is None or registers[number] == value:
            return
        registers[number] = value
        self._regions = None
        if self.enabled and self.running:
            self._core.stale = True

    @property
    def regions(self) -> tuple[Region, ...]:
        """The enabled regions."""
        if self._regions is None:
            self._regions = tuple(
                Region(n, base & -GRANULE, limit | GRANULE - 1, bool(base & 4), bool(base & 2))
                for n, (base, limit) in enumerate(zip(self.bases, self.limits, strict=True))
                if limit & 1
            )
        return self._regions

    def hits(self, address: int) -> list[Region]:
        """The enabled regions that hold ``address``."""
        return [r for r in self.regions if r.base <= address <= r.limit]

    def allows(self, address: int, *, write: bool, privileged: bool) -> bool:
        """True where a data access passes, the MPU being enabled and in force."""
        hits = self.hits(address)
        if not hits:
            return privileged and bool(self.ctrl & PRIVDEFENA)
        if len(hits) > 1:
            return False
        return (privileged or hits[0].unprivileged) and not (write and hits[0].read_only)

    def allows_all(self, address: int, size: int, *, write: bool, privileged: bool) -> bool:
        """True where each of ``size`` bytes passes."""
        places = [address, *range((address & -GRANULE) + GRANULE, address + size, GRANULE)]
        return all(self.allows(place, write=write, privileged=privileged) for place in places)

    def test_target(self, address: int, *, privileged: bool) -> int:
        """This MPU's part of what TT answers: MREGION, MRVALID, R, RW (Armv8-M ARM, TT)."""
        if not self.enabled:
            return TT_READ | TT_WRITE
        answer = TT_READ if self.allows(address, write=False, privileged=privileged) else 0
        answer |= TT_WRITE if self.allows(address, write=True, privileged=privileged) else 0
        hits = self.hits(address)
        return answer | 1 << 16 | hits[0].number if len(hits) == 1 else answer

    def state(self) -> dict[str, Any]:
        """What a snapshot keeps."""
        return {
            "ctrl": self.ctrl,
            "number": self.number,
            "bases": list(self.bases),
            "limits": list(self.limits),
            "attributes": list(self.attributes),
            "negative": self.negative,
            "running": self.running,
            "stale": self._core.stale,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what :meth:`state` gave.

        What was in force then and is in force now stays: to tell the core costs it every entry of
        its TLB, which is more than the rest of a restored snapshot.
        """
        if state == self.state() and not state["stale"]:
            return
        for name, value in state.items():
            if name != "stale":
                setattr(self, name, list(value) if isinstance(value, list) else value)
        self._regions = None
        self._in_force = ()
        if self.running:
            self.take_effect(negative=self.negative)
