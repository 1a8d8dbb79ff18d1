"""The ELF: segments, sections, symbols, source lines, memory regions, debug information."""

from harness.elf.firmware import Firmware, Location, Segment, Symbol

__all__ = ["Firmware", "Location", "Segment", "Symbol"]
