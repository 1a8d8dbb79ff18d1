"""Names of the bits in fault status registers: Armv8-M ARM (DDI 0553), D1.2."""

from __future__ import annotations

#: CFSR: MemManage in bits 7..0, BusFault in 15..8, UsageFault in 31..16.
_CFSR = {
    1 << 0: "IACCVIOL",
    1 << 1: "DACCVIOL",
    1 << 3: "MUNSTKERR",
    1 << 4: "MSTKERR",
    1 << 5: "MLSPERR",
    1 << 7: "MMARVALID",
    1 << 8: "IBUSERR",
    1 << 9: "PRECISERR",
    1 << 10: "IMPRECISERR",
    1 << 11: "UNSTKERR",
    1 << 12: "STKERR",
    1 << 13: "LSPERR",
    1 << 15: "BFARVALID",
    1 << 16: "UNDEFINSTR",
    1 << 17: "INVSTATE",
    1 << 18: "INVPC",
    1 << 19: "NOCP",
    1 << 20: "STKOF",
    1 << 24: "UNALIGNED",
    1 << 25: "DIVBYZERO",
}
_HFSR = {1 << 1: "VECTTBL", 1 << 30: "FORCED", 1 << 31: "DEBUGEVT"}
_SFSR = {
    1 << 0: "INVEP",
    1 << 1: "INVIS",
    1 << 2: "INVER",
    1 << 3: "AUVIOL",
    1 << 4: "INVTRAN",
    1 << 5: "LSPERR",
    1 << 6: "SFARVALID",
    1 << 7: "LSERR",
}


def status_names(cfsr: int, hfsr: int = 0, sfsr: int = 0) -> list[str]:
    """The names of the bits that are set: CFSR's, SFSR's, HFSR's."""
    named = ((cfsr, _CFSR), (sfsr, _SFSR), (hfsr, _HFSR))
    return [name for value, names in named for bit, name in names.items() if value & bit]
