"""A failing supply: a warning, and a reset after which RAM holds other data."""

from __future__ import annotations

from harness.simulator.nrf9160 import Nrf9160
from harness.simulator.peripherals.clock import Clock


def warn(chip: Nrf9160) -> None:
    """The supply falls below the warning's threshold (POWER.EVENTS_POFWARN)."""
    _power(chip).event("POFWARN")


def brown_out(chip: Nrf9160, ram: bytes) -> None:
    """The supply fails and comes back: a reset without a reason, and RAM holds ``ram``.

    POWER keeps nothing (nRF9160 PS, "POWER", reset behaviour: brownout reset); flash and UICR stay
    as they are.
    """
    chip.reset()
    _power(chip).lose_power()
    chip.write_memory(chip.memory_map.area("ram").origin, ram)


def _power(chip: Nrf9160) -> Clock:
    block = chip.devices["CLOCK"]
    assert isinstance(block, Clock)
    return block
