"""The question of a core that executes nothing: can anything interrupt or wake it?

An event alone does neither. A timer counts if the exception that it pends would be taken, or would
end the sleep (Armv8-M ARM, "Wait For Interrupt", "Wait For Event", ExecutionPriority).
"""

ICTR, NVIC_ISER, NVIC_ISPR, NVIC_IPR, SHPR3, SCR, SYST_CSR = (
    0xE000E004, 0xE000E100, 0xE000E200, 0xE000E400, 0xE000ED20, 0xE000ED10, 0xE000E010
)  # fmt: skip
PENDSV, SYSTICK, FIRST_IRQ, TICKINT, SEVONPEND = 14, 15, 16, 2, 16
PENDSTSET, PENDSVSET = 1 << 26, 1 << 28  # ICSR
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
        timers = self.timers()
        return not self.is_awaited(timers) and not any(map(self.wakes, self.coming(timers)))

    def timers(self):
        """The entries of the clock source that count, but those of DWT."""
        return [
            one
            for one in self.machine.ClockSource.GetAllClockEntries()
            if one.Enabled and one.Owner != self.ignored
        ]

    def is_awaited(self, timers):
        """True if something is to come for which a run waits, whatever exception it pends."""
        known = (self.nvic, self.chip)
        return self.chip.IsAwaited or any(one.Owner not in known for one in timers)

    def coming(self, timers):
        """The exceptions that timers will pend, or other events of the chip."""
        found = {FIRST_IRQ + int(number) for number in self.chip.Interrupts}
        if any(one.Owner == self.nvic and self.interrupts_by(one) for one in timers):
            found.add(SYSTICK)
        return found

    def interrupts_by(self, timer):
        """True if a SysTick pends its exception: it has TICKINT."""
        alias = NON_SECURE if timer.LocalName.endswith("_NS") and self.core.worlds else 0
        return bool(self.core.as_secure(lambda: self.core.word(SYST_CSR + alias)) & TICKINT)

    def told(self):
        """The core's pc, what masks exceptions, where it rests, and which exceptions wait.

        FAULTMASK, PRIMASK, BASEPRI and IPSR; WFI, WFE or -; a word for each exception.
        """
        values = self.core.registers((PC, FAULTMASK, PRIMASK, BASEPRI, XPSR))
        values[-1] &= IPSR
        words = ["%x" % value for value in values] + [self.waits()]
        return " ".join(words + self.core.as_secure(lambda: list(self.waiting())))

    def waiting(self):
        """Number and priority of each exception that is pending, to come or enabled, and which."""
        system = self.core.word(ICSR)
        pending = self.interrupts(NVIC_ISPR)
        pending.update(
            one for one, bit in ((PENDSV, PENDSVSET), (SYSTICK, PENDSTSET)) if system & bit
        )
        coming = self.coming(self.timers())
        enabled = self.interrupts(NVIC_ISER) | {PENDSV, SYSTICK}
        for number in sorted(pending | coming | enabled):
            states = tuple(number in those for those in (pending, coming, enabled))
            yield "%x:%x:%d:%d:%d" % ((number, self.priority(number)) + states)

    def interrupts(self, first):
        """The exceptions that have their bits set in the words of the NVIC from ``first`` on."""
        words = [self.core.word(first + 4 * word) for word in range(self.core.word(ICTR) + 1)]
        return {
            FIRST_IRQ + 32 * index + bit
            for index, word in enumerate(words)
            for bit in range(32)
            if word >> bit & 1
        }

    def waits(self):
        """WFI or WFE, if the core rests in it; else -."""
        if self.branches():
            return "-"
        before = self.code(self.core.register(PC) - 2) & 0xFFFF
        return {WFI: "WFI", WFE: "WFE"}.get(before, "-")

    def branches(self):
        """True if the next instruction is a branch to itself, which Renode executes as a WFI."""
        code = self.code(self.core.register(PC))
        return code & 0xFFFF == TO_ITSELF or code == TO_ITSELF_WIDE

    def code(self, address):
        if not any(first <= address < end for first, end in self.memories):
            return 0
        return self.core.word(address)

    def wakes(self, number):
        """True if exception ``number``, when it is pending, is taken or ends the sleep."""
        waits = self.waits()
        if waits == "WFE" and self.core.word(SCR) & SEVONPEND:
            return True
        must_exceed = self.execution_priority(waits == "WFI")
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
