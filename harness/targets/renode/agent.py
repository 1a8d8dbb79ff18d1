# ruff: noqa: C402, F821, RUF005, UP004, UP031, D102, D103
# mypy: ignore-errors
"""The part of the Renode target that runs inside Renode; never imported by the harness.

Renode's Monitor includes this file, after agent_link.py, as IronPython 2.7 and defines ``monitor``;
the link runs ``hil["agent"].method(...)``. Running in slices *inside* Renode saves a round trip per
slice, gives each console line its virtual time, and stops the core at the block that completes a
match. Answers are lines ``name value`` with bytes in hex, sent immediately. Code that runs for each
byte of the console is kept small, because it dominates the time of a short case. Callbacks accept
any number of arguments, because later releases of Renode pass more.
"""

import re

import System
from Antmicro.Renode.Core import EmulationManager
from Antmicro.Renode.Logging import Logger, LoggerBackend, LogLevel
from Antmicro.Renode.Peripherals.CPU import RegisterValue
from Antmicro.Renode.Peripherals.Memory import ArrayMemory
from Antmicro.Renode.Peripherals.Miscellaneous import Button
from Antmicro.Renode.Time import TimeInterval

SLICE, LONGEST_SLICE = 1000000, 8000000  # ns of virtual time; doubles while the console is silent
SILENT_SLICES = 4  # slices without output after which the length of a slice doubles
LONGEST_NAP, NAP_QUANTUM = 1000000000, 10000000  # ns, for a core that sleeps until a timer's limit
SEARCHED = 1024  # bytes before the newest line in which a match may begin
KEPT = 65536  # largest number of console bytes kept for searching
CFSR, HFSR, MMFAR, BFAR = 0xE000ED28, 0xE000ED2C, 0xE000ED34, 0xE000ED38
SFSR, SFAR, CFSR_NS, MMFAR_NS = 0xE000EDE4, 0xE000EDE8, 0xE002ED28, 0xE002ED34
STATUS, SECURE_STATUS = (CFSR, HFSR, MMFAR, BFAR), (SFSR, SFAR, CFSR_NS, MMFAR_NS)
LOCKED_UP = 0xEFFFFFFE  # the pc of a core in lockup
MASKS = ("BASEPRI", "BASEPRI_S", "BASEPRI_NS")  # copies in the NVIC; each release has some of them
AIRCR, VECTKEY, ITNS = 0xE000ED0C, 0x05FA0000, 0xE000E380
NON_SECURE = 0x20000  # offset from a register of the SCS to its non-secure alias
#: Registers of MPU and FPU in each world that keep any value: MAIR0, MAIR1, FPCAR, RNR.
PLAIN = (0xE000EDC0, 0xE000EDC4, 0xE000EF38, 0xE000ED98)
#: Regions: the register with their number, its lowest bit, and the register that selects one, which
#: base and limit follow (Armv8-M ARM, D1.2, "MPU_TYPE", "SAU_TYPE").
MPU, SAU = (0xE000ED90, 8, 0xE000ED98), (0xE000EDD4, 0, 0xE000EDD8)
#: Registers that firmware can change: SysTick, NVIC, SCB, CPACR, NSACR, MPU, FPU, SAU.
KEPT_BY_CORE = (
    (0xE000E014, 0xE000ED0C, 0xE000ED10, 0xE000ED14, 0xE000ED24)
    + (CFSR, HFSR, 0xE000ED88, 0xE000ED8C, 0xE000ED94, 0xE000EF34, 0xE000EF3C)
    + tuple(range(0xE000E100, 0xE000E10C, 4))
    + tuple(range(0xE000E200, 0xE000E20C, 4))
    + tuple(range(0xE000E400, 0xE000E444, 4))
    + tuple(range(0xE000ED18, 0xE000ED24, 4))
)
KEPT_WITH_TRUSTZONE = (
    (SFSR, 0xE000EDD0)
    + tuple(range(ITNS, ITNS + 12, 4))
    + tuple(at + NON_SECURE for at in (0xE000E010, 0xE000E014, 0xE000ED08, 0xE000ED10))
    + tuple(at + NON_SECURE for at in (0xE000ED14, 0xE000ED24, CFSR, 0xE000ED94, 0xE000EF34))
)
# Renode's register numbers of a Cortex-M.
R0, SP, LR, PC, CONTROL, OTHER_SP, XPSR = 0, 13, 14, 15, 18, 22, 25
CORE = tuple(range(16)) + (XPSR, OTHER_SP, CONTROL)
MAX_FAULTS = 16  # faults of a run after which it counts as locked up
MAX_STATES = 4  # faults of a run for which the core's registers and RAM are sent
PROBES = (50, 70, 90, 110)  # ns of the runs that detect a lockup, a few instructions each
SYST_CSR, TICKINT = 0xE000E010, 0x2
PIN_CNF, INPUT, PULL_DOWN = 0x200, 0x2, 0x4  # offset in the model; GPIO, "PIN_CNF"
ENDRX, RXD_MAXCNT, RXD_AMOUNT = 0x110, 0x538, 0x53C  # UARTE
LOOK_AGAIN = System.UInt64(20)  # us after which the receive buffer is checked again

