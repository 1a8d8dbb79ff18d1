"""The chip's table under the names that the simulator has for it."""

from harness.platforms import Area, chip
from harness.platforms import Chip as MemoryMap
from harness.platforms import Peripheral as Block

load = chip

__all__ = ["Area", "Block", "MemoryMap", "load"]
