"""The question of a core that executes nothing: can anything interrupt or wake it?

An event alone does neither. A timer counts if the exception that it pends would be taken, or would
end the sleep (Armv8-M ARM, "Wait For Interrupt", "Wait For Event", ExecutionPriority).
"""

NVIC_ISER, NVIC_IPR, SHPR3, SCR, SYST_CSR = (
    0xE000E100, 0xE000E400, 0xE000ED20, 0xE000ED10, 0xE000E010
)  # fmt: skip
SYSTICK, FIRST_IRQ, TICKINT, SEVONPEND = 15, 16, 2, 16
WFE, WFI, TO_ITSELF, TO_ITSELF_WIDE = 0xBF20, 0xBF30, 0xE7FE, 0xBFFEF7FF  # B T2, B.W T4
LOWEST = 0x100  # priority below every exception


class Rest(object):
    """Answers the question for a machine; entries of the clock source are its timers."""

    def __init__(self, machine, core, memories):
        self.machine, self.core, self.memories = machine, core, memories
        self.chip = machine["sysbus.chip"]
        self.ignored = machine["sysbus.dwt"]
        self.nvic = machine["sysbus.nvic"]

    def for_good(self):
        """True if nothing that is to come ends the rest of the core."""
        return not any(
            self.ends(one)
            for one in self.machine.ClockSource.GetAllClockEntries()
            if one.Enabled and one.Owner != self.ignored
        )

    def branches(self):
        """True if the next instruction is a branch to itself, which Renode executes as a WFI."""
        code = self.code(self.core.register(PC))
        return code & 0xFFFF == TO_ITSELF or code == TO_ITSELF_WIDE

    def code(self, address):
        if not any(first <= address < end for first, end in self.memories):
            return 0
        return self.core.word(address)

    def ends(self, timer):
        """True if a timer of the clock source resets the core, or its exception ends the rest."""
        owner = timer.Owner
        if owner == self.nvic:
            alias = NON_SECURE if timer.LocalName.endswith("_NS") and self.core.worlds else 0
            ticks = self.core.as_secure(lambda: self.core.word(SYST_CSR + alias)) & TICKINT
            return bool(ticks) and self.wakes(SYSTICK)
        if owner != self.chip:
            return True
        return self.chip.IsAwaited or any(
            self.wakes(FIRST_IRQ + number) for number in self.chip.Interrupts
        )

    def wakes(self, number):
        """True if exception ``number``, when it is pending, is taken or ends the sleep."""
        before = self.code(self.core.register(PC) - 2) & 0xFFFF
        if before == WFE and self.core.word(SCR) & SEVONPEND:
            return True
        must_exceed = self.execution_priority(before == WFI and not self.branches())
        return self.core.as_secure(
            lambda: self.is_enabled(number) and self.priority(number) < must_exceed
        )

    def is_enabled(self, number):
        irq = number - FIRST_IRQ
        return irq < 0 or bool(self.core.word(NVIC_ISER + irq // 32 * 4) >> irq % 32 & 1)

    def priority(self, number):
        if number < FIRST_IRQ:
            return self.core.word(SHPR3 - 8 + (number - 4) // 4 * 4) >> number % 4 * 8 & 0xFF
        irq = number - FIRST_IRQ
        return self.core.word(NVIC_IPR + irq // 4 * 4) >> irq % 4 * 8 & 0xFF

    def execution_priority(self, ignores_primask):
        """The priority that an exception must be above: of the handler, and of the masks."""
        running = self.core.register(XPSR) & IPSR
        if self.core.register(FAULTMASK) & 1 or 0 < running < 4:
            return -1
        found = [self.priority(running) if running else LOWEST]
        if self.core.register(BASEPRI):
            found.append(self.core.register(BASEPRI))
        if self.core.register(PRIMASK) & 1 and not ignores_primask:
            found.append(0)
        return min(found)
