"""Exceptions that are pending and active, and their priorities (Armv8-M ARM, B3 and D1.2, NVIC_*).

Numbers are exception numbers: 2 NMI, 3 HardFault, 4 MemManage, 5 BusFault, 6 UsageFault, 11 SVCall,
12 DebugMonitor, 14 PendSV, 15 SysTick, 16 + n interrupt n. Those that exist once a security state
(3, 4, 6, 11, 14, 15) have :data:`NONSECURE` added for the non-secure one. Sets of them are bit
masks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.simulator.counting import NO_PRIORITY

if TYPE_CHECKING:
    from harness.simulator._native import Core

NMI, HARD_FAULT, MEM_MANAGE, BUS_FAULT, USAGE_FAULT = 2, 3, 4, 5, 6
SECURE_FAULT, SVCALL, DEBUG_MONITOR, PENDSV, SYSTICK, FIRST_IRQ = 7, 11, 12, 14, 15, 16
#: Added to the number of an exception of the non-secure state that the secure one has, too.
NONSECURE = 1 << 9
#: The exceptions that exist once a security state.
BANKED = frozenset((HARD_FAULT, MEM_MANAGE, USAGE_FAULT, SVCALL, PENDSV, SYSTICK))
#: The bits of an exception that are its number as IPSR has it.
NUMBER = NONSECURE - 1
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
_ALL_BANKED = _SYSTEM << NONSECURE
_FIXED = {1: -4, NMI: -2, HARD_FAULT: -1, HARD_FAULT | NONSECURE: -1}
#: AIRCR.PRIS: what the non-secure priorities start at.
SQUASHED = 0x80

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
    """The interrupt controller's state; :class:`NvicRegisters` shows it."""

    def __init__(self, core: Core, irqs: int, priority_bits: int) -> None:
        self._core = core
        self.irqs = irqs
        self._implemented = 0xFF << (8 - priority_bits) & 0xFF
        self.irq_mask = (1 << irqs) - 1 << FIRST_IRQ
        self.event = False  # the event register that WFE waits for
        self.reset()

    def reset(self) -> None:
        """Nothing enabled, pending or active; all priorities zero; everything secure."""
        self.enabled = _SYSTEM | _ALL_BANKED
        self.pending = 0
        self.active = 0
        self.levels = 0
        self.priorities = [0] * (FIRST_IRQ + self.irqs)
        self.banked_priorities = [0] * FIRST_IRQ
        self.event = False
        self.send_on_pend = 0  # SCR.SEVONPEND: bit 0 of the secure, bit 1 of the non-secure state
        self.nonsecure = _ALL_BANKED  # what is taken to the non-secure state
        self.groups = [0, 0]  # AIRCR.PRIGROUP of the secure, of the non-secure state
        self.group_masks = [0xFE, 0xFE]  # the bits of a priority that preempt
        self.squashed = False  # AIRCR.PRIS
        self.faults_nonsecure = False  # AIRCR.BFHFNMINS
        self._core.group_mask = self.group_masks[0]
        self.update()

    # priorities

    @property
    def group(self) -> int:
        """AIRCR.PRIGROUP of the secure state."""
        return self.groups[0]

    def set_group(self, group: int, *, nonsecure: bool = False) -> None:
        """AIRCR.PRIGROUP: which bits of a priority preempt."""
        self.groups[nonsecure] = group
        self.group_masks[nonsecure] = 0xFF << (group + 1) & 0xFF if group < 7 else 0
        self._core.group_mask = self.group_masks[self._core.nonsecure]
        self.update()

    def set_faults_nonsecure(self, faults_nonsecure: bool) -> None:
        """AIRCR.BFHFNMINS: whether BusFault, HardFault and NMI are the non-secure state's."""
        self.faults_nonsecure = faults_nonsecure
        mask = 1 << BUS_FAULT | 1 << NMI
        self.nonsecure = self.nonsecure & ~mask | (mask if faults_nonsecure else 0)
        self.update()

    def is_nonsecure(self, number: int) -> bool:
        """True for an exception that is taken to the non-secure state."""
        return bool(self.nonsecure >> number & 1)

    def priority(self, number: int) -> int:
        """The whole priority of an exception; lower is more urgent."""
        if HARD_FAULT < number < NONSECURE:
            return self.priorities[number]
        fixed = _FIXED.get(number)
        if fixed is None:
            return self.banked_priorities[number & NUMBER]
        return -3 if number == HARD_FAULT and self.faults_nonsecure else fixed

    def group_priority(self, number: int) -> int:
        """The part of the priority that preempts (Armv8-M ARM, ExceptionPriority)."""
        value = self.priority(number)
        if not self.nonsecure >> number & 1:
            return value if value < 0 else value & self.group_masks[0]
        if value < 0:
            return value
        value &= self.group_masks[1]
        return (value >> 1) + SQUASHED if self.squashed else value

    def set_priority(self, number: int, value: int) -> None:
        """Set a configurable priority; bits that are not implemented read as zero."""
        if number >= NONSECURE:
            self.banked_priorities[number & NUMBER] = value & self._implemented
        elif number < len(self.priorities):
            self.priorities[number] = value & self._implemented
        self.update()

    # pending and active

    def best(self) -> int:
        """The pending, enabled exception to be taken first, 0 when there is none."""
        ready = self.pending & self.enabled
        if not ready & (ready - 1):
            return ready.bit_length() - 1 if ready else 0
        return min(bits(ready), key=self._urgency)

    def _urgency(self, number: int) -> tuple[int, int, int]:
        value = self.priority(number)
        if value >= 0 and self.squashed and self.is_nonsecure(number):
            value = (value >> 1) + SQUASHED
        return value, number & NUMBER, number

    def update(self) -> None:
        """Tell the core what waits and what runs."""
        core = self._core
        number = self.best()
        core.best_pending = self.group_priority(number) if number else NO_PRIORITY
        active = self.active
        if not active & (active - 1):
            now = self.group_priority(active.bit_length() - 1) if active else NO_PRIORITY
        else:
            now = min(self.group_priority(n) for n in bits(active))
        core.active_priority = now

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

    # snapshots

    _STATE = (
        "enabled", "pending", "active", "levels", "event", "send_on_pend", "nonsecure",
        "squashed", "faults_nonsecure",
    )  # fmt: skip
    _LISTS = ("priorities", "banked_priorities", "groups", "group_masks")

    def state(self) -> dict[str, Any]:
        """What a snapshot keeps."""
        kept = {name: getattr(self, name) for name in self._STATE}
        return kept | {name: tuple(getattr(self, name)) for name in self._LISTS}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what :meth:`state` gave."""
        for name, value in state.items():
            setattr(self, name, list(value) if name in self._LISTS else value)
        self._core.group_mask = self.group_masks[self._core.nonsecure]
        self.update()


class NvicRegisters:
    """NVIC_ISER to NVIC_IPR as one security state sees them, by offset in the SCS.

    The non-secure state sees its own interrupts; all others read as zero and ignore writes.
    """

    def __init__(self, nvic: Nvic, *, nonsecure: bool) -> None:
        self._nvic, self._nonsecure = nvic, nonsecure

    def _seen(self) -> int:
        mask = self._nvic.irq_mask
        return mask & self._nvic.nonsecure if self._nonsecure else mask

    def read(self, offset: int) -> int:
        """The word at ``offset``."""
        nvic = self._nvic
        if offset >= _IPR:
            first = FIRST_IRQ + offset - _IPR
            part = [p if self._seen() >> first + i & 1 else 0
                    for i, p in enumerate(nvic.priorities[first : first + 4])]  # fmt: skip
            return int.from_bytes(bytes(part), "little")
        if offset < _ISPR:
            word = nvic.enabled
        elif offset < _IABR:
            word = nvic.pending
        elif offset < _ITNS:
            word = nvic.active
        else:
            word = 0 if self._nonsecure else nvic.nonsecure
        return (word & self._seen()) >> FIRST_IRQ + 32 * ((offset & 0x7F) >> 2) & 0xFFFF_FFFF

    def write(self, offset: int, value: int) -> None:
        """Write the word at ``offset``."""
        nvic = self._nvic
        seen = self._seen()
        word = 0xFFFF_FFFF << FIRST_IRQ + 32 * ((offset & 0x7F) >> 2) & seen
        mask = (value << FIRST_IRQ + 32 * ((offset & 0x7F) >> 2)) & seen
        if offset < _ICER:
            nvic.enabled |= mask
        elif offset < _ISPR:
            nvic.enabled &= ~mask
        elif offset < _ICPR:
            for number in bits(mask & ~nvic.pending):
                nvic.pend(number)
        elif offset < _IABR:
            # A line that is still high keeps its interrupt pending.
            nvic.pending &= ~mask | nvic.levels & ~nvic.active
        elif _ITNS <= offset < _IPR and not self._nonsecure:
            nvic.nonsecure = nvic.nonsecure & ~word | mask
        elif offset >= _IPR:
            for i in range(4):
                number = FIRST_IRQ + offset - _IPR + i
                if seen >> number & 1:
                    nvic.set_priority(number, value >> 8 * i & 0xFF)
            return
        nvic.update()
