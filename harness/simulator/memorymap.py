"""The chip's table under the names that the simulator has for it."""

from harness.platforms import Area, chip_table
from harness.platforms import ChipTable as MemoryMap
from harness.platforms import Peripheral as Block

load = chip_table

__all__ = ["Area", "Block", "MemoryMap", "load"]
