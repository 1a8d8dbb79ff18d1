"""The words that the agent reads at a fault handler's first instruction -> a decoded fault.

Source of the bits: Armv8-M Architecture Reference Manual (DDI0553), CFSR and HFSR.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.elf import Firmware
from harness.targets.base import Fault

_KINDS = {3: "HardFault", 4: "MemManage", 5: "BusFault", 6: "UsageFault", 7: "SecureFault"}
_CFSR = {
    0: "IACCVIOL",
    1: "DACCVIOL",
    3: "MUNSTKERR",
    4: "MSTKERR",
    5: "MLSPERR",
    7: "MMARVALID",
    8: "IBUSERR",
    9: "PRECISERR",
    10: "IMPRECISERR",
    11: "UNSTKERR",
    12: "STKERR",
    13: "LSPERR",
    15: "BFARVALID",
    16: "UNDEFINSTR",
    17: "INVSTATE",
    18: "INVPC",
    19: "NOCP",
    20: "STKOF",
    24: "UNALIGNED",
    25: "DIVBYZERO",
}
_HFSR = {1: "VECTTBL", 30: "FORCED", 31: "DEBUGEVT"}
_MMARVALID, _BFARVALID = 1 << 7, 1 << 15


def decode(words: Sequence[int], firmware: Firmware) -> Fault:
    """Decode ``exception, EXC_RETURN, CFSR, HFSR, MMFAR, BFAR, r0-r3, r12, lr, pc, xpsr``."""
    number, _, cfsr, hfsr, mmfar, bfar, *frame = words
    lr, pc = frame[5], frame[6]
    names = [name for bit, name in _CFSR.items() if cfsr >> bit & 1]
    names += [name for bit, name in _HFSR.items() if hfsr >> bit & 1]
    kind, reason = _KINDS.get(number, f"exception {number}"), ", ".join(names) or "no status bit"
    address = mmfar if cfsr & _MMARVALID else bfar if cfsr & _BFARVALID else None
    # Renode gives the branch's address for a null call, the chip gives 0: the caller is in lr.
    where = str(firmware.locate(pc if pc else lr & ~1))
    lines = [f"{kind}: {reason}", f"  at {where}", f"  called from {firmware.locate(lr & ~1)}"]
    registers = zip(("r0", "r1", "r2", "r3", "r12", "lr", "pc", "xpsr"), frame, strict=True)
    lines += ["  " + " ".join(f"{name}=0x{value:08x}" for name, value in registers)]
    return Fault(kind, reason, pc, lr, address, where, "\n".join(lines))
