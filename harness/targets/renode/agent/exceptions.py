"""Watches the core take exceptions: faults, and how long a handler executes.

Renode calls the hook before anything is stacked: for an instruction that raises an exception with
the number of its cause, and then, for every exception that is taken, with ENTRY. What the entry
itself causes (stacking that the MPU or the bus refuses) shows in CFSR behind it: that is looked at
when the core next enters or leaves a handler, before firmware changes CFSR, and after each slice.
"""

import System
from Antmicro.Renode.Core import Range

ENTRY, SVC = 5, 2  # numbers of Renode's translation library
#: The core was ended by a branch to where nothing is, or to where nothing may be executed.
NO_MEMORY, NEVER_EXECUTED = 0xFE, 0xFF
FAULTS = range(3, 8)  # HardFault to SecureFault
FRAMED = (SP, LR, PC, XPSR)  # read at each entry; the others only if a fault is likely
HARD_FAULT, MEM_MANAGE, BUS_FAULT = 3, 4, 5
STACKING = 1 << 4 | 1 << 12  # CFSR: MSTKERR, STKERR
SHCSR, ENABLED = 0xE000ED24, 16 - MEM_MANAGE  # bit of an exception: its number and this
#: Execute-never areas (Armv8-M ARM, B8.1): Device memory, and all from 0xA0000000 on.
NEVER = ((0x40000000, 0x60000000), (0xA0000000, 0x100000000))
#: Offsets in the SCS of registers whose writes are seen: AIRCR to SAU_CTRL.
SEEN_FIRST, SEEN_END, SYSRESETREQ = 0xD0C, 0xDD4, 4
STATUS_FIRST, HFSR_OFFSET, SAU_CTRL = 0xD28, 0xD2C, 0xDD0
MPU_FIRST, MPU_END = 0xD90, 0xDC8
FRAME, LINE, READ_ONLY = 0x20, 31, 4  # bytes without floats; MPU_RBAR.AP
MOST_FAULTS = 200  # sent of a run
MOST_STATES = 16  # faults of a run with the core's state


def watch_exceptions(machine):
    """Sets the hooks of a new machine, which stay for its life: Renode cannot remove them."""
    cpu, bus, nvic = machine["sysbus.cpu"], machine.SystemBus, machine["sysbus.nvic"]
    cpu.AddHookAtInterruptBegin(lambda number, *_: hil["agent"].on_exception(int(number)))
    cpu.AddHookAtInterruptEnd(lambda *_: hil["agent"].on_exception(None))
    cpu.AddHookAtWfiStateChange(lambda sleeping, *_: hil["agent"].on_sleep(bool(sleeping)))
    bus.SetHookBeforePeripheralWrite[System.UInt32](
        nvic,
        lambda value, offset, *_: hil["agent"].on_system_write(value, int(offset)),
        Range(System.UInt64(SEEN_FIRST), System.UInt64(SEEN_END - SEEN_FIRST)),
    )


