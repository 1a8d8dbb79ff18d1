"""Zephyr's fault dump -> one finding with pc, lr and reason."""

from __future__ import annotations

import re

from harness.findings import Finding, Kind
from harness.uart.lines import Line

_START = re.compile(r"\*{5} (?P<fault>[A-Z][A-Za-z ]*?(?:FAULT|Fault)) \*{5}")
_DETAIL = re.compile(r"<err> os:   (?P<detail>\S.*)")
_LR = re.compile(r"r14/lr:\s+0x(?P<lr>[0-9a-fA-F]+)")
_PC = re.compile(r"\(r15/pc\): 0x(?P<pc>[0-9a-fA-F]+)")
_END = re.compile(r">>> ZEPHYR FATAL ERROR")
_REGISTERS = re.compile(r"r\d/\w+:|xpsr:|s\[")


class FaultReader:
    """Joins the lines of a fault dump, from its banner to ``ZEPHYR FATAL ERROR``."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._open: tuple[str, int] | None = None
        self._details: list[str] = []
        self._registers: dict[str, int] = {}

    def feed(self, line: Line) -> None:
        """Look at one line."""
        start = _START.search(line.text)
        if start is not None:
            self.finish()
            self._open = (start["fault"].capitalize().replace("Mpu", "MPU"), line.number)
            return
        if self._open is None:
            return
        for pattern, name in ((_LR, "lr"), (_PC, "pc")):
            if match := pattern.search(line.text):
                self._registers[name] = int(match[name], 16)
        detail = _DETAIL.search(line.text)
        if detail is not None and not _REGISTERS.search(line.text):
            self._details.append(detail["detail"].strip())
        if _END.search(line.text):
            self.finish()

    def finish(self) -> None:
        """Close a dump that is open."""
        if self._open is None:
            return
        name, number = self._open
        where = ", ".join(f"{key} 0x{value:08x}" for key, value in sorted(self._registers.items()))
        message = ": ".join(part for part in (name, "; ".join(self._details), where) if part)
        values = tuple(sorted(self._registers.items()))
        self.findings.append(Finding(Kind.FAULT, message, name, number, values))
        self._open, self._details, self._registers = None, [], {}
