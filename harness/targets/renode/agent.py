# ruff: noqa: F821, UP004, UP031, D102
# mypy: ignore-errors
"""The half of the Renode target that runs inside Renode; never imported by the harness.

Renode's Monitor includes this file as IronPython 2.7 (``monitor`` is given by it) and calls
``hil["agent"].method(...)``. Running in slices *inside* Renode costs no round trip a slice, stamps
each console byte with its virtual time, and stops the core on the very block that completed a
match. Answers are printed as ``name value`` lines with bytes in hex: raw console text is not safe
in XML.
"""

import re

import System
from Antmicro.Renode.Core import EmulationManager
from Antmicro.Renode.Logging import Logger
from Antmicro.Renode.Time import TimeInterval

SLICE, LONGEST_SLICE = 1000000, 8000000  # ns of virtual time; doubles while the console is silent
SILENT_SLICES = 4
SEARCHED = 8192  # bytes before the newest one in which a match may begin
CFSR, HFSR, MMFAR, BFAR = 0xE000ED28, 0xE000ED2C, 0xE000ED34, 0xE000ED38
LR, OTHER_SP, SP, XPSR = 14, 22, 13, 25  # Renode's register numbers of a Cortex-M
MAX_FAULTS, MAX_RESETS = 16, 16
ENDRX, RXD_MAXCNT, RXD_AMOUNT = 0x110, 0x538, 0x53C  # UARTE
LOOK_AGAIN = System.UInt64(20)  # us in which firmware takes a buffer

hil = {}


