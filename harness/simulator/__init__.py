"""The built-in nRF9160: Unicorn's Cortex-M33 with this project's NVIC and peripherals."""

from harness.simulator.machine import Chunk, End, Machine

__all__ = ["Chunk", "End", "Machine"]