LATIN_1 = System.Text.Encoding.GetEncoding(28591)

WORLDS = 0x41  # EXC_RETURN.S and ES: the worlds of stack and handler
OTHER_STACK = (0x01, 0x40)  # values of WORLDS in which stack and handler are of different worlds
SPSEL, ON_PSP = 0x4, 0xC  # EXC_RETURN.SPSEL; with Mode, since only thread mode stacks on PSP
CYCCNT = 0xE0001004
MAGIC = 0xF0000000  # lr from here on is EXC_RETURN or FNC_RETURN, not an address
TO_ITSELF, TO_ITSELF_WIDE = 0xE7FE, 0xBFFEF7FF  # b .
MAX_WARNINGS = 1000
ABORT = "CPU abort"  # start of Renode's message when it stops a core for good


def save_initial_state():
    """Resets a new machine, and saves the state to which a used one is restored.

    Without the reset it differs from a used one: NSACR is 0xCFF in 1.17. The state is the content
    of memories such as FICR and UICR, and the core's registers after the first agent's reset.
    """
    monitor.Machine.Reset()
    storage = monitor.Machine.GetPeripheralsOfType[ArrayMemory]()
    hil["storage"] = [(one, one.ReadBytes(0, int(one.Size))) for one in storage]
    hil["core"] = None


def has_trustzone(cpu):
    """True if the core has security states: from 1.17 on, if the platform enables them."""
    return bool(getattr(cpu, "TrustZoneEnabled", False))


