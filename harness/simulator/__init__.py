"""The built-in chip: Unicorn's Cortex-M33 with this project's NVIC and peripherals."""

from harness.simulator.machine import End, Machine
from harness.simulator.transcript import Chunk

__all__ = ["Chunk", "End", "Machine"]
