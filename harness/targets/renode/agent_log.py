# ruff: noqa: UP031, D102
# mypy: ignore-errors
"""What Renode warns of, for the agent; runs inside Renode as IronPython 2.7, never imported."""

from Antmicro.Renode.Logging import LoggerBackend, LogLevel

MAX_WARNINGS = 1000


class Log(LoggerBackend):
    """Renode's warnings while the firmware runs, each once, with the core's program counter.

    Renode logs in the thread that makes the access (its log is set to be synchronous).
    """

    def __init__(self, cpu):
        self.cpu, self.running = cpu, False
        self.lines, self.seen = [], set()
        self.SetLogLevel(LogLevel.Warning)

    def Log(self, entry):  # noqa: N802 - Renode's name
        if not self.running or entry.Type < LogLevel.Warning:
            return
        text = "%s: %%s%s" % (entry.ObjectName.split(".")[-1], entry.Message.replace("%", "%%"))
        if text not in self.seen and len(self.seen) < MAX_WARNINGS:
            self.seen.add(text)
            place = "" if "[cpu: 0x" in text else "[cpu: 0x%x] " % int(self.cpu.PC.RawValue)
            self.lines.append("[WARNING] " + text % place)