class Agent(object):
    """One machine: its console, its hooks, its counters."""

    def __init__(self, console, mips):
        self.machine = monitor.Machine
        self.emulation = EmulationManager.Instance.CurrentEmulation
        self.bus = self.machine.SystemBus
        self.cpu = self.machine["sysbus.cpu"]
        self.uart = self.machine["sysbus." + console]
        self.mips = mips
        self.start = self.ticks()
        self.chunks, self.faults = [], []
        self.incoming = []
        self.pattern, self.text = None, []
        self.stopped = ""
        self.earlier = self.resets = 0
        self.blocks = {}
        self.size, self.silent = SLICE, 0
        self.uart.CharReceived += self.on_char
        self.machine.MachineReset += self.on_reset

    def ticks(self):
        return int(self.emulation.MasterTimeSource.ElapsedVirtualTime.Ticks)

    def executed(self):
        return self.earlier + int(self.cpu.ExecutedInstructions)

    def stop(self, reason):
        if not self.stopped:
            self.stopped = reason
            self.cpu.IsHalted = True

    # -- called by Renode -------------------------------------------------------------------------

    def on_char(self, byte):
        now = self.ticks() - self.start
        if not self.chunks or self.chunks[-1][0] != now:
            self.chunks.append((now, []))
        self.chunks[-1][1].append(byte)
        if self.pattern is not None:
            self.text.append(chr(byte))
            if byte in (10, 13):
                self.search()

    def search(self):
        if self.pattern is not None and self.pattern.search("".join(self.text[-SEARCHED:])):
            self.pattern = None
            self.stop("match")

    def on_reset(self, machine):
        self.resets += 1
        if self.resets >= MAX_RESETS:
            self.stop("resets")

    def on_symbol(self, cpu, address):
        self.stop("symbol")

    def on_fault(self, cpu, address):
        number = self.register(XPSR) & 0x1FF
        if not 3 <= number <= 7:
            return
        link = self.register(LR)
        frame = self.register(OTHER_SP if link & 4 else SP)
        words = [number, link] + [self.word(a) for a in (CFSR, HFSR, MMFAR, BFAR)]
        words += [self.word(frame + offset) for offset in range(0, 32, 4)]
        self.faults.append(words)
        if len(self.faults) >= MAX_FAULTS:
            self.stop("lockup")

    def on_block(self, address, instructions):
        key = (int(address) << 16) | int(instructions)
        self.blocks[key] = self.blocks.get(key, 0) + 1

    # -- called by the harness --------------------------------------------------------------------

    def hook_faults(self, addresses):
        for address in addresses:
            self.cpu.AddHook(System.UInt64(address), self.on_fault)

    def profile(self):
        self.cpu.SetHookAtBlockEnd(self.on_block)

    def until(self, pattern="", symbol=None):
        """What stops the next runs: a pattern (hex of a regular expression) or an address."""
        self.text = []
        self.pattern = re.compile(bytearray.fromhex(pattern).decode("latin-1")) if pattern else None
        if symbol is not None:
            self.cpu.AddHook(System.UInt64(symbol), self.on_symbol)

    def forget(self, symbol=None):
        self.pattern = None
        if symbol is not None:
            self.cpu.RemoveHooksAt(System.UInt64(symbol))

    def run(self, budget, wall, target=0):
        """Run for at most ``budget`` ns of virtual and ``wall`` ms of real time."""
        self.stopped = ""
        self.cpu.IsHalted = False
        watch = System.Diagnostics.Stopwatch.StartNew()
        reason = "time"
        end = self.ticks() + budget
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
        self.answer(reason)

    def step(self, target):
        """ns of the next slice; short of ``target`` by what one instruction may be carried over."""
        if target:
            left = (target - self.executed()) * 1000 // self.mips - 16
            return max(1, min(left, LONGEST_SLICE))
        return self.size

    def slice(self, nanoseconds):
        seen, before = len(self.chunks), int(self.cpu.ExecutedInstructions)
        resets = self.resets
        count = len(self.chunks[-1][1]) if self.chunks else 0
        self.emulation.RunFor(TimeInterval.FromTicks(System.UInt64(nanoseconds)))
        if self.resets != resets:
            self.earlier += before  # the core counts from zero after a reset
        if len(self.chunks) != seen or (self.chunks and len(self.chunks[-1][1]) != count):
            self.size, self.silent = SLICE, 0
            self.search()  # a prompt has no line end
        else:
            self.silent += 1
            if self.silent >= SILENT_SLICES:
                self.size, self.silent = min(2 * self.size, LONGEST_SLICE), 0

    def reset(self):
        before = int(self.cpu.ExecutedInstructions)
        self.machine.Reset()
        self.earlier += before

    def answer(self, reason):
        for time, data in self.chunks:
            print("console %d %s" % (time, "".join("%02x" % byte for byte in data)))
        del self.chunks[:]
        for words in self.faults:
            print("fault " + " ".join("%x" % word for word in words))
        del self.faults[:]
        print("stop " + reason)
        print("time %d" % (self.ticks() - self.start))
        print("executed %d" % self.executed())
        print("resets %d" % self.resets)

    def write(self, text):
        idle = not self.incoming
        self.incoming.extend(bytearray.fromhex(text))
        if idle:
            self.deliver(None)

    def deliver(self, _time):
        """Hand the UARTE what its buffer has room for, and look again soon.

        What is more stays in Renode's FIFO, of which each STARTRX takes one byte: enough for
        transfers of one byte, and a standstill for longer ones.
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
        return int(self.bus.ReadDoubleWord(System.UInt64(address & 0xFFFFFFFF)))

    def read_words(self, address, count):
        print("".join("%08x" % self.word(address + 4 * index) for index in range(count)))

    def read_bytes(self, address, size):
        data = self.bus.ReadBytes(System.UInt64(address), size)
        print(System.BitConverter.ToString(data).replace("-", ""))

    def write_bytes(self, address, text):
        data = System.Array[System.Byte](list(bytearray.fromhex(text)))
        self.bus.WriteBytes(data, System.UInt64(address))

    def write_word(self, address, value):
        self.bus.WriteDoubleWord(System.UInt64(address), System.UInt32(value))

    def register(self, number):
        return int(self.cpu.GetRegister(number).RawValue)

    def registers(self, numbers):
        print(" ".join("%x" % self.register(number) for number in numbers))

    def counts(self):
        for key in sorted(self.blocks):
            print("%x %d %d" % (key >> 16, key & 0xFFFF, self.blocks[key]))

    def flush_log(self):
        Logger.Flush()
