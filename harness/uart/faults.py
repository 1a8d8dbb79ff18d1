"""Zephyr's fault dumps -> findings with pc, lr and reason; the reason codes of its fatal errors.

k_panic(), k_oops() and assertions print the registers without a banner; these registers belong to
the message that follows them.
"""

from __future__ import annotations

import re

from harness.base.findings import Finding, Findings, Kind
from harness.uart.lines import Line

#: The first line of a dump contains one of these.
TRIGGERS = ("*****", "r14/lr:", "(r15/pc):")

_START = re.compile(r"\*{5} (?P<fault>[A-Z][A-Za-z ]{0,40}?(?:FAULT|Fault)) \*{5}")
# CONFIG_LOG_MODE_MINIMAL prints a letter instead of time, level and module.
_DETAIL = re.compile(r"(?:<err> os:|^E:)   (?P<detail>\S.{0,200})")
_LR = re.compile(r"r14/lr:\s{1,8}0x(?P<lr>[0-9a-fA-F]{1,8})")
_PC = re.compile(r"\(r15/pc\): 0x(?P<pc>[0-9a-fA-F]{1,8})")
_END = re.compile(r">>> ZEPHYR FATAL ERROR")
_REGISTERS = re.compile(r"r\d{1,2}/\w|xpsr:|s\[")
#: The core could not stack the registers: those in the dump are old content of the stack.
_NOT_STACKED = re.compile(r"context area (?:might be )?not valid")
#: Most lines of a dump (one with FP registers), and most details that are kept.
_MOST_LINES, _MOST_DETAILS = 40, 8
#: Most lines between registers without a banner and their message.
_NEAR = 12

#: Arm's reason codes in ``ZEPHYR FATAL ERROR n: Unknown error``, from K_ERR_ARCH_START on. Zephyr
#: has no text for them. Source: include/zephyr/arch/arm/arch.h of Zephyr 3.7.1 and 4.3.0, which
#: number the faults of a Cortex-M alike.
_FIRST_ARM_REASON = 16
_ARM_REASONS = (
    "MemManage",
    "MemManage while registers were stacked",
    "MemManage while registers were unstacked",
    "MemManage: a data access was refused",
    "MemManage: an instruction fetch was refused",
    "MemManage while FP registers were stacked lazily",
    "BusFault",
    "BusFault while registers were stacked",
    "BusFault while registers were unstacked",
    "BusFault: a data access failed",
    "BusFault: an earlier data access failed",
    "BusFault: an instruction fetch failed",
    "BusFault while FP registers were stacked lazily",
    "UsageFault",
    "UsageFault: division by zero",
    "UsageFault: unaligned access",
    "UsageFault: stack overflow",
    "UsageFault: no coprocessor (is the FPU on?)",
    "UsageFault: invalid EXC_RETURN",
    "UsageFault: invalid EPSR (a branch to an even address)",
    "UsageFault: undefined instruction",
    "SecureFault",
    "SecureFault: invalid entry point",
    "SecureFault: invalid integrity signature",
    "SecureFault: invalid exception return",
    "SecureFault: access to secure memory",
    "SecureFault: invalid transition",
    "SecureFault while FP registers were stacked lazily",
    "SecureFault: error of lazy FP state",
)


def arm_reason(code: int) -> str | None:
    """The meaning of an Arm reason code; None for the kernel's own codes and unknown ones.

    Examples:
    >>> arm_reason(19)
    'MemManage: a data access was refused'
    >>> arm_reason(4)
    """
    index = code - _FIRST_ARM_REASON
    return _ARM_REASONS[index] if 0 <= index < len(_ARM_REASONS) else None


class FaultReader:
    """Joins the lines of a fault dump, from its banner to ``ZEPHYR FATAL ERROR``."""

    def __init__(self) -> None:
        self.findings = Findings()
        self._open: tuple[str, int] | None = None  # the fault's name, the dump's first line
        self._details: list[str] = []
        self._registers: dict[str, int] = {}
        self._registers_line = 0  # the line of the registers; 0 for none

    def registers_before(self, line: Line) -> tuple[tuple[str, int], ...]:
        """lr and pc if they were printed shortly before ``line``, outside of a dump."""
        if self._open is not None or not 0 < line.number - self._registers_line <= _NEAR:
            return ()
        return tuple(sorted(self._registers.items())) if self._registers_line else ()

    @property
    def waiting(self) -> bool:
        """True within a dump: the next lines belong to it."""
        return self._open is not None

    def feed(self, line: Line) -> None:
        """Read one line."""
        start = _START.search(line.text)
        if start is not None:
            self.finish()
            self._open = (start["fault"].capitalize().replace("Mpu", "MPU"), line.number)
            self._registers, self._registers_line = {}, 0
            return
        for pattern, name in ((_LR, "lr"), (_PC, "pc")):
            if match := pattern.search(line.text):
                self._registers[name] = int(match[name], 16)
                self._registers_line = line.number
        if self._open is None:
            return
        detail = _DETAIL.search(line.text)
        if detail is not None and not _REGISTERS.search(line.text):
            self._details.append(detail["detail"].strip())
            del self._details[_MOST_DETAILS:]
        if _END.search(line.text) or line.number - self._open[1] >= _MOST_LINES:
            self.finish()

    def finish(self) -> None:
        """Close a dump that is open."""
        if self._open is None:
            return
        name, number = self._open
        stacked = not any(_NOT_STACKED.search(detail) for detail in self._details)
        values = tuple(sorted(self._registers.items())) if stacked else ()
        registers = ", ".join(f"{key} 0x{value:08x}" for key, value in values)
        message = ": ".join(part for part in (name, "; ".join(self._details), registers) if part)
        self.findings.add(Finding(Kind.FAULT, message, name, number, values))
        self._open, self._details, self._registers, self._registers_line = None, [], {}, 0
