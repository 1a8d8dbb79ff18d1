"""Peripherals that are modelled as registers only.

REGULATORS, IPC, VMC, FPU and CTRL-AP declare their registers. Peripherals whose model is "storage"
in platforms/chips declare none: the first access to each register is recorded as unmodelled, and a
triggered task or an enabled interrupt is a finding.
"""

from __future__ import annotations

from typing import ClassVar

from harness.base.findings import Kind
from harness.simulator.peripherals.base import Device, Nordic, Register, numbered
from harness.simulator.peripherals.texts import unmodelled_task

#: Number of task registers in Nordic's layout.
_TASKS = 32


class Storage(Nordic):
    """A peripheral without a model: it can be configured, but executes no task."""

    TASKS: ClassVar[dict[str, int]] = numbered("TASK", 0, _TASKS)

    def task_task(self, index: int) -> None:
        name = self.block.task(4 * index)
        if not name.endswith("STOP"):  # stopping what never started has no effect
            self.chip.report(Kind.UNMODELLED_TASK, name, unmodelled_task(name))

    def _write_inten(self, value: int) -> None:
        super()._write_inten(value)
        if value:
            subject = f"{self.name}.INTEN"
            message = f"{self.name} has no model, and its interrupt was enabled"
            self.chip.report(Kind.UNMODELLED_TASK, subject, message)


class Regulators(Device):
    """SYSTEMOFF and DCDCEN (nRF9160 PS, "REGULATORS").

    The last two are undocumented; the workaround for erratum 31 writes them (nRF9160 Errata, "LFXO:
    LFXO startup fails"; nrfx, bsp/stable/mdk, system_nrf91.c).
    """

    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(0x500, "SYSTEMOFF", access="w"),
        Register(0x510, "EXTPOFCON"),
        Register(0x578, "DCDCEN"),
        Register(0x70C, "ERRATUM31_70C"),
        Register(0x710, "ERRATUM31_710"),
    )

    def write_systemoff(self, value: int) -> None:
        if value & 1:
            self.chip.system_off()


def ipc_registers(*, channels: int, words: int) -> tuple[Register, ...]:
    """The registers of an IPC with ``channels`` channels and ``words`` words of GPMEM."""
    return (
        Register(0x000, "TASKS_SEND", access="w", count=channels),
        Register(0x080, "SUBSCRIBE_SEND", count=channels),
        Register(0x100, "EVENTS_RECEIVE", count=channels),
        Register(0x180, "PUBLISH_RECEIVE", count=channels),
        Register(0x300, "INTEN"),
        Register(0x304, "INTENSET"),
        Register(0x308, "INTENCLR"),
        Register(0x30C, "INTPEND", access="r"),
        Register(0x510, "SEND_CNF", count=channels),
        Register(0x590, "RECEIVE_CNF", count=channels),
        Register(0x610, "GPMEM", count=words),
    )


class Ipc(Device):
    """Interprocessor communication; the other processor is not modelled (nRF9160 PS, "IPC")."""

    REGISTERS: ClassVar[tuple[Register, ...]] = ipc_registers(channels=8, words=4)


class Vmc(Device):
    """Power control of RAM sections; the modelled RAM is always on (nRF9160 PS, "VMC")."""

    REGISTERS: ClassVar[tuple[Register, ...]] = tuple(
        Register(0x600 + 0x10 * n + 4 * i, f"RAM{n}_{name}", 0xFFFF)
        for n in range(8)
        for i, name in enumerate(("POWER", "POWERSET", "POWERCLR"))
    )


class Fpu(Device):
    """The FPU's exception unit: registers only, no interrupts."""

    REGISTERS: ClassVar[tuple[Register, ...]] = (Register(0x300, "UNUSED"),)


class CtrlAp(Device):
    """The debugger's mailbox and erase protection (nRF9160 PS, "CTRL-AP")."""

    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(0x400, "MAILBOX_RXDATA", access="r"),
        Register(0x404, "MAILBOX_RXSTATUS", access="r"),
        Register(0x480, "MAILBOX_TXDATA"),
        Register(0x484, "MAILBOX_TXSTATUS", access="r"),
        Register(0x500, "ERASEPROTECT_LOCK"),
        Register(0x504, "ERASEPROTECT_DISABLE"),
    )