class Agent(object):
    """Controls a machine: its console, hooks and counters."""

    def __init__(self, console, mips, vectors, flash, ram, pins, max_resets):
        self.send = hil["link"].send
        self.machine = monitor.Machine
        self.emulation = EmulationManager.Instance.CurrentEmulation
        self.bus = self.machine.SystemBus
        self.cpu = self.machine["sysbus.cpu"]
        self.nvic = self.machine["sysbus.nvic"]
        self.worlds = has_trustzone(self.cpu)
        self.uart = self.machine["sysbus." + console]
        self.mips, self.vectors = mips, System.UInt32(vectors)
        self.flash, self.ram = flash, ram  # first address, and end
        self.pins, self.max_resets = pins, max_resets
        self.cpu.VectorTableOffset = self.vectors
        self.log = Log(self.cpu, self.on_abort, self.now)
        Logger.AddBackend(self.log, "tflm-hil", True)
        self.dwt = self.machine["sysbus.dwt"]
        self.start = self.ticks()
        self.printed = System.Collections.Generic.List[System.Byte]()
        self.add = self.printed.Add
        self.sent = 0  # number of its bytes that have been sent; a tail is kept for searching
        self.faults, self.handlers, self.svc = 0, [], None
        self.sends_state = False  # of a core that faults
        self.fault_pc = 0  # pc of the last fault
        self.calls = Calls(self)
        self.incoming = []
        self.debug_console, self.debug_sent = [], 0  # console under gdb, and bytes sent of it
        self.driven = set()  # pins whose level the model has
        self.pattern, self.symbol = None, None
        self.searched = 0  # output before this is not searched
        self.stopped = ""
        self.earlier = 0  # instructions before the last reset
        self.resets = self.pressed = 0  # all resets, and those by the pin
        self.blocks = {}
        self.reports_lockup = hasattr(self.cpu, "IsLockedUp")  # from 1.17 on
        self.size, self.silent = SLICE, 0
        self.busy = False  # the core executed in the last slice and printed nothing
        self.asleep = False  # the core slept in the last slice, and no timer reached its limit
        self.last_pc = None  # pc at the last search for a lockup
        self.uart.CharReceived += self.on_char
        self.machine.MachineReset += self.on_reset
        if hil["core"] is None:
            self.after_reset()
            hil["core"] = self.core()

    def now(self):
        """The virtual time since the machine was set up, in ns."""
        return self.ticks() - self.start

    def ticks(self):
        return int(self.emulation.MasterTimeSource.ElapsedVirtualTime.Ticks)

    def executed(self):
        return self.earlier + int(self.cpu.ExecutedInstructions)

    def stop(self, reason):
        if not self.stopped:
            self.stopped = reason
            self.cpu.IsHalted = True

    # -- called by Renode -------------------------------------------------------------------------

    def on_char(self, byte, *_):
        self.add(byte)
        if byte == 10:
            self.flush_console()

    def flush_console(self):
        """Sends the output since the last call with its time, and searches it for the pattern."""
        begin, count = self.sent, self.printed.Count
        if count == begin:
            return
        data = self.printed.GetRange(begin, count - begin).ToArray()
        text = System.BitConverter.ToString(data).replace("-", "")
        self.send("console %d %s" % (self.now(), text))
        self.sent = count
        if self.pattern is not None:
            first = max(self.searched, begin - SEARCHED)
            text = LATIN_1.GetString(self.printed.GetRange(first, count - first).ToArray())
            if self.pattern.search(text):
                self.pattern = None
                self.stop("match")
        if count > KEPT:
            self.printed.RemoveRange(0, count - SEARCHED)
            self.searched = max(0, self.searched - (count - SEARCHED))
            self.sent = SEARCHED

    def on_reset(self, *_):
        self.after_reset()
        self.resets += 1
        self.calls.restart()
        if self.resets - self.pressed >= self.max_resets:
            self.stop("resets")

    def after_reset(self):
        """Resets state that Renode does not: vectors, masks, SysTick, pulls of pins, buttons."""
        self.cpu.VectorTableOffset = self.vectors
        for name in MASKS:  # a copy, which Renode does not reset with the core's register
            if hasattr(self.nvic, name):
                setattr(self.nvic, name, System.Byte(0))
        if self.worlds:
            self.write_word(AIRCR, VECTKEY)  # PRIS, BFHFNMINS, SYSRESETREQS, PRIGROUP
            for address in range(ITNS, ITNS + 12, 4):
                self.write_word(address, 0)
        for value in (TICKINT, 0):  # the model acts on changes only, and its copy is 0 already
            self.write_word(SYST_CSR, value)
        self.word(SYST_CSR)  # clears COUNTFLAG
        port = self.machine["sysbus.p0"]
        for offset in range(PIN_CNF, PIN_CNF + 4 * self.pins, 4):
            for value in (PULL_DOWN | INPUT, INPUT):  # a pull-up's level stays until a pull-down's
                port.WriteDoubleWord(offset, System.UInt32(value))
        for button in self.machine.GetPeripheralsOfType[Button]():
            if not button.Pressed:
                button.Press()
                button.Release()

    def on_symbol(self, *_):
        self.stop("symbol")

    def on_fault(self, *_):
        number = self.register(XPSR) & 0x1FF
        if not 3 <= number <= 7:
            return
        link = self.register(LR)
        # SPSEL alone is not enough: from 1.17 on it is that of CONTROL even in handlers.
        frame = self.register(OTHER_SP if link & ON_PSP == ON_PSP else SP)
        words = [self.stacked(frame + at) for at in range(0, 32, 4)]
        if link & WORLDS in OTHER_STACK:
            words = [0] * 8  # Renode does not show the other world's stack pointers
        if words[6]:
            self.fault_pc = words[6]
        self.report("fault", [number, link], words)
        if self.faults >= MAX_FAULTS:
            self.stop("lockup")

    def state(self):
        """Sends the core's registers, and RAM."""
        first, end = self.ram
        memory = self.bus.ReadBytes(System.UInt64(first), end - first)
        text = System.BitConverter.ToString(memory).replace("-", "")
        registers = ",".join("%x" % self.register(number) for number in CORE)
        self.send("state %s %s" % (registers, text))

    def on_abort(self):
        """Halts a core that Renode stops permanently, because there is no memory at its pc.

        Otherwise its slice would never end.
        """
        self.report("abort", [self.register(PC), self.register(LR)], [])
        self.stop("abort")

    def report(self, name, first, last):
        """Sends a fault with its time, for the first ones with the core's state.

        The state of an image of both worlds is not sent.
        """
        self.flush_console()
        self.send("at %d" % self.now())
        if self.faults < MAX_STATES and self.sends_state:
            self.state()
        self.faults += 1
        words = first + [self.stacked(address) for address in STATUS]
        words += [self.stacked(at) if self.worlds else 0 for at in SECURE_STATUS] + last
        self.send(name + " " + " ".join("%x" % word for word in words))

    def on_block(self, address, instructions, *_):
        key = (int(address) << 16) | int(instructions)
        self.blocks[key] = self.blocks.get(key, 0) + 1

    # -- called by the harness --------------------------------------------------------------------

    def hook_faults(self, addresses, sends_state):
        self.sends_state = sends_state
        self.handlers = addresses
        for address in addresses:
            self.cpu.AddHook(System.UInt64(address), self.on_fault)

    def hook_svc(self, address):
        """Hooks Zephyr's SVC handler, to correct its frame in handlers: see :meth:`on_svc`."""
        if self.reports_lockup:  # from 1.17 on; before, EXC_RETURN is right
            self.svc = address
            self.cpu.AddHook(System.UInt64(address), self.on_svc)

    def on_svc(self, *_):
        """Clears EXC_RETURN.SPSEL, which is CONTROL.SPSEL in 1.17, for calls by a handler."""
        link = self.register(LR)
        if link & ON_PSP == SPSEL:
            self.cpu.SetRegister(LR, RegisterValue.Create(link & ~SPSEL, System.UInt32(32)))

    def profile(self):
        self.cpu.SetHookAtBlockEnd(self.on_block)

    def until(self, pattern="", symbol=None):
        """Sets the stop condition: a regular expression, in hex, or an address."""
        if self.symbol is not None:
            self.cpu.RemoveHooksAt(System.UInt64(self.symbol))
            if self.symbol in self.handlers:
                self.cpu.AddHook(System.UInt64(self.symbol), self.on_fault)
            if self.symbol in self.calls.watched:
                self.calls.hook(self.symbol)
            if self.symbol == self.svc:
                self.hook_svc(self.symbol)
        self.pattern = re.compile(bytearray.fromhex(pattern).decode("latin-1")) if pattern else None
        self.searched = self.printed.Count
        self.symbol = symbol
        if symbol is not None:
            self.cpu.AddHook(System.UInt64(symbol), self.on_symbol)

    def recycle(self):
        """Restores the initial state of the machine for the next image.

        Renode's reset does not change memories, nor hooks, handlers and incoming bytes of the
        agent. Flash and RAM are written as a whole with the next image (machine.py).
        """
        self.uart.CharReceived -= self.on_char
        self.machine.MachineReset -= self.on_reset
        self.cpu.RemoveAllHooks()
        self.incoming = []
        self.driven = set()
        self.resume()
        for storage, content in hil["storage"]:
            storage.WriteBytes(0, content, 0, content.Length)
        self.machine.Reset()  # after the memories, since it drops code translated from them
        self.after_reset()
        self.restore(hil["core"])
        now = self.core()
        for name in sorted(now):
            if now[name] != hil["core"][name]:
                self.send("left " + name)

    def core(self):
        """Values of the registers that firmware can change, except VTOR, by name."""
        seen = dict(
            (name, int(getattr(self.nvic, name))) for name in MASKS if hasattr(self.nvic, name)
        )
        kept = KEPT_BY_CORE + (KEPT_WITH_TRUSTZONE if self.worlds else ()) + self.plain()
        seen.update(("0x%08x" % address, self.word(address)) for address in kept)
        for select, region, address in self.regions():
            self.write_word(select, region)
            seen["0x%08x[%d]" % (address, region)] = self.word(address)
        for select in {select for select, _, _ in self.regions()}:
            self.write_word(select, seen["0x%08x" % select])
        return seen

    def plain(self):
        """Addresses of the registers that can be written back, in both worlds."""
        if not self.worlds:
            return PLAIN
        return PLAIN + tuple(at + NON_SECURE for at in PLAIN) + (SAU[2],)

    def regions(self):
        """Selecting register, region and address of each base and limit of MPUs and SAU."""
        units = [(MPU, 0)]
        if self.worlds:
            units += [(MPU, NON_SECURE), (SAU, 0)]
        return [
            (select + world, region, select + world + offset)
            for (count, bit, select), world in units
            for region in range(self.word(count + world) >> bit & 0xFF)
            for offset in (4, 8)
        ]

    def restore(self, core):
        """Writes back regions and plain registers, which a reset does not change."""
        for select, region, address in self.regions():
            self.write_word(select, region)
            self.write_back(address, core["0x%08x[%d]" % (address, region)])
        for address in self.plain():
            self.write_back(address, core["0x%08x" % address])

    def write_back(self, address, value):
        if self.word(address) != value:
            self.write_word(address, value)

    def run(self, budget, wall, target=0):
        """Runs for at most ``budget`` ns of virtual and ``wall`` ms of real time."""
        watch = System.Diagnostics.Stopwatch.StartNew()
        reason = "time"
        end = self.ticks() + budget
        self.stopped = ""
        self.asleep = False  # the core may have been woken since the last run
        self.resume()
        while self.ticks() < end:
            if target and self.executed() >= target:
                reason = "count"
                break
            if watch.ElapsedMilliseconds > wall:
                reason = "wall"
                break
            self.slice(min(self.step(target), end - self.ticks()))
            if self.busy and not target and end - self.ticks() > sum(PROBES):
                self.detect_lockup()
            if self.stopped:
                reason = self.stopped
                break
        self.answer(reason)

    def debugged(self):
        """Prepares the machine for Renode's gdb server, which runs it in other threads.

        From now on the agent neither stops the core nor sends lines without a request.
        """
        self.cpu.RemoveAllHooks()
        if self.svc is not None:
            self.hook_svc(self.svc)
        self.uart.CharReceived -= self.on_char
        self.machine.MachineReset -= self.on_reset
        self.uart.CharReceived += self.on_char_debugged
        self.machine.MachineReset += self.on_reset_debugged

    def on_char_debugged(self, byte, *_):
        self.debug_console.append(byte)

    def on_reset_debugged(self, *_):
        self.after_reset()

    def send_debug_console(self):
        """Sends the console bytes since the last call, while gdb controls the machine."""
        end = len(self.debug_console)  # the core's thread only appends to it
        self.send("".join("%02x" % byte for byte in self.debug_console[self.debug_sent : end]))
        self.debug_sent = end

    def resume(self):
        """Resumes a halted core, which then runs from the next synchronisation on."""
        if self.cpu.IsHalted:
            self.cpu.IsHalted = False
            self.emulation.RunFor(TimeInterval.FromTicks(System.UInt64(1)))

    def step(self, target):
        """Length of the next slice in ns; it ends just before ``target`` instructions."""
        if target:
            left = (target - self.executed()) * 1000 // self.mips - 16
            return max(1, min(left, LONGEST_SLICE))
        if self.asleep:
            return max(self.size, min(self.next_limit(), LONGEST_NAP))
        return self.size

    def next_limit(self):
        """Time in ns until the next timer reaches its limit."""
        return int(self.machine.ClockSource.NearestLimitIn.Ticks)

    def run_for(self, nanoseconds):
        """Runs for some time, with a longer quantum while the core sleeps and cannot reset."""
        time = self.emulation.MasterTimeSource
        quantum = time.Quantum
        if self.asleep and nanoseconds > self.size:
            time.Quantum = TimeInterval.FromTicks(System.UInt64(NAP_QUANTUM))
        self.emulation.RunFor(TimeInterval.FromTicks(System.UInt64(nanoseconds)))
        if self.asleep:
            time.Quantum = quantum

    def slice(self, nanoseconds):
        before = int(self.cpu.ExecutedInstructions)
        resets, printed = self.resets, self.printed.Count
        limit = self.next_limit()  # a timer that reaches it may wake the core in the next slice
        self.log.running = True  # warnings outside are caused by the harness's own reads
        self.run_for(nanoseconds)
        self.log.running = False
        if self.resets != resets:
            self.earlier += before  # the core counts from zero after a reset
        elif self.reports_lockup and self.cpu.IsLockedUp:  # which looks like sleep
            self.locked_up()
        elif not self.stopped and self.left_ram():
            self.stopped = "lockup"
        elif nanoseconds < limit and self.is_idle(before) and self.asleep_for_good():
            self.stopped = "idle"
        moved = int(self.cpu.ExecutedInstructions) != before
        self.busy = moved and self.printed.Count == printed
        self.asleep = not (moved or self.incoming or self.stopped) and nanoseconds < limit
        if self.printed.Count != printed:
            self.size, self.silent = SLICE, 0
            self.flush_console()  # also for a prompt, which has no line end
        else:
            self.silent += 1
            if self.silent >= SILENT_SLICES:
                self.size, self.silent = min(2 * self.size, LONGEST_SLICE), 0

    def detect_lockup(self):
        """Detects a lockup before 1.17, in which an instruction raises a fault repeatedly."""
        if self.reports_lockup or self.stopped:
            return
        first_pc, self.last_pc = self.last_pc, self.register(PC)
        divisor = 0
        for nanoseconds in PROBES:
            if self.last_pc != first_pc:
                return
            before = int(self.cpu.ExecutedInstructions)
            self.emulation.RunFor(TimeInterval.FromTicks(System.UInt64(nanoseconds)))
            self.last_pc = self.register(PC)
            divisor = gcd(divisor, int(self.cpu.ExecutedInstructions) - before)
        # A loop of two or more instructions would not be at the same pc after each probe.
        if self.last_pc == first_pc and divisor == 1 and not self.branches_to_itself():
            self.locked_up()

    def left_ram(self):
        """True, after reporting it, if the stack has left RAM, where Renode drops pushed words."""
        sp = self.register(SP)
        if self.ram[0] <= sp <= self.ram[1]:
            return False
        self.report("overflow", [self.register(PC), self.register(LR)], [sp])
        return True

    def locked_up(self):
        self.stopped = "lockup"
        pc = self.register(PC)
        if pc & ~1 == LOCKED_UP and self.fault_pc:
            pc = self.fault_pc
        self.report("lockup", [pc, self.register(LR)], [])

    def is_idle(self, before):
        """True if the core has slept since ``before`` instructions, or branches to itself."""
        return int(self.cpu.ExecutedInstructions) == before or self.branches_to_itself()

    def branches_to_itself(self):
        """True if the next instruction is a branch to itself; Renode treats a narrow one as WFI."""
        pc = self.register(PC)
        if not any(first <= pc < end for first, end in (self.flash, self.ram)):
            return False
        code = self.word(pc)
        return code & 0xFFFF == TO_ITSELF or code == TO_ITSELF_WIDE

    def asleep_for_good(self):
        """True if nothing can wake an idle core: no timer runs, and no input is incoming."""
        if self.incoming or self.stopped:
            return False
        entries = self.machine.ClockSource.GetAllClockEntries()
        return not any(one.Enabled and one.Owner != self.dwt for one in entries)

    def reset(self):
        self.resume()  # before the reset, since a resumed core would read its vectors
        before = int(self.cpu.ExecutedInstructions)
        self.pressed += 1
        self.machine.Reset()
        self.earlier += before

    def answer(self, reason):
        self.send("time %d" % self.now())
        self.send("executed %d" % self.executed())
        self.send("resets %d" % self.resets)
        self.send("stop " + reason)

    def write(self, text):
        idle = not self.incoming
        self.incoming.extend(bytearray.fromhex(text))
        if idle:
            self.deliver(None)

    def pin(self, number):
        pin = self.machine["sysbus.p0"].Pins[number]
        output = str(pin.Direction) == "Output"
        self.send("pin %d" % (pin.OutputValue if output else pin.InputValue))

    def drive(self, number, level):
        port = self.machine["sysbus.p0"]
        pulled = str(port.Pins[number].PullMode) == "PullUp"
        if number not in self.driven:  # the model does not have the level of a pull-up yet
            self.driven.add(number)
            port.OnGPIO(number, pulled)
        port.OnGPIO(number, pulled if level is None else level)

    def deliver(self, *_):
        """Passes as many bytes to the UARTE as fit into its buffer, and reschedules itself.

        Further bytes would stay in Renode's FIFO, from which each STARTRX takes only one byte, so
        that longer transfers would stall.
        """
        room = int(self.uart.ReadDoubleWord(RXD_MAXCNT))
        if room > 1 and int(self.uart.ReadDoubleWord(ENDRX)):
            room = 0
        elif room > 1:
            room -= int(self.uart.ReadDoubleWord(RXD_AMOUNT))
        else:
            room = len(self.incoming)
        burst, self.incoming = self.incoming[:room], self.incoming[room:]
        for byte in burst:
            self.uart.WriteChar(byte)
        if self.incoming:
            self.machine.ScheduleAction(TimeInterval.FromMicroseconds(LOOK_AGAIN), self.deliver)

    def word(self, address):
        """The word at ``address``, read as the core, since the NVIC is visible to it only."""
        return int(self.bus.ReadDoubleWord(System.UInt64(address & 0xFFFFFFFF), self.cpu))

    def stacked(self, address):
        """A word of a stack, 0 outside memory: an exception in a hook would end Renode."""
        try:
            return self.word(address)
        except System.Exception:
            return 0

    def read_words(self, address, count):
        self.send("".join("%08x" % self.word(address + 4 * index) for index in range(count)))

    def read_bytes(self, address, size):
        data = self.bus.ReadBytes(System.UInt64(address), size)
        self.send(System.BitConverter.ToString(data).replace("-", ""))

    def write_bytes(self, address, text):
        data = System.Array[System.Byte](list(bytearray.fromhex(text)))
        self.bus.WriteBytes(data, System.UInt64(address))

    def write_word(self, address, value):
        self.bus.WriteDoubleWord(System.UInt64(address), System.UInt32(value), self.cpu)

    def register(self, number):
        return int(self.cpu.GetRegister(number).RawValue)

    def registers(self, numbers):
        self.send(" ".join("%x" % self.register(number) for number in numbers))

    def counts(self):
        for key in sorted(self.blocks):
            self.send("%x %d %d" % (key >> 16, key & 0xFFFF, self.blocks[key]))

    def warnings(self):
        for line in self.log.lines:
            self.send(in_hex(line))


