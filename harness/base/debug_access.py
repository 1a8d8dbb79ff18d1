"""Register numbers that both ends of a debug port use: CTRL-AP, halting debug, NVMC.

Sources: nRF9160 PS, "CTRL-AP" and "NVMC"; Armv8-M ARM, "DHCSR", "DEMCR",
"DSCSR".
"""

from __future__ import annotations

#: Debug ports are served on this address alone.
LOOPBACK = "127.0.0.1"
#: Registers of CTRL-AP; PROTECTION is APPROTECTSTATUS, 0 while the chip is locked.
RESET, ERASEALL, PROTECTION, ERASEPROTECT = 0x00, 0x04, 0x0C, 0x18
#: Registers of halting debug.
DHCSR, DCRSR, DCRDR, DEMCR = 0xE000_EDF0, 0xE000_EDF4, 0xE000_EDF8, 0xE000_EDFC
#: DBGKEY, with which DHCSR is written, and bits of DHCSR.
DHCSR_KEY, C_DEBUGEN, C_HALT, S_REGRDY, S_HALT = 0xA05F, 1, 2, 1 << 16, 1 << 17
#: DSCSR, and its bit CDS: the core is in secure state.
DSCSR, CDS = 0xE000_EE08, 1 << 16
#: Registers of NVMC by offset.
NVMC_CONFIG, NVMC_ERASEALL = 0x504, 0x50C
#: Values of NVMC's CONFIG.
READ, WRITE, ERASE, PARTIAL_ERASE = 0, 1, 2, 4
