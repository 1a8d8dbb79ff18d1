"""EGU0 to EGU5: software events (nRF9160 PS, "EGU")."""

from __future__ import annotations

from typing import ClassVar

from harness.simulator.peripherals.base import Nordic, numbered

CHANNELS = 16


class Egu(Nordic):
    """Sixteen channels: TASKS_TRIGGER[n] raises EVENTS_TRIGGERED[n]."""

    TASKS: ClassVar[dict[str, int]] = numbered("TRIGGER", 0x000, CHANNELS)
    EVENTS: ClassVar[dict[str, int]] = numbered("TRIGGERED", 0x100, CHANNELS)

    def task_trigger(self, index: int) -> None:
        self.event(f"TRIGGERED[{index}]")