class Calls(object):
    """Records calls by hooks at the first instructions of functions and at return addresses.

    Calls and returns are sent with the virtual time, and with DWT_CYCCNT, the clock that the
    firmware reads.
    """

    def __init__(self, agent):
        self.agent, self.cpu, self.register = agent, agent.cpu, agent.register
        self.watched, self.callers = [], set()
        self.running = {}  # address, sp -> lr

    def watch(self, addresses):
        self.watched = addresses
        for address in addresses:
            self.hook(address)

    def hook(self, address):
        self.cpu.AddHook(System.UInt64(address), self.on_call)

    def restart(self):
        self.running = {}
        self.agent.send("restart")

    def on_call(self, *_):
        """Sends a call of a watched function; unhooks one that loops back to its beginning."""
        frame, caller = (self.register(PC), self.register(SP)), self.register(LR)
        if self.running.get(frame) == caller:
            self.cpu.RemoveHooksAt(System.UInt64(frame[0]))
            return
        self.running[frame] = caller
        mode, ticks = self.register(XPSR) & 0x1FF, self.agent.word(CYCCNT)
        values = [frame[0], self.register(R0), caller, frame[1], mode, ticks]
        self.agent.send("at %d" % self.agent.now())
        self.agent.send("call " + " ".join("%x" % value for value in values))
        if caller < MAGIC and caller & ~1 not in self.callers:
            self.callers.add(caller & ~1)
            self.cpu.AddHook(System.UInt64(caller & ~1), self.on_return)

    def on_return(self, *_):
        pc, sp = self.register(PC), self.register(SP)
        over = [p for p, lr in self.running.items() if p[1] == sp and lr & ~1 == pc]
        if over:
            for frame in over:
                del self.running[frame]
            values = [pc, sp, self.agent.word(CYCCNT), self.register(R0)]
            self.agent.send("at %d" % self.agent.now())
            self.agent.send("return " + " ".join("%x" % value for value in values))


class Log(LoggerBackend):
    """Collects Renode's warnings while the firmware runs, each once, with time and pc.

    Renode logs in the thread of the access, which an exception here would break. From 1.17 on
    there is another argument, the type of the entry's time stamp.
    """

    def __init__(self, cpu, on_abort, now):
        self.cpu, self.on_abort, self.now, self.running = cpu, on_abort, now, False
        self.lines, self.seen = [], set()
        self.SetLogLevel(LogLevel.Warning)

    def Log(self, entry, *_):  # noqa: N802 - Renode's name
        if not self.running or entry.Type < LogLevel.Warning:
            return
        if entry.Message.startswith(ABORT):
            self.on_abort()
            return
        source = (entry.ObjectName or "").split(".")[-1]
        text = "%s: %%s%s" % (source, entry.Message.replace("%", "%%"))
        if text not in self.seen and len(self.seen) < MAX_WARNINGS:
            self.seen.add(text)
            prefix = "" if "[cpu: 0x" in text else "[cpu: 0x%x] " % int(self.cpu.PC.RawValue)
            self.lines.append("%d [WARNING] %s" % (self.now(), text % prefix))


def gcd(one, other):
    while other:
        one, other = other, one % other
    return one
