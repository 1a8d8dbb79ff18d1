"""Firmware: what an ELF says, and the builders that make one from a sample."""

from harness.firmware.elf import Firmware, Location, Segment, Symbol

__all__ = ["Firmware", "Location", "Segment", "Symbol"]
