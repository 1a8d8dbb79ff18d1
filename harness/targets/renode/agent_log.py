# ruff: noqa: UP031, D102
# mypy: ignore-errors
"""What Renode warns of, for the agent; runs inside Renode as IronPython 2.7, never imported."""

from Antmicro.Renode.Logging import LoggerBackend, LogLevel

MAX_WARNINGS = 1000
ABORT = "CPU abort"  # the start of Renode's message that it gives a core up


class Log(LoggerBackend):
    """Renode's warnings while the firmware runs, each once, with the core's program counter.

    Renode logs in the thread that makes the access, so an exception here would break that access.
    From 1.17 on there is one more argument, the type of the entry's time stamp.
    """

    def __init__(self, cpu, on_abort):
        self.cpu, self.on_abort, self.running = cpu, on_abort, False
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
            place = "" if "[cpu: 0x" in text else "[cpu: 0x%x] " % int(self.cpu.PC.RawValue)
            self.lines.append("[WARNING] " + text % place)
