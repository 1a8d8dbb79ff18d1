"""Records calls by hooks at the first instructions of functions and at return addresses."""

import System

CYCCNT = 0xE0001004
MAGIC = 0xF0000000  # lr from here on is EXC_RETURN or FNC_RETURN, not an address


class Calls(object):
    """Sends calls and returns with the virtual time and DWT_CYCCNT, the clock of the firmware."""

    def __init__(self, core, now):
        self.core, self.cpu, self.register, self.now = core, core.cpu, core.register, now
        self.watched, self.callers = [], set()
        self.running = {}  # address, sp -> lr
        self.last = None  # address, sp and instructions of the last call

    def watch(self, addresses):
        self.watched = addresses
        for address in addresses:
            self.hook(address)

    def hook(self, address):
        self.cpu.AddHook(System.UInt64(address), self.on_call)

    def restart(self):
        self.running, self.last = {}, None
        send("restart")

    def on_call(self, *_):
        """Sends a call of a watched function; unhooks one that loops back to its beginning.

        After a stop there the hook runs again.
        """
        frame, caller = (self.register(PC), self.register(SP)), self.register(LR)
        before, self.last = self.last, (frame, int(self.cpu.ExecutedInstructions))
        if self.last == before:
            return
        if self.running.get(frame) == caller:
            self.cpu.RemoveHooksAt(System.UInt64(frame[0]))
            return
        self.running[frame] = caller
        mode, ticks = self.register(XPSR) & IPSR, self.core.word(CYCCNT)
        values = [frame[0], self.register(R0), caller, frame[1], mode, ticks]
        self.tell("call", values)
        if caller < MAGIC and caller & ~1 not in self.callers:
            self.callers.add(caller & ~1)
            self.cpu.AddHook(System.UInt64(caller & ~1), self.on_return)

    def on_return(self, *_):
        pc, sp = self.register(PC), self.register(SP)
        over = [p for p, lr in self.running.items() if p[1] == sp and lr & ~1 == pc]
        if over:
            for frame in over:
                del self.running[frame]
            self.tell("return", [pc, sp, self.core.word(CYCCNT), self.register(R0)])

    def tell(self, name, values):
        send("%s %d %s" % (name, self.now(), " ".join("%x" % value for value in values)))
