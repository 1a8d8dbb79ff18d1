"""DPPIC: enables the channels that connect events to tasks (nRF9160 PS, "DPPI")."""

from __future__ import annotations

from typing import ClassVar

from harness.simulator.peripherals.base import Nordic, Register

GROUPS = 6
_CHEN, _CHG = 0x500, 0x800


class Dppic(Nordic):
    """Channel enables and channel groups."""

    TASKS: ClassVar[dict[str, int]] = {f"CHG_EN[{n}]": 8 * n for n in range(GROUPS)} | {
        f"CHG_DIS[{n}]": 8 * n + 4 for n in range(GROUPS)
    }
    INTERRUPTS: ClassVar[bool] = False
    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(_CHEN, "CHEN"),
        Register(0x504, "CHENSET"),
        Register(0x508, "CHENCLR"),
        Register(_CHG, "CHG", count=GROUPS),
    )

    def enabled(self, channel: int) -> bool:
        """True if ``channel`` is enabled in CHEN."""
        return bool(self.regs[_CHEN] >> channel & 1)

    def read_chenset(self) -> int:
        return self.regs[_CHEN]

    read_chenclr = read_chenset

    def write_chenset(self, value: int) -> None:
        self.regs[_CHEN] |= value & (1 << self.chip.memory_map.dppi_channels) - 1

    def write_chenclr(self, value: int) -> None:
        self.regs[_CHEN] &= ~value

    def task_chg_en(self, group: int) -> None:
        self.write_chenset(self.regs[_CHG + 4 * group])

    def task_chg_dis(self, group: int) -> None:
        self.write_chenclr(self.regs[_CHG + 4 * group])
