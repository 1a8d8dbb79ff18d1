"""Exceptions that are pending and active, and their priorities (Armv8-M ARM, B3 and D1.2, NVIC_*).

Numbers are exception numbers: 2 NMI, 3 HardFault, 4 MemManage, 5 BusFault, 6 UsageFault, 11 SVCall,
12 DebugMonitor, 14 PendSV, 15 SysTick, 16 + n interrupt n. Sets of them are bit masks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.simulator.counting import NO_PRIORITY

if TYPE_CHECKING:
    from harness.simulator._native import Core

NMI, HARD_FAULT, MEM_MANAGE, BUS_FAULT, USAGE_FAULT = 2, 3, 4, 5, 6
SECURE_FAULT, SVCALL, DEBUG_MONITOR, PENDSV, SYSTICK, FIRST_IRQ = 7, 11, 12, 14, 15, 16
NAMES = {
    1: "Reset",
    NMI: "NMI",
    HARD_FAULT: "HardFault",
    MEM_MANAGE: "MemManage",
    BUS_FAULT: "BusFault",
    USAGE_FAULT: "UsageFault",
    SECURE_FAULT: "SecureFault",
    SVCALL: "SVCall",
    DEBUG_MONITOR: "DebugMonitor",
    PENDSV: "PendSV",
    SYSTICK: "SysTick",
}
_SYSTEM = (1 << FIRST_IRQ) - 1
_FIXED = {1: -4, NMI: -2, HARD_FAULT: -1}

_ISER, _ICER, _ISPR, _ICPR, _IABR, _ITNS, _IPR = 0x100, 0x180, 0x200, 0x280, 0x300, 0x380, 0x400


def bits(mask: int) -> list[int]:
    """The numbers of the bits that are set, lowest first."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


class Nvic:
    """The interrupt controller's state; registers from offset 0x100 of the SCS."""

    def __init__(self, core: Core, irqs: int, priority_bits: int) -> None:
        self._core = core
        self.irqs = irqs
        self._implemented = 0xFF << (8 - priority_bits) & 0xFF
        self._irq_mask = (1 << irqs) - 1 << FIRST_IRQ
        self.event = False  # the event register that WFE waits for
        self.send_on_pend = False  # SCR.SEVONPEND
        self.reset()

    def reset(self) -> None:
        """Nothing enabled, pending or active; all priorities zero."""
        self.enabled = _SYSTEM
        self.pending = 0
        self.active = 0
        self.levels = 0
        self.priorities = [0] * (FIRST_IRQ + self.irqs)
        self.event = self.send_on_pend = False
        self.set_group(0)

    # priorities

    def set_group(self, group: int) -> None:
        """AIRCR.PRIGROUP: which bits of a priority preempt."""
        self.group = group
        self._core.group_mask = 0xFF << (group + 1) & 0xFF if group < 7 else 0
        self.update()

    def priority(self, number: int) -> int:
        """The whole priority of an exception; lower is more urgent."""
        fixed = _FIXED.get(number)
        return self.priorities[number] if fixed is None else fixed

    def group_priority(self, number: int) -> int:
        """The part of the priority that preempts."""
        value = self.priority(number)
        return value if value < 0 else value & self._core.group_mask

    def set_priority(self, number: int, value: int) -> None:
        """Set a configurable priority; bits that are not implemented read as zero."""
        if number < len(self.priorities):
            self.priorities[number] = value & self._implemented
            self.update()

    # pending and active

    def best(self) -> int:
        """The pending, enabled exception to be taken first, 0 when there is none."""
        ready = self.pending & self.enabled
        if not ready:
            return 0
        return min(bits(ready), key=lambda number: (self.priority(number), number))

    def update(self) -> None:
        """Tell the core what waits and what runs."""
        number = self.best()
        self._core.best_pending = self.group_priority(number) if number else NO_PRIORITY
        active = self.active
        if not active & (active - 1):
            now = self.group_priority(active.bit_length() - 1) if active else NO_PRIORITY
        else:
            now = min(self.group_priority(n) for n in bits(active))
        self._core.active_priority = now

    def pend(self, number: int) -> None:
        """Make an exception pending."""
        bit = 1 << number
        if not self.pending & bit:
            self.pending |= bit
            if self.send_on_pend:
                self.event = True
            self.update()

    def unpend(self, number: int) -> None:
        """Take a pending state back."""
        if self.pending >> number & 1:
            self.pending &= ~(1 << number)
            self.update()

    def activate(self, number: int) -> None:
        """An exception is entered."""
        self.pending &= ~(1 << number)
        self.active |= 1 << number
        self.event = True
        self.update()

    def deactivate(self, number: int) -> None:
        """An exception returns; its interrupt line, if still high, pends it again."""
        self.active &= ~(1 << number)
        self.event = True
        if self.levels >> number & 1:
            self.pending |= 1 << number
        self.update()

    def line(self, irq: int, level: bool) -> None:
        """A peripheral drives its interrupt line."""
        bit = 1 << FIRST_IRQ + irq
        was = self.levels & bit
        if level and not was:
            self.levels |= bit
            if not self.active & bit:
                self.pend(FIRST_IRQ + irq)
        elif was and not level:
            self.levels &= ~bit

    # registers

    def read(self, offset: int) -> int:
        """NVIC_ISER to NVIC_IPR, by offset in the SCS."""
        index = (offset & 0x7F) >> 2
        if offset < _ISPR:
            return self.enabled >> FIRST_IRQ + 32 * index & 0xFFFF_FFFF
        if offset < _IABR:
            return self.pending >> FIRST_IRQ + 32 * index & 0xFFFF_FFFF
        if offset < _ITNS:
            return self.active >> FIRST_IRQ + 32 * index & 0xFFFF_FFFF
        if offset < _IPR:
            return 0
        first = FIRST_IRQ + offset - _IPR
        return int.from_bytes(bytes(self.priorities[first : first + 4]), "little")

    def write(self, offset: int, value: int) -> None:
        """NVIC_ISER to NVIC_IPR, by offset in the SCS."""
        mask = (value << FIRST_IRQ + 32 * ((offset & 0x7F) >> 2)) & self._irq_mask
        if offset < _ICER:
            self.enabled |= mask
        elif offset < _ISPR:
            self.enabled &= ~mask
        elif offset < _ICPR:
            for number in bits(mask & ~self.pending):
                self.pend(number)
        elif offset < _IABR:
            # A line that is still high keeps its interrupt pending.
            self.pending &= ~mask | self.levels & ~self.active
        elif offset >= _IPR:
            for i in range(4):
                self.set_priority(FIRST_IRQ + offset - _IPR + i, value >> 8 * i & 0xFF)
            return
        self.update()

    # snapshots

    _STATE = ("enabled", "pending", "active", "levels", "group", "event", "send_on_pend")

    def state(self) -> dict[str, Any]:
        """What a snapshot keeps."""
        return {name: getattr(self, name) for name in self._STATE} | {
            "priorities": tuple(self.priorities)
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what :meth:`state` gave."""
        for name in self._STATE:
            setattr(self, name, state[name])
        self.priorities = list(state["priorities"])
        self.set_group(self.group)
