"""Blocks of the nRF5340's application core that the nRF91 lacks or has in another form.

Source: nrf5340_application.svd of Nordic's MDK (registers, reset values), nRF5340 PS. The network
core is not modelled: it stays in reset, and signals over IPC get no answer.
"""

from __future__ import annotations

from typing import ClassVar

from harness.base.findings import Kind
from harness.simulator.peripherals.base import Device, Register
from harness.simulator.peripherals.clock import HFXO_SECONDS, STATE_RUNNING, Clock
from harness.simulator.peripherals.nvmc import Nvmc
from harness.simulator.peripherals.storage import CtrlAp, Ipc, Regulators, ipc_registers

_AUDIORUN, _AUDIOSTAT = 0x450, 0x454
_HF192RUN, _HF192STAT, _HF192SRC = 0x458, 0x45C, 0x580
_FORCEOFF, _HFCLKCTRL = 0x614, 0x558
_NETWORK = "network core"
_ERASESTATUS = 0x51C
_FIRST_MUTEX = 0x400


class ClockAndReset(Clock):
    """CLOCK, POWER and RESET. The core always runs at its clock after a reset, 64 MHz."""

    TASKS: ClassVar[dict[str, int]] = Clock.TASKS | {
        "HFCLKAUDIOSTART": 0x018,
        "HFCLKAUDIOSTOP": 0x01C,
        "HFCLK192MSTART": 0x020,
        "HFCLK192MSTOP": 0x024,
    }
    EVENTS: ClassVar[dict[str, int]] = Clock.EVENTS | {
        "DONE": 0x11C,
        "HFCLKAUDIOSTARTED": 0x120,
        "HFCLK192MSTARTED": 0x124,
    }
    REGISTERS: ClassVar[tuple[Register, ...]] = (
        *Clock.REGISTERS,
        Register(_AUDIORUN, "HFCLKAUDIORUN", access="r"),
        Register(_AUDIOSTAT, "HFCLKAUDIOSTAT", access="r"),
        Register(_HF192RUN, "HFCLK192MRUN", access="r"),
        Register(_HF192STAT, "HFCLK192MSTAT", access="r"),
        Register(0x514, "HFCLKSRC", 1),
        Register(_HFCLKCTRL, "HFCLKCTRL", 1),
        Register(0x55C, "HFCLKAUDIO_FREQUENCY", 0x9BAE),
        Register(0x570, "HFCLKALWAYSRUN"),
        Register(0x574, "LFCLKALWAYSRUN"),
        Register(0x57C, "HFCLKAUDIOALWAYSRUN"),
        Register(_HF192SRC, "HFCLK192MSRC", 1),
        Register(0x584, "HFCLK192MALWAYSRUN"),
        Register(0x5B8, "HFCLK192MCTRL", 2),
        Register(_FORCEOFF, "NETWORK_FORCEOFF", 1),
    )

    def write_hfclkctrl(self, value: int) -> None:
        self.regs[_HFCLKCTRL] = value & 1
        if not value & 1:
            text = "HFCLKCTRL selects 128 MHz; the simulator keeps counting time at 64 MHz"
            self.chip.report(Kind.APPROXIMATION, f"{self.name}.HFCLKCTRL", text)

    def write_network_forceoff(self, value: int) -> None:
        self.regs[_FORCEOFF] = value & 1
        if not value & 1:
            text = "RESET.NETWORK.FORCEOFF releases the network core, which is not modelled"
            self.chip.report(Kind.APPROXIMATION, _NETWORK, text)

    def task_hfclkaudiostart(self) -> None:
        self.regs[_AUDIORUN] = 1
        self._after("hfclkaudio", HFXO_SECONDS)

    def task_hfclkaudiostop(self) -> None:
        self.regs[_AUDIORUN] = self.regs[_AUDIOSTAT] = 0
        self.chip.cancel(self.name, "hfclkaudio")

    def task_hfclk192mstart(self) -> None:
        self.regs[_HF192RUN] = 1
        self._after("hfclk192m", HFXO_SECONDS)

    def task_hfclk192mstop(self) -> None:
        self.regs[_HF192RUN] = self.regs[_HF192STAT] = 0
        self.chip.cancel(self.name, "hfclk192m")

    def fire(self, tag: str) -> None:
        if tag == "hfclkaudio":
            self.regs[_AUDIOSTAT] = STATE_RUNNING
            self.event("HFCLKAUDIOSTARTED")
        elif tag == "hfclk192m":
            self.regs[_HF192STAT] = STATE_RUNNING | self.regs[_HF192SRC] & 1
            self.event("HFCLK192MSTARTED")
        else:
            super().fire(tag)


