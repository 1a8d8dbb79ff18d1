# ruff: noqa: UP004, UP031, D102, D103
# mypy: ignore-errors
"""Where the core is, for the agent; runs inside Renode as IronPython 2.7, never imported.

A call is told with the ticks of DWT_CYCCNT, and so is its return: the same clock that the firmware
reads.
"""

import System

R0, LR, PC, SP, XPSR = 0, 14, 15, 13, 25  # Renode's register numbers of a Cortex-M
CYCCNT = 0xE0001004
MAGIC = 0xF0000000  # from here on lr is no address: a return from an exception or a world


FLASH_END = 0x00100000
TO_ITSELF, TO_ITSELF_WIDE = 0xE7FE, 0xBFFEF7FF  # b .


def gcd(one, other):
    while other:
        one, other = other, one % other
    return one


def branches_to_itself(agent):
    """True before a branch to itself, which Renode takes for WFI if it is a narrow one."""
    pc = agent.register(PC)
    if pc >= FLASH_END and not agent.ram[0] <= pc < agent.ram[1]:
        return False
    code = agent.word(pc)
    return code & 0xFFFF == TO_ITSELF or code == TO_ITSELF_WIDE


class Calls(object):
    """Hooks on the first instructions of functions, and on where their calls return to."""

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
        """A watched function begins; one that loops back to its beginning is not watched on."""
        place, caller = (self.register(PC), self.register(SP)), self.register(LR)
        if self.running.get(place) == caller:
            self.cpu.RemoveHooksAt(System.UInt64(place[0]))
            return
        self.running[place] = caller
        mode, ticks = self.register(XPSR) & 0x1FF, self.agent.word(CYCCNT)
        values = [place[0], self.register(R0), caller, place[1], mode, ticks]
        self.agent.send("call " + " ".join("%x" % value for value in values))
        if caller < MAGIC and caller & ~1 not in self.callers:
            self.callers.add(caller & ~1)
            self.cpu.AddHook(System.UInt64(caller & ~1), self.on_return)

    def on_return(self, *_):
        pc, sp = self.register(PC), self.register(SP)
        over = [p for p, lr in self.running.items() if p[1] == sp and lr & ~1 == pc]
        if over:
            for place in over:
                del self.running[place]
            self.agent.send("return %x %x %x" % (pc, sp, self.agent.word(CYCCNT)))
