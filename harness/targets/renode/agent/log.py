"""Renode's log: its warnings while the firmware runs, each once, with time and pc."""

from Antmicro.Renode.Logging import LoggerBackend, LogLevel

MAX_WARNINGS = 1000
CHIP = "chip"  # what it warns of are findings, which the agent sends by themselves
ABORT = "CPU abort"  # start of Renode's message when it stops a core for good


class Log(LoggerBackend):
    """Keeps warnings; calls ``on_abort`` when the core has been stopped for good.

    Renode logs in the thread of the access, which an exception here would break.
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
        if source == CHIP:
            return
        text = "%s: %%s%s" % (source, entry.Message.replace("%", "%%"))
        if text not in self.seen and len(self.seen) < MAX_WARNINGS:
            self.seen.add(text)
            prefix = "" if "[cpu: 0x" in text else "[cpu: 0x%x] " % int(self.cpu.PC.RawValue)
            self.lines.append("%d [WARNING] %s" % (self.now(), text % prefix))