class Exceptions(object):
    """Sends each fault with the core's registers and status before and behind it.

    ``executed()`` counts instructions, ``now()`` is the time in ns, ``flush()`` sends the console.
    """

    def __init__(self, core, rest, executed, now, flush):
        self.core, self.rest = core, rest
        self.executed, self.now, self.flush = executed, now, flush
        self.faults = 0
        self.restart()

    def restart(self):
        """After a reset."""
        self.raised, self.pc = 0, 0  # cause of an exception that is not taken yet, and its pc
        self.entered = None  # the exception whose entry has not been looked at
        self.context = None  # the core before that entry: sp, lr, pc, xpsr, or all of it
        self.state = None  # RAM at that entry, if a fault is likely
        self.seen = self.core.status()  # as the last fault left it
        self.changed = self.executed()  # instructions at the last entry or exit
        self.regions = None  # of the MPU, until firmware changes one

    # -- called by Renode -------------------------------------------------------------------------

    def begins(self, number):
        """An instruction raises an exception, or one is about to be taken."""
        self.look()
        if number != ENTRY:
            self.raised, self.pc = number, self.core.register(PC)
            return
        self.changed = self.executed()
        taken = self.core.word(ICSR) >> 12 & 0x1FF
        if not taken:
            return  # spurious: a mask was set just before
        if taken in FAULTS or self.raised not in (0, SVC):
            self.report(taken, self.raised, self.core.context())
        self.raised, self.entered = 0, taken
        self.context, self.state = self.core.registers(FRAMED), None
        if self.may_be_refused(self.context[0]):
            self.context = self.core.context()
            self.state = self.core.state(self.context)

    def may_be_refused(self, sp):
        """True if the frame is outside RAM, or an MPU's region forbids to write a part of it.

        The core and RAM are then kept as they are now, since the handler changes them.
        """
        first, last = sp - FRAME, sp - 1
        if not self.core.ram[0] <= first <= last < self.core.ram[1]:
            return True
        if self.regions is None:
            self.regions = self.core.regions()
        return any(
            base & READ_ONLY and base & ~LINE <= last and first <= limit | LINE
            for _, base, limit in self.regions
        )

    def ends(self):
        """A handler returns."""
        self.look()
        self.changed = self.executed()

    def writes(self, value, offset):
        """Firmware writes a register between AIRCR and SAU_CTRL."""
        if MPU_FIRST <= offset < MPU_END:
            self.regions = None
            return
        self.look()
        if offset in (STATUS_FIRST, HFSR_OFFSET):
            self.seen[(offset - STATUS_FIRST) // 4] &= ~value

    # -- called by the agent ----------------------------------------------------------------------

    def look(self):
        """Reports a fault of the last exception entry, if its frame or its vector was refused."""
        if self.entered is None:
            return
        entered, self.entered = self.entered, None
        running = self.core.register(XPSR) & IPSR
        if running == entered and self.state is None:
            return
        status = self.core.status()
        stacking = (status[0] & ~self.seen[0] | status[3] & ~self.seen[3]) & STACKING
        if stacking or (running in FAULTS and running != entered):
            self.report(running, 0, self.before_entry(), entered)

    def before_entry(self):
        """The core before the last entry; of what it did not stack, as it is now."""
        if self.state is not None:
            return self.context
        now = self.core.context()
        for number, value in zip(FRAMED, self.context):
            now[CORE.index(number)] = value
        return now

    def locked_up(self):
        """Reports what locked the core up."""
        entered, self.entered = self.entered, None
        if self.raised:
            context = self.core.context()
            context[PC] = self.pc  # which reads as that of a locked up core
            self.report(0, self.raised, context)
        elif entered is not None:
            self.report(0, 0, self.before_entry(), entered)
        else:
            self.report(0, 0, self.core.context())

    def aborted(self):
        """Reports a branch outside memory, which ends the core, as what the chip would take."""
        self.look()
        pc = self.core.register(PC)
        never = any(first <= pc < end for first, end in NEVER)
        number = MEM_MANAGE if never else BUS_FAULT
        limit = self.rest.execution_priority(False)
        if not self.core.word(SHCSR) >> number + ENABLED & 1 or self.rest.priority(number) >= limit:
            number = HARD_FAULT if limit > -1 else 0
        self.report(number, NEVER_EXECUTED if never else NO_MEMORY, self.core.context())

    def handler_time(self):
        """Instructions since the last entry or exit, in a handler; 0 in thread mode."""
        if not self.core.register(XPSR) & IPSR:
            return 0
        return self.executed() - self.changed

    def report(self, taken, cause, context, entered=0):
        """Sends ``fault``: exception that is taken (0: lockup), cause, status, ``context``.

        ``entered`` is the exception whose entry caused it.
        """
        status, self.faults = self.core.status(), self.faults + 1
        if self.faults <= MOST_FAULTS:
            self.flush()
            if self.faults <= MOST_STATES:
                send("state " + ((entered and self.state) or self.core.state(context)))
            numbers = [taken, cause, entered] + self.seen[:4] + status + context
            words = " ".join("%x" % number for number in numbers)
            send("fault %d %x %s" % (self.now(), self.executed(), words))
        self.seen = status