class RegulatorsAndOscillators(Regulators):
    """REGULATORS and OSCILLATORS, which share one block.

    Registers named after an erratum are written by its workaround (system_nrf5340_application.c).
    """

    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(0x428, "MAINREGSTATUS", access="r"),
        Register(0x500, "SYSTEMOFF", access="w"),
        Register(0x510, "POFCON"),
        Register(0x5C4, "XOSC32MCAPS"),
        Register(0x6C0, "XOSC32KI_BYPASS"),
        Register(0x6D0, "XOSC32KI_INTCAP"),
        Register(0x704, "VREGMAIN_DCDCEN"),
        Register(0x70C, "ERRATUM160_70C"),
        Register(0x73C, "ERRATUM64_73C"),
        Register(0x904, "VREGRADIO_DCDCEN"),
        Register(0x91C, "ERRATUM97_91C"),
        Register(0x93C, "ERRATUM160_93C"),
        Register(0xA20, "ERRATUM97_A20"),
        Register(0xB00, "VREGH_DCDCEN"),
        Register(0xB40, "VREGH_EXTSILENTEN", 1),
    )


class CacheControl(Device):
    """The instruction and data cache: registers only, without timing or hit counters."""

    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(0x400, "PROFILING", access="r", count=4),
        Register(0x420, "PROFILING_BUFFER", access="r", count=4),
        Register(0x500, "ENABLE"),
        Register(0x504, "INVALIDATE", access="w"),
        Register(0x508, "ERASE", access="w"),
        Register(0x50C, "PROFILINGENABLE"),
        Register(0x510, "PROFILINGCLEAR", access="w"),
        Register(0x514, "MODE"),
        Register(0x518, "DEBUGLOCK"),
        Register(_ERASESTATUS, "ERASESTATUS"),
        Register(0x520, "WRITELOCK"),
    )

    def write_erase(self, value: int) -> None:
        self.regs[_ERASESTATUS] |= value & 1


class Dcnf(Device):
    """DCNF and FPU, which share one block: CPUID is 0, and the FPU raises no interrupts."""

    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(0x100, "EVENTS_FPU", count=6),
        Register(0x300, "INTEN"),
        Register(0x304, "INTENSET"),
        Register(0x308, "INTENCLR"),
        Register(0x420, "CPUID", access="r"),
        Register(0x440, "EXTPERI_PROTECT"),
        Register(0x460, "EXTRAM_PROTECT"),
        Register(0x480, "EXTCODE_PROTECT"),
    )


class LargeIpc(Ipc):
    """IPC with 16 channels; a signal to the network core is reported as an approximation."""

    REGISTERS: ClassVar[tuple[Register, ...]] = ipc_registers(channels=16, words=2)

    def write_tasks_send(self, index: int, value: int) -> None:
        if value & 1:
            text = f"IPC.TASKS_SEND[{index}] was triggered: the network core does not run"
            self.chip.report(Kind.APPROXIMATION, "IPC", text)


class ProtectedCtrlAp(CtrlAp):
    """CTRL-AP with the registers that lock and unlock the access ports."""

    REGISTERS: ClassVar[tuple[Register, ...]] = (
        *CtrlAp.REGISTERS,
        Register(0x540, "APPROTECT_LOCK"),
        Register(0x544, "APPROTECT_DISABLE"),
        Register(0x548, "SECUREAPPROTECT_LOCK"),
        Register(0x54C, "SECUREAPPROTECT_DISABLE"),
        Register(0x600, "STATUS", access="r"),
    )


class LfrcCalibration(Device):
    """An undocumented block with two words that SystemInit of Nordic's MDK accesses.

    Bit 31 of the first is set if a reset occurred during the calibration of LFRC (nRF5340 Errata,
    140); the second belongs to the workaround of erratum 46 (system_nrf5340_application.c).
    """

    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(0x420, "ERRATUM140_420", access="r"),
        Register(0x54C, "ERRATUM46_54C"),
    )


class Erratum160(Device):
    """Undocumented registers that the workaround of nRF5340 erratum 160 writes; without effect.

    Source: system_nrf5340_application.c of Nordic's MDK.
    """

    REGISTERS: ClassVar[tuple[Register, ...]] = tuple(
        Register(offset, f"ERRATUM160_{offset:03X}")
        for offset in (0x110, 0x118, 0x124, 0x12C, 0x2A0)
    )


class Erratum160Nvmc(Nvmc):
    """NVMC, with two registers of the workaround of erratum 160 and one of that of erratum 42."""

    REGISTERS: ClassVar[tuple[Register, ...]] = (
        *Nvmc.REGISTERS,
        Register(0x530, "ERRATUM42_530"),
        Register(0xE04, "ERRATUM160_E04"),
        Register(0xE08, "ERRATUM160_E08"),
    )


class Mutex(Device):
    """Sixteen mutexes: reading 0 locks a mutex, writing 0 unlocks it."""

    REGISTERS: ClassVar[tuple[Register, ...]] = (Register(_FIRST_MUTEX, "MUTEX", count=16),)

    def read_mutex(self, index: int) -> int:
        taken = self.regs[_FIRST_MUTEX + 4 * index]
        self.regs[_FIRST_MUTEX + 4 * index] = 1
        return taken

    def write_mutex(self, index: int, value: int) -> None:
        if not value & 1:
            self.regs[_FIRST_MUTEX + 4 * index] = 0
