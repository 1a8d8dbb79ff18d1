"""Why an interrupt does not end a core's rest, told alike on each target that reads the masks."""

from __future__ import annotations

from dataclasses import dataclass

from harness.base.exceptions import exception_name
from harness.base.platforms import ChipTable


@dataclass(frozen=True)
class Masks:
    """What keeps a core at rest from taking exceptions; ``running`` is IPSR."""

    faultmask: bool
    primask: bool
    basepri: int
    running: int
    waits: str = ""  # the instruction that it rests in, "WFI" or "WFE"; "" in a loop

    def of_pending(self, number: int, chip: ChipTable, *, priority: int) -> str:
        """What masks the pending exception of a number and (group) priority, in a sentence.

        Armv8-M ARM, "Wait For Interrupt", "Wait For Event", "ExecutionPriority".
        """
        what = f"{exception_name(number, chip)} is pending"
        if self.faultmask:
            return f"{what}, and FAULTMASK is set, which no interrupt preempts"
        if self.primask and not self.waits:
            return f"{what}, and PRIMASK is set: it ends each WFI, and its handler never runs"
        if self.basepri and priority >= self.basepri:
            return f"{what}, and BASEPRI 0x{self.basepri:02x} masks its priority"
        if self.primask and self.waits == "WFE":
            return f"{what}, and PRIMASK is set: it ends no WFE without SCR.SEVONPEND"
        running = exception_name(self.running, chip)
        return f"{what}, and its priority is not above that of {running}, whose handler runs"

    def of_coming(self, number: int, chip: ChipTable, *, priority: int) -> str:
        """The same of one that will be pending; "" if BASEPRI, which it must exceed, is lower."""
        if not self.basepri or priority < self.basepri:
            return ""
        name = exception_name(number, chip)
        return f"{name} will be pending, and BASEPRI 0x{self.basepri:02x} masks its priority"


def not_enabled(number: int, chip: ChipTable, *, pending: bool) -> str:
    """Tell of an interrupt that is pending, or will be, and that the NVIC does not enable."""
    how = "is pending, and" if pending else "will be pending, and is"
    return f"{exception_name(number, chip)} {how} not enabled in the NVIC"
