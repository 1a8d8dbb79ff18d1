"""Runs a machine in slices, and carries out the requests of the harness.

Slices *inside* Renode save a round trip each, give each console line its virtual time, and stop the
core at the block that completes a match.
"""

import System
from Antmicro.Renode.Core import EmulationManager
from Antmicro.Renode.Logging import Logger
from Antmicro.Renode.Peripherals.UART import IUART
from Antmicro.Renode.Time import TimeInterval

SLICE, LONGEST_SLICE = 1000000, 8000000  # ns of virtual time; doubles while the console is silent
SILENT_SLICES = 4  # slices without output after which the length of a slice doubles
LONGEST_TURN = 256  # blocks of a loop that polls a register
LONGEST_NAP = 100000000000  # ns, for a core that sleeps until a timer's limit
SYNCHRONISED = 125  # ns, eight instructions: Renode reports time in these
DWT_CYCCNT = 0xE0001004
SPSEL, ON_PSP = 0x4, 0xC  # EXC_RETURN.SPSEL; with Mode, since only thread mode stacks on PSP


class Agent(object):
    """Controls a machine for one session."""

    def __init__(self, vectors, registers, console, mips, memories, spu, max_resets):
        self.machine = monitor.Machine
        self.emulation = EmulationManager.Instance.CurrentEmulation
        self.mips, self.max_resets = mips, max_resets
        self.earlier = 0  # instructions before the last reset
        self.before_reset = 0  # instructions when firmware asked for the reset that is to come
        self.resets = self.pressed = 0  # all resets, and those by the pin
        self.stopped, self.symbol, self.svc = "", None, None
        self.at_symbol = None  # instructions at the last stop at a symbol
        self.blocks = {}
        self.turn = []  # blocks since the last read of a register
        self.debug_output, self.debug_sent = [], 0  # console under gdb, and bytes sent of it
        self.size, self.silent = SLICE, 0
        self.sleeping = False  # the core is in WFI or WFE, or before a branch to itself
        self.asleep = False  # it was at the end of the last slice, and no timer reached its limit
        self.core = Core(self.machine, memories[1], spu)
        self.cpu = self.core.cpu
        self.chip = self.machine["sysbus.chip"]
        self.chip.PowerOn()
        self.state = MachineState(self.machine, self.core, vectors, registers)
        self.console = AgentConsole(self.wired(*console), self.now, lambda: self.stop("match"))
        self.calls = Calls(self.core, self.now)
        self.rest = Rest(self.machine, self.core, memories)
        self.cpu.VectorTableOffset = System.UInt32(vectors)
        self.log = Log(self.cpu, self.on_abort, self.now)
        Logger.AddBackend(self.log, "tflm-hil", True)
        self.exceptions = Exceptions(
            self.core, self.rest, self.executed, self.now, self.console.flush
        )
        self.guard(())
        self.failure = ""  # of a hook: an exception there would end Renode
        self.machine.MachineReset += self.on_reset
        hil["agent"] = self
        self.state.after_reset()
        if hil["core"] is None:
            hil["core"] = self.state.system()

    def now(self):
        """The virtual time since the machine was set up, in ns.

        In a callback of the core it is that of the instruction, not of the quantum's begin.
        """
        if self.log.running:
            self.cpu.SyncTime()
        return int(self.chip.Now) * 1000 // self.mips

    def ticks(self):
        return int(self.emulation.MasterTimeSource.ElapsedVirtualTime.Ticks)

    def executed(self):
        """Instructions since the begin, with those of polling loops whose time was skipped."""
        return self.earlier + int(self.cpu.ExecutedInstructions) + int(self.chip.Skipped)

    def stop(self, reason):
        if not self.stopped:
            self.stopped = reason
            self.chip.Halt()

    # -- called by Renode -------------------------------------------------------------------------

    def on_reset(self, *_):
        self.state.after_reset()
        self.exceptions.restart()
        self.sleeping = False
        self.at_symbol = None
        self.resets += 1
        self.calls.restart()
        if self.resets - self.pressed >= self.max_resets:
            self.stop("resets")

    def on_exception(self, number):
        """The core raises or takes an exception; None: it returns from one."""
        try:
            if self.exceptions is None:
                return
            if number is None:
                self.exceptions.ends()
            else:
                self.exceptions.begins(number)
        except Exception as error:
            self.fail(error)

    def on_system_write(self, value, offset):
        """Firmware writes a register of the system control block; returns what is written."""
        try:
            if self.exceptions is not None:
                self.exceptions.writes(int(value), offset)
        except Exception as error:
            self.fail(error)
        if offset == SEEN_FIRST and int(value) & SYSRESETREQ:
            # Renode resets at the end of the quantum; what the core executes until then is lost.
            self.before_reset = int(self.cpu.ExecutedInstructions)
        return self.chip.SauControl(value) if offset == SAU_CTRL else value

    def fail(self, error):
        self.failure = self.failure or str(error)
        self.stop("failed")

    def on_abort(self):
        """Halts a core that Renode stops permanently, because there is no memory at its pc.

        Otherwise its slice would never end.
        """
        try:
            self.exceptions.aborted()
        except Exception as error:
            self.fail(error)
        self.stop("abort")

    def on_sleep(self, sleeping):
        self.sleeping = sleeping

    def on_symbol(self, *_):
        """Stops at the symbol, once: the hook runs again when the core leaves it."""
        if self.executed() != self.at_symbol:
            self.at_symbol = self.executed()
            self.stop("symbol")

    def on_block(self, address, instructions, *_):
        key = (int(address) << 16) | int(instructions)
        self.blocks[key] = self.blocks.get(key, 0) + 1
        if len(self.turn) < LONGEST_TURN:
            self.turn.append(key)

    def on_poll(self, skipped):
        """The core polls a register; the turns of its loop that are skipped count as executed."""
        turns = int(skipped) // max(1, sum(key & 0xFFFF for key in self.turn))
        for key in self.turn if turns else ():
            self.blocks[key] += turns
        self.turn = []

    def on_svc(self, *_):
        """Clears EXC_RETURN.SPSEL, which is CONTROL.SPSEL in 1.17, for calls by a handler."""
        link = self.core.register(LR)
        if link & ON_PSP == SPSEL:
            self.cpu.SetRegister(LR, RegisterValue.Create(link & ~SPSEL, System.UInt32(32)))

    # -- called by the harness --------------------------------------------------------------------

    def hook_svc(self, address):
        """Hooks Zephyr's SVC handler, to correct its frame in handlers: see :meth:`on_svc`."""
        self.svc = address
        self.cpu.AddHook(System.UInt64(address), self.on_svc)

    def profile(self):
        self.cpu.SetHookAtBlockEnd(self.on_block)
        self.chip.PollSeen = System.Action[System.Int64](self.on_poll)

    def counts(self):
        for key in sorted(self.blocks):
            send("%x %d %d" % (key >> 16, key & 0xFFFF, self.blocks[key]))

    def until(self, pattern="", symbol=None):
        """Sets the stop condition: a regular expression, in hex, or an address."""
        if self.symbol is not None:
            self.cpu.RemoveHooksAt(System.UInt64(self.symbol))
            if self.symbol in self.calls.watched:
                self.calls.hook(self.symbol)
            if self.symbol == self.svc:
                self.hook_svc(self.symbol)
        self.console.search(pattern)
        self.symbol = symbol
        if symbol is not None:
            self.cpu.AddHook(System.UInt64(symbol), self.on_symbol)

    def recycle(self):
        """Restores the machine for the next session; sends ``left`` for what a reset keeps."""
        self.console.close()
        self.machine.MachineReset -= self.on_reset
        self.cpu.RemoveAllHooks()
        self.synchronise()
        for name in self.state.recycle():
            send("left " + name)

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
            if self.stopped:
                reason = self.stopped
                break
        if self.failure:
            raise RuntimeError("the agent failed in a hook: " + self.failure)
        for page in self.machine["sysbus.nvmc"].ChangedPages() if reason != "wall" else ():
            send("unseen %d" % int(page))  # firmware has stored to it
        self.answer(reason)

    def answer(self, reason):
        send("time %d" % self.now())
        send("executed %d" % self.executed())
        send("skipped %d" % int(self.chip.Skipped))
        send("resets %d" % self.resets)
        send("handler %d" % self.exceptions.handler_time())
        if reason == "idle":
            send("rest " + self.rest.told())
        send("stop " + reason)

    def resume(self):
        """Resumes a halted core, which then runs from the next synchronisation on.

        The time that passed meanwhile is taken from DWT's counter, too; SysTick has counted it.
        """
        if not self.cpu.IsHalted:
            return
        self.synchronise()
        lost = int(self.chip.Resumed())
        self.core.write_word(DWT_CYCCNT, self.core.word(DWT_CYCCNT) - lost & 0xFFFFFFFF)

    def synchronise(self):
        """Lets a core that was halted run, also if it has been resumed since."""
        self.cpu.IsHalted = False
        self.emulation.RunFor(TimeInterval.FromTicks(System.UInt64(SYNCHRONISED)))

    def step(self, target):
        """Length of the next slice in ns; it ends just before ``target`` instructions."""
        if self.asleep:
            return max(1 if target else self.size, min(self.next_limit(), LONGEST_NAP))
        if target:
            left = (target - self.executed()) * 1000 // self.mips - 16
            return max(1, min(left, LONGEST_SLICE))
        return self.size

    def next_limit(self):
        """Time in ns until the next timer reaches its limit."""
        return int(self.machine.ClockSource.NearestLimitIn.Ticks)

    def run_for(self, nanoseconds):
        """Runs for some time; with a quantum as long while the core sleeps and cannot reset."""
        time = self.emulation.MasterTimeSource
        length = TimeInterval.FromTicks(System.UInt64(nanoseconds))
        quantum = time.Quantum
        if self.asleep and nanoseconds > self.size:
            time.Quantum = length
        self.emulation.RunFor(length)
        if self.asleep:
            time.Quantum = quantum

    def slice(self, nanoseconds):
        before = int(self.cpu.ExecutedInstructions)
        resets, printed = self.resets, self.console.printed.Count
        limit = self.next_limit()  # a timer that reaches it may wake the core in the next slice
        self.log.running = True  # warnings outside are caused by the harness's own reads
        self.run_for(nanoseconds)
        self.log.running = False
        if self.resets != resets:
            # The core counts from zero after a reset.
            self.earlier += max(before, self.before_reset)
            self.before_reset = 0
        elif not self.stopped:
            self.exceptions.look()
            if self.cpu.IsLockedUp:  # which looks like sleep
                self.exceptions.locked_up()
                self.stopped = "lockup"
            elif self.chip.Off:
                self.stopped = "off"
            elif nanoseconds < limit and self.rests() and self.rest.for_good():
                self.stopped = "idle"
        busy = self.resets != resets or self.stopped
        self.asleep = self.sleeping and not busy and nanoseconds < limit
        if self.console.printed.Count != printed or self.asleep:
            self.size, self.silent = SLICE, 0
            self.console.flush()  # also for a prompt, which has no line end
        else:
            self.silent += 1
            if self.silent >= SILENT_SLICES:
                self.size, self.silent = min(2 * self.size, LONGEST_SLICE), 0

    def rests(self):
        """True if the core sleeps, or branches to itself."""
        return self.sleeping or self.rest.branches()

    def reset(self):
        self.resume()  # before the reset, since a resumed core would read its vectors
        before = int(self.cpu.ExecutedInstructions)
        self.pressed += 1
        self.chip.PinReset()
        self.machine.Reset()
        self.earlier += before

    def wired(self, name, *wiring):
        """The console's UARTE, whose pins lead to the host as the board wires them."""
        for uart in self.machine.GetPeripheralsOfType[IUART]():
            uart.Unwire()
        uart = self.machine["sysbus." + name]
        uart.Wire(*wiring)
        return uart

    def guard(self, pages):
        """Lets stores to the erased pages of flash, and to ``pages``, be those of NVMC."""
        self.machine["sysbus.nvmc"].Guard(System.Array[System.UInt64](list(pages)))

    def send_findings(self):
        for one in self.chip.Findings:
            words = (one.Kind, in_hex(one.Subject), in_hex(one.Message))
            send("%d %x %s" % (int(one.Time), int(one.Pc), " ".join(words)))

    def pin(self, number):
        send("pin %d" % (int(self.machine["sysbus.p0"].Pads) >> number & 1))

    def drive(self, number, level):
        self.machine["sysbus.p0"].DriveFromOutside(number, level)

    def send_state(self):
        send("state " + self.core.state(self.core.context()))

    def send_words(self, address, count):
        send("".join("%08x" % self.core.word(address + 4 * index) for index in range(count)))

    def send_bytes(self, address, size):
        send(self.core.bytes(address, size))

    def write_bytes(self, address, text):
        data = System.Array[System.Byte](list(bytearray.fromhex(text)))
        self.core.bus.WriteBytes(data, System.UInt64(address))

    def write(self, text):
        self.console.write(text)

    def write_word(self, address, value):
        self.core.write_word(address, value)

    def send_registers(self):
        send(" ".join("%x" % value for value in self.core.registers()))

    def send_attribution(self):
        for bits in self.core.attribution() if self.core.is_divided() else ():
            send(bits)

    def send_warnings(self):
        for line in self.log.lines:
            send(in_hex(line))

    # -- under gdb: Renode's server runs the machine in other threads, and no line is sent unasked

    def debugged(self):
        """Prepares the machine for Renode's gdb server."""
        self.cpu.RemoveAllHooks()
        if self.svc is not None:
            self.hook_svc(self.svc)
        self.console.close()
        self.machine.MachineReset -= self.on_reset
        self.exceptions = None
        self.console.uart.CharReceived += self.on_char_debugged
        self.machine.MachineReset += self.on_reset_debugged

    def on_char_debugged(self, byte, *_):
        self.debug_output.append(byte)

    def on_reset_debugged(self, *_):
        self.state.after_reset()

    def send_debug_console(self):
        """Sends the console bytes since the last call, while gdb controls the machine."""
        end = len(self.debug_output)  # the core's thread only appends to it
        send("".join("%02x" % byte for byte in self.debug_output[self.debug_sent : end]))
        self.debug_sent = end
