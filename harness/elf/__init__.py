"""The ELF: segments, sections, symbols, source lines, memory regions, debug information."""

from harness.elf.file import ElfFile, Section, Segment, Symbol
from harness.elf.image import Image, Location

__all__ = ["ElfFile", "Image", "Location", "Section", "Segment", "Symbol"]
